package templates

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"text/template"
	"time"
)

// standIns returns functions with the same result on each run, or functions with another result. An installed chart is
// judged and compared, and its random values are the same before and after.
func standIns(isOther bool) template.FuncMap {
	either := func(text, other string) string {
		if isOther {
			return other
		}
		return text
	}
	repeat := func(text, other string) any {
		return func(n int) string { return strings.Repeat(either(text, other), max(n, 0)) }
	}
	always := func(text, other string) any { return func(...any) string { return either(text, other) } }
	pair := func(...any) map[string]string {
		certificate, key := standInCertificate(isOther)
		return map[string]string{"Cert": certificate, "Key": key}
	}
	return template.FuncMap{
		"randAlphaNum": repeat("x", "y"), "randAlpha": repeat("x", "y"), "randAscii": repeat("x", "y"),
		"randNumeric": repeat("0", "9"), "randBytes": always("eHh4eHh4eHg=", "eXl5eXl5eXk="),
		"randInt": func(least, above int) int {
			if isOther {
				return max(least, above-1)
			}
			return least
		},
		"shuffle": func(text string) string {
			letters := []rune(text)
			if isOther {
				slices.Reverse(letters)
			}
			return string(letters)
		},
		"uuidv4": always("00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
		"now": func() time.Time {
			if isOther {
				return time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC)
			}
			return time.Unix(0, 0).UTC()
		},
		"ago":           always("0s", "99h"),
		"genPrivateKey": func(string) string { _, key := standInCertificate(isOther); return key },
		"genCA":         pair, "genCAWithKey": pair, "genSelfSignedCert": pair, "genSelfSignedCertWithKey": pair,
		"genSignedCert": pair, "genSignedCertWithKey": pair,
		"htpasswd": always("user:$2a$10$x", "user:$2a$10$y"), "bcrypt": always("$2a$10$x", "$2a$10$y"),
		"encryptAES": always("x", "y"),
	}
}

// standInCertificate returns a certificate and its key, which the API server parses. They
// are the same in each process.
func standInCertificate(isOther bool) (certificate, key string) {
	seed := make([]byte, ed25519.SeedSize)
	if isOther {
		seed[0] = 1
	}
	private := ed25519.NewKeyFromSeed(seed)
	content := &x509.Certificate{SerialNumber: big.NewInt(int64(1 + seed[0])), NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(1<<32, 0), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(nil, content, content, private.Public(), private)
	if err != nil {
		panic(err) // it depends on no input
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return block("CERTIFICATE", signed), block("PRIVATE KEY", encoded)
}

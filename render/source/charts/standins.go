package charts

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// standIns returns functions with the same result on each run. An installed chart is judged and compared,
// and its random values are the same before and after.
func standIns() template.FuncMap {
	repeat := func(text string) any {
		return func(n int) string { return strings.Repeat(text, min(max(n, 0), 1<<10)) }
	}
	always := func(text string) any { return func(...any) string { return text } }
	pair := func(...any) map[string]string {
		certificate, key := standInCertificate()
		return map[string]string{"Cert": certificate, "Key": key}
	}
	return template.FuncMap{
		"randAlphaNum": repeat("x"), "randAlpha": repeat("x"), "randAscii": repeat("x"), "randNumeric": repeat("0"),
		"randBytes": always("eHh4eHh4eHg="),
		"randInt":   func(least, _ int) int { return least }, "shuffle": func(text string) string { return text },
		"uuidv4": always("00000000-0000-4000-8000-000000000000"), "now": func() time.Time {
			return time.Unix(0, 0).UTC()
		}, "ago": always("0s"),
		"genPrivateKey": func(string) string { _, key := standInCertificate(); return key },
		"genCA":         pair, "genCAWithKey": pair, "genSelfSignedCert": pair, "genSelfSignedCertWithKey": pair,
		"genSignedCert": pair, "genSignedCertWithKey": pair,
		"htpasswd": always("user:$2a$10$x"), "bcrypt": always("$2a$10$x"), "encryptAES": always("x"),
		"getHostByName": always("192.0.2.1"),
	}
}

// standInCertificate returns a certificate and its key, which the API server parses. They
// are the same in each process.
func standInCertificate() (certificate, key string) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	content := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		IsCA: true, BasicConstraintsValid: true}
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

// OwnRule is the code of input that Helm would accept.
const OwnRule metav1.CauseType = "ChartRuleOfRender"

// codeOf returns the code of an error. Templates and Helm pass errors on as text.
func codeOf(err error) metav1.CauseType {
	for _, own := range []error{errChanging, errDeep, errLarge, errLacking} {
		if strings.Contains(err.Error(), own.Error()) {
			return OwnRule
		}
	}
	return ""
}

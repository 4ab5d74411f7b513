package templates

import (
	"crypto/tls"
	"testing"
)

func TestStandInCertificateHasItsKey(t *testing.T) {
	certificate, key := standInCertificate(false)
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		t.Error(err)
	}
}

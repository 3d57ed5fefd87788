package credential

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
)

// wanting asks for a certificate and takes any, or none.
func wanting() *tls.Config { return &tls.Config{ClientAuth: tls.RequestClientCert} } //nolint:gosec // a server of the tests

func rootsOf(servers ...*httptest.Server) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, s := range servers {
		pool.AddCert(s.Certificate())
	}
	return pool
}

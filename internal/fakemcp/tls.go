package fakemcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// TLS chooses the certificate of a server.
type TLS int

// The certificates. All but the self-signed one are issued by an intermediate
// under the root that [Trust] makes trusted, for 127.0.0.1, localhost and
// [TLSHost].
const (
	TLSNone                TLS = iota
	TLSGood                    // the whole chain
	TLSMissingIntermediate     // the leaf alone
	TLSSelfSigned
	TLSExpired
	TLSWrongName // for another name only
)

// TLSHost is a name that the good certificate holds, to be used with a resolver
// that knows it.
const TLSHost = "mcp.fake.test"

// WrongHost is the only name in the certificate of TLSWrongName.
const WrongHost = "other.fake.test"

// authority is a root and the intermediate under it.
type authority struct {
	root, middle *issuer
}

type issuer struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

// theAuthority is made once, since the process can trust only one root file.
var theAuthority = sync.OnceValues(newAuthority)

func newAuthority() (*authority, error) {
	root, err := issue(caTemplate("fakemcp root"), nil)
	if err != nil {
		return nil, err
	}
	middle, err := issue(caTemplate("fakemcp intermediate"), root)
	if err != nil {
		return nil, err
	}
	return &authority{root, middle}, nil
}

// Trust makes the process trust the fakes' root, through SSL_CERT_FILE. It must
// be called before the first TLS connection, so from TestMain, and only works
// where Go reads that variable (not on macOS and Windows). undo removes the
// file.
func Trust() (undo func(), err error) {
	ca, err := theAuthority()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fakemcp")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "root.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.root.der})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		return nil, err
	}
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
		return nil, err
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}

func (kind TLS) config() (*tls.Config, error) {
	ca, err := theAuthority()
	if err != nil {
		return nil, err
	}
	leaf := leafTemplate(TLSHost, "localhost")
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	parent := ca.middle
	switch kind {
	case TLSSelfSigned:
		parent = nil
	case TLSExpired:
		leaf.NotBefore = time.Now().AddDate(0, -2, 0)
		leaf.NotAfter = time.Now().AddDate(0, -1, 0)
	case TLSWrongName:
		leaf = leafTemplate(WrongHost)
	}
	made, err := issue(leaf, parent)
	if err != nil {
		return nil, err
	}
	chain := [][]byte{made.der}
	if parent != nil && kind != TLSMissingIntermediate {
		chain = append(chain, ca.middle.der)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: made.key, Leaf: made.cert}},
	}, nil
}

func caTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
}

func leafTemplate(names ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		DNSNames:    names,
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().AddDate(0, 1, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// issue signs a template; a nil parent makes it self-signed.
func issue(template *x509.Certificate, parent *issuer) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	signer, signKey := template, key
	if parent != nil {
		signer, signKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signKey)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &issuer{cert, der, key}, nil
}

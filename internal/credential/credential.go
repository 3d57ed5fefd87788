// Package credential reads from a target what its requests get in with: whom an
// https endpoint is trusted through, the client's certificate, and the grant of
// an OAuth login. Checks and the login of a person read the same.
//
// What cannot be read is a [target.Problem], whose texts name files and
// variables and never a value.
package credential

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/target"
)

// The reasons of the problems that this package finds.
const (
	ReasonTLSFiles         = "tls-files"
	ReasonUnreadableSecret = "unreadable-secret"
)

// Network reads the files of t. ends is when the client's certificate ends, or
// zero without one.
func Network(t target.TLS) (o netguard.Options, ends time.Time, p *target.Problem) {
	o.ServerName = t.ServerName
	if t.CAFile != "" {
		pool, err := readCA(t.CAFile)
		if err != nil {
			return o, ends, unusable("the certificate authority", t.CAFile, err)
		}
		o.RootCAs = pool
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return o, ends, unusable("the client certificate", t.CertFile+" and "+t.KeyFile, err)
		}
		o.ClientCertificates = []tls.Certificate{pair}
		if pair.Leaf != nil {
			ends = pair.Leaf.NotAfter
		}
	}
	return o, ends, nil
}

func readCA(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("it holds no PEM certificate")
	}
	return pool, nil
}

func unusable(what, path string, err error) *target.Problem {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path stands beside
	}
	return &target.Problem{
		Reason: ReasonTLSFiles,
		Text:   fmt.Sprintf("%s in %s cannot be used: %s", what, plain.Line(plain.Patterns(path), 200), plain.Line(err.Error(), 200)),
		Hint:   "give PEM files that this user may read",
	}
}

// Grant reads the secrets of o and tells them to redact.
func Grant(ctx context.Context, o *target.OAuth, redact *plain.Redactor) (access.Grant, *target.Problem) {
	g := access.Grant{
		Kind: access.Kind(o.Grant), Issuer: o.Issuer, ClientID: o.ClientID, ClientMetadataURL: o.ClientMetadataURL, KeyID: o.KeyID,
		Algorithm: o.Algorithm, ClientAuth: o.ClientAuth, Scopes: o.Scopes, Resource: o.Resource, TokenFile: o.TokenFile, LoginCommand: o.LoginCommand,
	}
	for _, s := range []struct {
		from target.Secret
		what string
		to   *access.Secret
	}{
		{o.ClientSecret, "the client secret", &g.ClientSecret},
		{o.PrivateKey, "the private key", &g.PrivateKeyPEM},
		{o.RefreshToken, "the refresh token", &g.RefreshToken},
	} {
		if s.from.IsZero() {
			continue
		}
		value, err := s.from.RevealText(ctx)
		if err != nil {
			return g, &target.Problem{
				Reason: ReasonUnreadableSecret,
				Text:   fmt.Sprintf("the value of %s cannot be read: %s", s.what, plain.Line(err.Error(), 300)),
				Hint:   "set it first, and see that this user may read it",
			}
		}
		redact.Add(value)
		*s.to = access.Hide(value)
	}
	return g, nil
}

// Transport sends requests to the endpoint's origin as a check does, and all
// others without the client's certificate and the server name that are meant for
// it alone. It adds no other credential.
type Transport struct {
	endpoint     *url.URL
	home, abroad *http.Transport
}

// NewTransport makes a Transport for an endpoint that is reached through o.
func NewTransport(endpoint *url.URL, o netguard.Options) *Transport {
	foreign := o
	foreign.ClientCertificates, foreign.ServerName = nil, ""
	return &Transport{endpoint: endpoint, home: netguard.NewTransport(o), abroad: netguard.NewTransport(foreign)}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if weburl.SameOrigin(request.URL, t.endpoint) {
		return t.home.RoundTrip(request)
	}
	return t.abroad.RoundTrip(request)
}

// CloseIdleConnections gives back the connections that are kept.
func (t *Transport) CloseIdleConnections() {
	t.home.CloseIdleConnections()
	t.abroad.CloseIdleConnections()
}

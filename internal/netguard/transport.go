package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	maxHeaderBytes = 1 << 20
	maxIdle        = 8
	maxIdlePerHost = 2
	idleTimeout    = 30 * time.Second

	// abandonedAfter ends dials and handshakes that no request waits for any
	// more; it is longer than any sensible budget of a check.
	abandonedAfter = 2 * time.Minute
)

// Resolver is what the dialer needs of a *net.Resolver. The context it is given
// carries deadline and cancellation, and no values.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure a transport. The zero value is ready for use.
type Options struct {
	Resolver           Resolver       // nil: net.DefaultResolver
	RootCAs            *x509.CertPool // nil: those of the system
	ClientCertificates []tls.Certificate
	// ServerName replaces the URL's host in SNI and certificate verification,
	// that of an https proxy included.
	ServerName string
	// Environ looks up the proxy variables (HTTP_PROXY, HTTPS_PROXY, NO_PROXY,
	// and the same in lower case), once for each NewTransport; nil is os.Getenv.
	Environ func(string) string
	NoProxy bool // ignore the proxy variables
	// Policy is asked about every address before it is dialed. Nil: all are allowed.
	// With one that does not allow private addresses the proxy variables are ignored.
	Policy *Policy
}

// NewTransport makes a transport of its own, which shares no connections. It
// speaks HTTP/1.1 and HTTP/2 over TLS 1.2 or later, or HTTP/1.1 in the clear,
// leaves compressed bodies as they are, and limits response headers to 1 MiB.
//
// A name is resolved for every new connection. A lookup that fails is repeated
// once. All addresses are tried, alternating between the families, a new one
// every 250 ms or as soon as one fails; localhost and names below it mean
// 127.0.0.1 and ::1 without a lookup. The hooks of net/http/httptrace are called
// as usual. The caller calls CloseIdleConnections when done.
func NewTransport(o Options) *http.Transport {
	proxies := newProxies(o)
	dialer := newDialer(o.Resolver)
	dialer.policy = o.Policy
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			proxy, variable, err := proxies.choose(r.URL)
			trailOf(r.Context()).start(r.URL, proxy, variable)
			return proxy, err
		},
		OnProxyConnectResponse: func(_ context.Context, proxy *url.URL, _ *http.Request, r *http.Response) error {
			if r.StatusCode == http.StatusOK {
				return nil
			}
			return &ProxyError{Proxy: proxy.Host, Variable: proxies.https.name, Status: r.StatusCode}
		},
		DialContext: dialer.DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion:           tls.VersionTLS12,
			RootCAs:              o.RootCAs,
			ServerName:           o.ServerName,
			GetClientCertificate: o.identify,
		},
		ForceAttemptHTTP2:      true, // a dialer or TLS settings of one's own turn it off
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    abandonedAfter,
	}
}

// identify picks a client certificate. What a server without one does next, in
// TLS 1.3, is to close the connection on the request; only the trail can then
// tell why.
func (o Options) identify(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	for i := range o.ClientCertificates {
		if asked.SupportsCertificate(&o.ClientCertificates[i]) == nil {
			return &o.ClientCertificates[i], nil
		}
	}
	trailOf(asked.Context()).identified(false)
	return &tls.Certificate{}, nil
}

func newDialer(r Resolver) *dialer {
	if r == nil {
		r = net.DefaultResolver
	}
	return &dialer{resolver: r, connect: (&net.Dialer{}).DialContext}
}

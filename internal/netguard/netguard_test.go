package netguard

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// resolverFunc is a Resolver whose answer depends on how often it was asked.
type resolverFunc func(call int) ([]netip.Addr, error)

type fakeResolver struct {
	answer resolverFunc
	calls  atomic.Int32
}

func (r *fakeResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return r.answer(int(r.calls.Add(1)))
}

func resolve(addrs ...string) *fakeResolver {
	return &fakeResolver{answer: func(int) ([]netip.Addr, error) {
		var ips []netip.Addr
		for _, a := range addrs {
			ips = append(ips, netip.MustParseAddr(a))
		}
		return ips, nil
	}}
}

func noSuchHost(name string) error {
	return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// environment stands in for os.Getenv.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

var noEnvironment = environment()

// get makes one followed request and gives its classified error.
func get(t *testing.T, o Options, target string, timeout time.Duration) (Failure, error) {
	t.Helper()
	if o.Environ == nil {
		o.Environ = noEnvironment
	}
	transport := NewTransport(o)
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	ctx, trail := Follow(ctx, nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	err = trail.Explain(err)
	return Classify(err), err
}

// serve accepts connections and leaves each to handle, which owns it.
func serve(t *testing.T, address string, handle func(net.Conn)) (hostPort string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return listener.Addr().String()
}

// closedPort gives an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func readSome(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }

func portOf(t *testing.T, hostPort string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// authority issues certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var serial atomic.Int64

func issue(t *testing.T, by *authority, change func(*x509.Certificate)) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	if template.IsCA {
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageCertSign, nil
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func ca(t *testing.T, by *authority, name string) *authority {
	return issue(t, by, func(c *x509.Certificate) { c.Subject, c.IsCA = pkix.Name{CommonName: name}, true })
}

func leaf(t *testing.T, by *authority, change func(*x509.Certificate)) *authority {
	return issue(t, by, func(c *x509.Certificate) {
		c.Subject, c.DNSNames = pkix.Name{CommonName: "leaf"}, []string{"mcp.test"}
		if change != nil {
			change(c)
		}
	})
}

func tlsServer(t *testing.T, config *tls.Config, chain ...*authority) *httptest.Server {
	t.Helper()
	certificate := tls.Certificate{PrivateKey: chain[0].key}
	for _, c := range chain {
		certificate.Certificate = append(certificate.Certificate, c.cert.Raw)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	config.Certificates = []tls.Certificate{certificate}
	server.TLS = config
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	quiet(server)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// expectation is a classified failure; text and hint are substrings.
type expectation struct {
	reason, text, hint string
	local              bool
}

func (want expectation) check(t *testing.T, f Failure, err error) {
	t.Helper()
	if f.Reason != want.reason || f.Local != want.local || !strings.Contains(f.Text, want.text) || !strings.Contains(f.Hint, want.hint) {
		t.Errorf("got %+v\nwant %+v\nfrom %v", f, want, err)
	}
}

func TestFailuresOfRealServers(t *testing.T) {
	refused := closedPort(t)
	reset := serve(t, "127.0.0.1:0", func(c net.Conn) {
		readSome(c)
		_ = c.(*net.TCPConn).SetLinger(0) // so that closing sends RST
		c.Close()
	})
	closing := serve(t, "127.0.0.1:0", func(c net.Conn) { readSome(c); c.Close() })
	silent := serve(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c); c.Close() })
	answer := func(bytes string) string {
		return "http://" + serve(t, "127.0.0.1:0", func(c net.Conn) {
			readSome(c)
			_, _ = io.WriteString(c, bytes)
			c.Close()
		})
	}
	plainHTTP := serve(t, "127.0.0.1:0", func(c net.Conn) {
		readSome(c)
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		c.Close()
	})
	for _, c := range []struct {
		name, url string
		want      expectation
	}{
		{"refused", "http://" + refused, expectation{reason: ReasonConnectionRefused, text: refused + " refused the connection"}},
		{"reset", "http://" + reset, expectation{reason: ReasonConnectionReset, text: reset + " reset the connection"}},
		{"reset in handshake", "https://" + reset, expectation{reason: ReasonConnectionReset, text: reset}},
		{"closed", "http://" + closing, expectation{reason: ReasonConnectionClosed, text: closing + " closed the connection without"}},
		{"closed in handshake", "https://" + closing, expectation{reason: ReasonConnectionClosed, text: closing + " closed the connection during the TLS handshake"}},
		{"silent", "http://" + silent, expectation{reason: ReasonTimeout, text: silent + " did not answer in time"}},
		{"silent in handshake", "https://" + silent, expectation{reason: ReasonTimeout, text: "did not complete the TLS handshake"}},
		{"body cut off", answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), expectation{reason: ReasonConnectionClosed}},
		{"no HTTP", answer("SSH-2.0-OpenSSH_9\r\n\x1b[31m\r\n"), expectation{reason: ReasonHTTPMalformed, text: "not HTTP"}},
		{"no status", answer("HTTP/1.1 abc OK\r\n\r\n"), expectation{reason: ReasonHTTPMalformed}},
		{"no header", answer("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), expectation{reason: ReasonHTTPMalformed}},
		{"bad length", answer("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), expectation{reason: ReasonHTTPMalformed}},
		{"headers without end", answer("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHeaderBytes+8192) + "\r\n\r\n"), expectation{reason: ReasonHTTPMalformed, text: "larger than 1 MiB"}},
		{"TLS alert to http", answer("\x15\x03\x01\x00\x02\x02\x16\r\n"), expectation{reason: ReasonHTTPMalformed, text: "TLS alert", hint: "https://"}},
		{"http to TLS", "https://" + plainHTTP, expectation{reason: ReasonTLSHandshake, text: "speaks plain http", hint: "http://"}},
		{"neither", strings.Replace(answer("220 smtp ready\r\n"), "http:", "https:", 1), expectation{reason: ReasonTLSHandshake, text: "does not speak TLS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := get(t, Options{}, c.url, 400*time.Millisecond)
			c.want.check(t, f, err)
			if strings.ContainsAny(f.Text, "\x1b\n\r") {
				t.Errorf("raw control characters in %q", f.Text)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	root, other := ca(t, nil, "Test Root"), ca(t, nil, "Private\x1b[31m Root")
	middle := ca(t, root, "Test Middle")
	good := leaf(t, middle, nil)
	expired := leaf(t, middle, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := leaf(t, middle, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	named := leaf(t, middle, func(c *x509.Certificate) { c.DNSNames = []string{"a.test", "*.b.test"} })
	client := leaf(t, middle, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	self := leaf(t, nil, nil)
	private := leaf(t, ca(t, other, "Private Middle"), nil)
	privateMiddle := ca(t, other, "Private Middle 2")
	for _, c := range []struct {
		name  string
		chain []*authority
		sub   string
		text  []string
	}{
		{"self-signed", []*authority{self}, SubSelfSigned, []string{`"leaf"`}},
		{"leaf only", []*authority{good}, SubMissingIntermediate, []string{"chain of 1 certificate,", `"Test Middle"`}},
		{"leaf and an unrelated one", []*authority{good, other}, SubMissingIntermediate, []string{"chain of 2 certificates,", `"Test Middle"`}},
		{"leaf only, private", []*authority{private}, SubMissingIntermediate, []string{`"Private Middle"`}},
		{"private root sent", []*authority{leaf(t, other, nil), other}, SubUnknownAuthority, []string{"chain of 2 certificates that ends at", `[31m Root`}},
		{"private root not sent", []*authority{leaf(t, privateMiddle, nil), privateMiddle}, SubUnknownAuthority, []string{`[31m Root`}},
		{"expired", []*authority{expired, middle}, SubExpired, []string{`"leaf"`, "expired at 20"}},
		{"not yet valid", []*authority{early, middle}, SubNotYetValid, []string{"valid only from 20"}},
		{"other names", []*authority{named, middle}, SubNameMismatch, []string{"not for mcp.test but for a.test, *.b.test"}},
		{"other use", []*authority{client, middle}, SubInvalid, []string{"not valid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := tlsServer(t, &tls.Config{}, c.chain...)
			port := portOf(t, server.Listener.Addr().String())
			roots := x509.NewCertPool()
			roots.AddCert(root.cert)
			f, err := get(t, Options{RootCAs: roots, Resolver: resolve("127.0.0.1")}, "https://mcp.test:"+port, 5*time.Second)
			expectation{reason: ReasonTLSUntrusted, text: "mcp.test:" + port}.check(t, f, err)
			if f.Detail["sub"] != c.sub || strings.ContainsRune(f.Text+f.Detail["issuer"], 0x1b) {
				t.Errorf("got %+v from %v", f, err)
			}
			for _, text := range c.text {
				if !strings.Contains(f.Text, text) {
					t.Errorf("%q lacks %q", f.Text, text)
				}
			}
		})
	}
}

func TestTransportSpeaksToGoodServers(t *testing.T) {
	root := ca(t, nil, "Root")
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	for _, h2 := range []bool{true, false} {
		server := tlsServer(t, &tls.Config{}, leaf(t, root, nil))
		var accept atomic.Value
		server.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			accept.Store(r.Proto + " " + r.Header.Get("Accept-Encoding"))
		})
		want := "HTTP/2.0 "
		if !h2 {
			server.TLS.NextProtos = []string{"http/1.1"}
			want = "HTTP/1.1 "
		}
		o := Options{RootCAs: roots, Resolver: resolve("127.0.0.1"), ServerName: "mcp.test"}
		if f, err := get(t, o, "https://alias.test:"+portOf(t, server.Listener.Addr().String()), 5*time.Second); err != nil {
			t.Errorf("h2 %v: %+v, %v", h2, f, err)
		}
		if accept.Load() != want {
			t.Errorf("the server saw %q, want %q", accept.Load(), want)
		}
	}
}

func TestHandshakes(t *testing.T) {
	root := ca(t, nil, "Root")
	roots, clients := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.cert)
	clients.AddCert(root.cert)
	identity := func(by *authority) []tls.Certificate {
		c := leaf(t, by, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
		return []tls.Certificate{{Certificate: [][]byte{c.cert.Raw}, PrivateKey: c.key}}
	}
	demanding := func(version uint16) *tls.Config {
		return &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MaxVersion: version}
	}
	unidentified := expectation{reason: ReasonTLSHandshake, text: "asked for a client certificate", hint: "configure a client certificate"}
	for _, c := range []struct {
		name     string
		config   *tls.Config
		identity []tls.Certificate
		want     expectation
	}{
		{"old version", &tls.Config{MaxVersion: tls.VersionTLS11}, nil, expectation{reason: ReasonTLSHandshake, text: "protocol version", hint: "TLS 1.2"}},
		{"no client certificate", demanding(tls.VersionTLS13), nil, unidentified},
		{"no client certificate, TLS 1.2", demanding(tls.VersionTLS12), nil, unidentified},
		{"unfit client certificate", demanding(tls.VersionTLS13), identity(ca(t, nil, "Other")), unidentified},
		{"client certificate", demanding(tls.VersionTLS13), identity(root), expectation{}},
		{"client certificate not needed", &tls.Config{ClientAuth: tls.RequestClientCert}, nil, expectation{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := tlsServer(t, c.config, leaf(t, root, nil))
			o := Options{RootCAs: roots, Resolver: resolve("127.0.0.1"), ClientCertificates: c.identity}
			f, err := get(t, o, "https://mcp.test:"+portOf(t, server.Listener.Addr().String()), 5*time.Second)
			c.want.check(t, f, err)
		})
	}
}

func TestLookups(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	port := portOf(t, server.Listener.Addr().String())
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	// A real resolver, whose server refuses.
	closed := closedPort(t)
	unreachable := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", closed)
	}}
	for _, c := range []struct {
		name     string
		resolver Resolver
		calls    int32
		want     expectation
	}{
		{"fine", resolve("127.0.0.1"), 1, expectation{}},
		{"mapped", resolve("::ffff:127.0.0.1"), 1, expectation{}},
		{"no such host, once", &fakeResolver{answer: func(call int) ([]netip.Addr, error) {
			if call == 1 {
				return nil, noSuchHost("mcp.test")
			}
			return loopback, nil
		}}, 2, expectation{}},
		{
			"no such host", &fakeResolver{answer: func(int) ([]netip.Addr, error) { return nil, noSuchHost("mcp.test") }}, 2,
			expectation{reason: ReasonDNSNotFound, text: "no host mcp.test"},
		},
		{"no addresses", resolve(), 2, expectation{reason: ReasonDNSNotFound, text: "mcp.test"}},
		{"server failure", &fakeResolver{answer: func(int) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "server misbehaving", Name: "mcp.test", IsTemporary: true}
		}}, 2, expectation{reason: ReasonDNSFailure, text: "looking up mcp.test failed: server misbehaving"}},
		{"timeout", &fakeResolver{answer: func(int) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "i/o timeout", Name: "mcp.test", IsTimeout: true, IsTemporary: true}
		}}, 2, expectation{reason: ReasonDNSFailure, text: "no name server answered for mcp.test", local: true}},
		{
			"another error", &fakeResolver{answer: func(int) ([]netip.Addr, error) { return nil, errors.New("odd") }}, 2,
			expectation{reason: ReasonDNSFailure, text: "looking up mcp.test failed: odd"},
		},
		{"resolver refuses", unreachable, 0, expectation{reason: ReasonDNSFailure, text: "no name server answered", local: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := get(t, Options{Resolver: c.resolver}, "http://mcp.test:"+port, 5*time.Second)
			c.want.check(t, f, err)
			if fake, ok := c.resolver.(*fakeResolver); ok && fake.calls.Load() != c.calls {
				t.Errorf("%d lookups, want %d", fake.calls.Load(), c.calls)
			}
		})
	}
}

func TestLookupThatHangsEndsWithTheRequest(t *testing.T) {
	ended := make(chan struct{})
	o := Options{Resolver: hangingResolver{ended}}
	f, err := get(t, o, "http://mcp.test", 50*time.Millisecond)
	expectation{reason: ReasonDNSFailure, text: "no name server answered for mcp.test: timeout", local: true}.check(t, f, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the deadline is hidden in %v", err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the lookup goes on after its request")
	}
}

type hangingResolver struct{ ended chan struct{} }

func (r hangingResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	close(r.ended)
	return nil, ctx.Err()
}

func TestLocalhostNeedsNoResolver(t *testing.T) {
	never := &fakeResolver{answer: func(int) ([]netip.Addr, error) { return nil, noSuchHost("localhost") }}
	for _, address := range []string{"[::1]:0", "127.0.0.1:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("both loopback addresses are needed: %v", err)
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.NotFoundHandler()}}
		server.Start()
		for _, host := range []string{"localhost", "LOCALHOST.", "api.localhost"} {
			if f, err := get(t, Options{Resolver: never}, "http://"+host+":"+portOf(t, listener.Addr().String()), 5*time.Second); err != nil {
				t.Errorf("%s on %s: %+v, %v", host, address, f, err)
			}
		}
		server.Close()
	}
	refused := closedPort(t)
	f, err := get(t, Options{Resolver: never}, "http://localhost:"+portOf(t, refused), 5*time.Second)
	expectation{reason: ReasonConnectionRefused, text: "tried " + refused + ", [::1]:"}.check(t, f, err)
	if never.calls.Load() != 0 {
		t.Error("the resolver was asked for localhost")
	}
}

func TestTraceHooksFireOnce(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	failing := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}
	for _, c := range []struct {
		name     string
		resolver Resolver
		fails    bool
		connects int32
	}{
		{"resolver without hooks", resolve("127.0.0.1"), false, 1},
		{"resolver with hooks", failing, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dnsStart, dnsDone, connectStart, connectDone, addresses atomic.Int32
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				DNSStart:     func(i httptrace.DNSStartInfo) { dnsStart.Add(int32(len(i.Host) / len("mcp.test"))) },
				DNSDone:      func(i httptrace.DNSDoneInfo) { dnsDone.Add(1); addresses.Add(int32(len(i.Addrs))) },
				ConnectStart: func(_, _ string) { connectStart.Add(1) },
				ConnectDone:  func(_, _ string, _ error) { connectDone.Add(1) },
			})
			ctx, _ = Follow(ctx, nil)
			transport := NewTransport(Options{Resolver: c.resolver, Environ: noEnvironment})
			defer transport.CloseIdleConnections()
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://mcp.test:"+portOf(t, server.Listener.Addr().String()), nil)
			response, err := transport.RoundTrip(request)
			if err == nil {
				response.Body.Close()
			}
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if dnsStart.Load() != 1 || dnsDone.Load() != 1 || connectStart.Load() != c.connects || connectDone.Load() != c.connects || addresses.Load() != c.connects {
				t.Errorf("dns %d/%d (%d addresses), connect %d/%d", dnsStart.Load(), dnsDone.Load(), addresses.Load(), connectStart.Load(), connectDone.Load())
			}
		})
	}
}

func TestProxies(t *testing.T) {
	respond := func(answer string) string {
		return serve(t, "127.0.0.1:0", func(c net.Conn) {
			readSome(c)
			_, _ = io.WriteString(c, answer)
			c.Close()
		})
	}
	bad := respond("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
	login := respond("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
	closing, refused := respond(""), closedPort(t)
	silent := serve(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c); c.Close() })
	socks := respond("\x05\xff")
	origin := httptest.NewTLSServer(http.NotFoundHandler())
	defer origin.Close()
	roots := x509.NewCertPool()
	roots.AddCert(origin.Certificate())
	for _, c := range []struct {
		name, variable, value string
		want                  expectation
	}{
		{"502", "HTTPS_PROXY", "http://user:pw@" + bad, expectation{reason: ReasonProxyError, text: "proxy " + bad + " from HTTPS_PROXY answered 502 to CONNECT", hint: "NO_PROXY", local: true}},
		{"407", "https_proxy", "http://" + login, expectation{reason: ReasonProxyError, text: "from https_proxy answered 407", hint: "user and password", local: true}},
		{"refused", "HTTPS_PROXY", "http://user:pw@" + refused, expectation{reason: ReasonProxyError, text: "proxy " + refused + " from HTTPS_PROXY failed: " + refused + " refused", local: true}},
		{"closed", "HTTPS_PROXY", closing, expectation{reason: ReasonProxyError, text: "proxy " + closing, local: true}},
		{"silent", "HTTPS_PROXY", silent, expectation{reason: ReasonProxyError, text: "in time", local: true}},
		{"socks", "HTTPS_PROXY", "socks5://" + socks, expectation{reason: ReasonProxyError, text: "proxy " + socks, local: true}},
		{"name", "HTTPS_PROXY", "http://proxy.test:1", expectation{reason: ReasonProxyError, text: "no host proxy.test", local: true}},
		{"no URL", "HTTPS_PROXY", "ftp://%zz", expectation{reason: ReasonProxyError, text: "HTTPS_PROXY holds no usable proxy URL", local: true}},
		{"for http only", "HTTP_PROXY", "http://" + refused, expectation{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			resolver := &fakeResolver{answer: func(int) ([]netip.Addr, error) { return nil, noSuchHost("") }}
			if c.variable == "HTTP_PROXY" {
				resolver = resolve("127.0.0.1")
			}
			o := Options{Environ: environment(c.variable, c.value), Resolver: resolver, RootCAs: roots, ServerName: "example.com"}
			target := "https://mcp.test:" + portOf(t, origin.Listener.Addr().String())
			f, err := get(t, o, target, 500*time.Millisecond)
			c.want.check(t, f, err)
			if strings.Contains(f.Text, "pw") {
				t.Errorf("the proxy's password shows in %q", f.Text)
			}
			o.NoProxy, o.Resolver = true, resolve("127.0.0.1")
			if _, err := get(t, o, target, 5*time.Second); err != nil {
				t.Errorf("NoProxy: %v", err)
			}
			o.NoProxy, o.Environ = false, environment(c.variable, c.value, "no_proxy", "mcp.test")
			if _, err := get(t, o, target, 5*time.Second); err != nil {
				t.Errorf("no_proxy: %v", err)
			}
		})
	}
}

func TestProxyFor(t *testing.T) {
	environ := environment("HTTP_PROXY", "p1.test:80", "https_proxy", "http://p2.test:81", "NO_PROXY", ".inner.test,10.0.0.0/8")
	for _, c := range []struct {
		name            string
		o               Options
		url             string
		proxy, variable string
	}{
		{"http", Options{Environ: environ}, "http://mcp.test", "http://p1.test:80", "HTTP_PROXY"},
		{"https", Options{Environ: environ}, "https://mcp.test", "http://p2.test:81", "https_proxy"},
		{"listed", Options{Environ: environ}, "https://a.inner.test", "", ""},
		{"listed network", Options{Environ: environ}, "http://10.1.2.3:99", "", ""},
		{"loopback", Options{Environ: environ}, "http://localhost:99", "", ""},
		{"turned off", Options{Environ: environ, NoProxy: true}, "https://mcp.test", "", ""},
		{"none", Options{Environ: noEnvironment}, "https://mcp.test", "", ""},
		{"broken", Options{Environ: environment("HTTP_PROXY", "::::")}, "http://mcp.test", "", "HTTP_PROXY"},
		{"broken, but listed", Options{Environ: environment("HTTP_PROXY", "::::", "NO_PROXY", "mcp.test")}, "http://mcp.test", "", ""},
		{"upper case first", Options{Environ: environment("http_proxy", "b.test", "HTTP_PROXY", "a.test")}, "http://mcp.test", "http://a.test", "HTTP_PROXY"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		proxy, variable := ProxyFor(c.o, u)
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if got != c.proxy || variable != c.variable {
			t.Errorf("%s: %q from %q, want %q from %q", c.name, got, variable, c.proxy, c.variable)
		}
	}
}

func TestEnvironmentIsReadAnew(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "mcp.test"}
	for _, proxy := range []string{"http://one.test", "http://two.test"} {
		t.Setenv("HTTP_PROXY", proxy)
		t.Setenv("NO_PROXY", "")
		t.Setenv("no_proxy", "")
		if got, _ := ProxyFor(Options{}, u); got == nil || got.String() != proxy {
			t.Errorf("%v, want %s", got, proxy)
		}
	}
}

func TestUnfinishedHandshakeIsClosedWithItsRequest(t *testing.T) {
	closed := make(chan struct{})
	silent := serve(t, "127.0.0.1:0", func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		close(closed)
		c.Close()
	})
	if _, err := get(t, Options{}, "https://"+silent, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("the connection is still open")
	}
}

func TestConnectionOutlivesTheContextOfItsFirstRequest(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := NewTransport(Options{RootCAs: roots, Environ: noEnvironment})
	defer transport.CloseIdleConnections()
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		reused := false
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		ctx, _ = Follow(ctx, nil)
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		cancel()
		time.Sleep(20 * time.Millisecond) // what the end of the context starts must be done
		if reused != (i > 0) {
			t.Errorf("request %d: reused = %v", i, reused)
		}
	}
}

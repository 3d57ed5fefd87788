package netguard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// quiet keeps handshake failures, which tests provoke, out of the output.
func quiet(server *httptest.Server) {
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
}

// behaviour is how a fake address takes a dial: after a time it gives an error,
// or a connection without one. A zero time hangs until the dial is given up.
type behaviour struct {
	after time.Duration
	err   error
}

// network is a fake of dials, with the times at which they began.
type network struct {
	hosts map[string]behaviour
	start time.Time

	mu      sync.Mutex
	dialed  []string
	running int
	open    int
}

func (n *network) connect(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, fmt.Sprintf("%v %s", time.Since(n.start), address))
	n.running++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.running--
	}()
	b := n.hosts[address]
	hang := b.after == 0
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(max(b.after, time.Nanosecond)):
		if hang {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	if b.err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", b.err)}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open++
	return &fakeConn{network: n}, nil
}

type fakeConn struct {
	net.Conn
	network *network
}

func (c *fakeConn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.network.open--
	return nil
}

func TestRace(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		ips    []string
		hosts  map[string]behaviour
		dialed []string
		took   time.Duration
		err    string
		reason string
		local  bool
	}{
		{
			name: "first answers", ips: []string{"10.0.0.1", "10.0.0.2"},
			hosts:  map[string]behaviour{"10.0.0.1:443": {after: 200 * ms}},
			dialed: []string{"0s 10.0.0.1:443"}, took: 200 * ms,
		},
		{
			name: "families alternate, the silent one is overtaken", ips: []string{"fd00::1", "fd00::2", "10.0.0.1"},
			hosts:  map[string]behaviour{"10.0.0.1:443": {after: 10 * ms}},
			dialed: []string{"0s [fd00::1]:443", "250ms 10.0.0.1:443"}, took: 260 * ms,
		},
		{
			name: "a failure starts the next at once", ips: []string{"fd00::1", "10.0.0.1"},
			hosts:  map[string]behaviour{"[fd00::1]:443": {after: ms, err: syscall.ENETUNREACH}, "10.0.0.1:443": {after: ms}},
			dialed: []string{"0s [fd00::1]:443", "1ms 10.0.0.1:443"}, took: 2 * ms,
		},
		{
			name: "the slow first one can still win", ips: []string{"10.0.0.1", "10.0.0.2"},
			hosts:  map[string]behaviour{"10.0.0.1:443": {after: 300 * ms}, "10.0.0.2:443": {after: 300 * ms}},
			dialed: []string{"0s 10.0.0.1:443", "250ms 10.0.0.2:443"}, took: 300 * ms,
		},
		{
			name: "two at the same time leave one open", ips: []string{"10.0.0.1", "10.0.0.2"},
			hosts:  map[string]behaviour{"10.0.0.1:443": {after: 350 * ms}, "10.0.0.2:443": {after: 100 * ms}},
			dialed: []string{"0s 10.0.0.1:443", "250ms 10.0.0.2:443"}, took: 350 * ms,
		},
		{
			name: "all are named, up to four", ips: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.1"},
			hosts: map[string]behaviour{
				"10.0.0.1:443": {ms, syscall.EHOSTUNREACH}, "10.0.0.2:443": {ms, syscall.ECONNREFUSED}, "10.0.0.3:443": {ms, syscall.ENETUNREACH},
				"10.0.0.4:443": {ms, syscall.ENETUNREACH}, "10.0.0.5:443": {ms, syscall.ENETUNREACH},
			},
			dialed: []string{"0s 10.0.0.1:443", "1ms 10.0.0.2:443", "2ms 10.0.0.3:443", "3ms 10.0.0.4:443", "4ms 10.0.0.5:443"}, took: 5 * ms,
			err:    "10.0.0.1:443 (connect: no route to host), 10.0.0.2:443 (connect: connection refused), 10.0.0.3:443 (connect: network is unreachable), 10.0.0.4:443 (connect: network is unreachable), and 1 more",
			reason: ReasonConnectionRefused,
		},
		{
			name: "no route", ips: []string{"10.0.0.1"}, hosts: map[string]behaviour{"10.0.0.1:443": {ms, syscall.ENETUNREACH}},
			dialed: []string{"0s 10.0.0.1:443"}, took: ms, err: "10.0.0.1:443 (", reason: ReasonNetworkUnreachable, local: true,
		},
		{
			name: "nobody answers", ips: []string{"fd00::1", "10.0.0.1"},
			dialed: []string{"0s [fd00::1]:443", "250ms 10.0.0.1:443"}, took: 5 * time.Second,
			err: "10.0.0.1:443 (context deadline exceeded)", reason: ReasonConnectTimeout,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{hosts: c.hosts, start: time.Now()}
				d := &dialer{resolver: resolve(c.ips...), connect: n.connect}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				conn, err := d.DialContext(ctx, "tcp", "mcp.test:443")
				if took := time.Since(n.start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if !slices.Equal(n.dialed, c.dialed) {
					t.Errorf("dialed %q\nwant %q", n.dialed, c.dialed)
				}
				if (conn == nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, %v; want %q", conn, err, c.err)
				}
				if f := Classify(err); f.Reason != c.reason || f.Local != c.local {
					t.Errorf("classified as %+v", f)
				}
				if conn != nil && n.open != 1 {
					t.Errorf("%d connections are open", n.open)
				}
			})
		})
	}
}

func TestHostileZoneIsBounded(t *testing.T) {
	var ips []string
	hosts := map[string]behaviour{}
	for i := range 200 {
		ip := fmt.Sprintf("10.0.0.%d", i)
		ips = append(ips, ip)
		hosts[ip+":80"] = behaviour{time.Millisecond, syscall.ECONNREFUSED}
	}
	synctest.Test(t, func(t *testing.T) {
		n := &network{hosts: hosts}
		_, err := (&dialer{resolver: resolve(ips...), connect: n.connect}).DialContext(t.Context(), "tcp", "mcp.test:80")
		if len(n.dialed) != maxAddresses || len(err.Error()) > 400 {
			t.Errorf("%d dials: %v", len(n.dialed), err)
		}
	})
}

// TestConnectTimeoutOfARequest goes through net/http, which reports the bare
// deadline and hides the dial that it cut off.
func TestConnectTimeoutOfARequest(t *testing.T) {
	for _, followed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{start: time.Now()}
			transport := NewTransport(Options{Environ: noEnvironment})
			transport.DialContext = (&dialer{resolver: resolve("10.0.0.1", "fd00::1"), connect: n.connect}).DialContext
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var trail *Trail
			if followed {
				ctx, trail = Follow(ctx, nil)
			}
			_, err := transport.RoundTrip(newRequest(ctx, t, "https://mcp.test"))
			want := ReasonTimeout
			if followed {
				want = ReasonConnectTimeout
			}
			if f := Classify(trail.Explain(err)); f.Reason != want || f.Local {
				t.Errorf("followed %v: %+v from %v", followed, f, err)
			}
			// The bubble ends only when the dial has: at once if it was followed, by
			// its own limit if not.
			synctest.Wait()
			if n.mu.Lock(); (n.running == 0) != followed {
				t.Errorf("followed %v: %d dials are running after the request", followed, n.running)
			}
			n.mu.Unlock()
			if !followed {
				time.Sleep(abandonedAfter)
			}
		})
	}
}

func newRequest(ctx context.Context, t *testing.T, target string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same reports identity, which errors.Is does not.
func same(a, b any) bool { return a == b }

func TestExplainOutsideOfNetworks(t *testing.T) {
	var none *Trail
	err := errors.New("x")
	if !same(none.Explain(err), err) || none.Explain(nil) != nil {
		t.Error("a nil trail must leave errors alone")
	}
	_, trail := Follow(t.Context(), nil)
	if !same(trail.Explain(err), err) || trail.Explain(nil) != nil {
		t.Error("a trail of no request must leave errors alone")
	}
	proxied := &ProxyError{Proxy: "p:1", Err: err}
	if !same(trail.Explain(proxied), proxied) {
		t.Error("an explained error must stay as it is")
	}
}

// TestClassifyConstructed holds what a test cannot bring about for real.
func TestClassifyConstructed(t *testing.T) {
	dial := func(numbers ...syscall.Errno) error {
		e := &DialError{Address: "mcp.test:443"}
		for i, n := range numbers {
			addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 443)
			e.Attempts = append(e.Attempts, Attempt{addr, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", n)}})
		}
		return &url.Error{Op: "Post", URL: "https://mcp.test/mcp?key=secret", Err: e}
	}
	request := func(err error) error { return &url.Error{Op: "Get", URL: "http://u:p@mcp.test/x?key=secret", Err: err} }
	for _, c := range []struct {
		name string
		err  error
		want expectation
	}{
		{"descriptors", dial(syscall.EMFILE), expectation{ReasonDescriptorLimit, "mcp.test:443", "ulimit", true}},
		{"descriptors of the system", dial(syscall.ECONNREFUSED, syscall.ENFILE), expectation{ReasonDescriptorLimit, "", "", true}},
		{"descriptors for a lookup", request(&net.DNSError{Err: "dial udp 1.1.1.1:53: socket: too many open files", Name: "mcp.test"}), expectation{ReasonDescriptorLimit, "", "", true}},
		{"lookup without network", request(&net.DNSError{Err: "dial udp 1.1.1.1:53: connect: network is unreachable", Name: "mcp.test"}), expectation{ReasonDNSFailure, "mcp.test", "resolver", true}},
		{"no route", dial(syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL), expectation{ReasonNetworkUnreachable, "no route from here to mcp.test:443 (tried 10.0.0.0:443, ", "", true}},
		{"host unreachable", dial(syscall.ENETUNREACH, syscall.EHOSTUNREACH), expectation{ReasonHostUnreachable, "host mcp.test:443 is unreachable", "", false}},
		{"refused outweighs", dial(syscall.ENETUNREACH, syscall.ECONNREFUSED, syscall.ETIMEDOUT), expectation{ReasonConnectionRefused, "", "", false}},
		{"time of the system", dial(syscall.ENETUNREACH, syscall.ETIMEDOUT), expectation{ReasonConnectTimeout, "", "firewall", false}},
		{"forbidden", dial(syscall.EACCES), expectation{ReasonNetworkError, "forbids", "", true}},
		{"time of the system, later", request(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}), expectation{ReasonTimeout, "mcp.test:80", "", false}},
		{"foreign dialer", request(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}), expectation{ReasonConnectTimeout, "mcp.test:80", "", false}},
		{"broken pipe", request(&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}), expectation{ReasonConnectionReset, "mcp.test:80", "", false}},
		{"bare deadline", context.DeadlineExceeded, expectation{ReasonTimeout, "the server did not answer", "", false}},
		{"canceled", request(context.Canceled), expectation{ReasonCanceled, "mcp.test:80", "", true}},
		{"idle connection", request(errors.New("http: server closed idle connection")), expectation{ReasonConnectionClosed, "", "", false}},
		{"end of HTTP/2", request(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1")), expectation{ReasonConnectionClosed, "", "", false}},
		{"broken HTTP/2", request(errors.New("stream error: stream ID 1; PROTOCOL_ERROR")), expectation{ReasonHTTPMalformed, "", "", false}},
		{"anything else", request(errors.New("odd \x1b[31m\u202e")), expectation{ReasonNetworkError, `odd \u{001B}[31m\u{202E}`, "", false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Classify(c.err)
			c.want.check(t, f, c.err)
			if strings.Contains(f.Text, "secret") || strings.Contains(f.Text, "u:p") {
				t.Errorf("parts of the URL show in %q", f.Text)
			}
		})
	}
	if f := Classify(nil); f.Reason != "" || f.Text != "" || f.Detail != nil {
		t.Errorf("nil is %+v", f)
	}
}

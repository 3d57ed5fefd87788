package probe_test

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

var errInside = errors.New("that is inside")

// trap is a listener that nobody may connect to.
type trap struct {
	net.Listener
	connections atomic.Int32
}

func newTrap(t *testing.T, host string) *trap {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil { // not all systems have more than one
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	x := &trap{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			x.connections.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		if n := x.connections.Load(); n != 0 {
			t.Errorf("%d connections were made to an address that is not allowed", n)
		}
	})
	return x
}

func (x *trap) port(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(x.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// asked is an AllowAddress that refuses the listed addresses and knows what it was
// asked about.
type asked struct {
	mu     sync.Mutex
	refuse []string
	about  []string
}

func (a *asked) allow(addr netip.Addr) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.about = append(a.about, addr.String())
	if slices.Contains(a.refuse, addr.String()) {
		return errInside
	}
	return nil
}

func (a *asked) was(addr string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.about, addr)
}

func TestAllowAddressOfTheEndpoint(t *testing.T) {
	t.Parallel()
	x := newTrap(t, "127.0.0.1")
	resolver := fakemcp.NewResolver()
	resolver.Set("mcp.fake.test", "127.0.0.1")
	resolver.Set("mapped.fake.test", "::ffff:127.0.0.1")
	for name, endpoint := range map[string]string{
		"an address":       "http://127.0.0.1:" + x.port(t) + "/mcp",
		"a name":           "http://mcp.fake.test:" + x.port(t) + "/mcp",
		"a mapped address": "http://mapped.fake.test:" + x.port(t) + "/mcp",
		"localhost":        "http://localhost:" + x.port(t) + "/mcp",
		"https":            "https://127.0.0.1:" + x.port(t) + "/mcp",
	} {
		for _, transport := range []target.Transport{target.HTTP, target.SSE} {
			a := &asked{refuse: []string{"127.0.0.1", "::1"}}
			tgt := &target.Target{Name: "t", Endpoint: endpoint, Transport: transport}
			r := check(t, tgt, probe.Options{AllowAddress: a.allow, Resolver: resolver, Diagnose: true, Revisions: true, AuthMetadata: true})
			verify(t, r, want{
				status: probe.StatusMisconfigured, step: probe.StepConnect, reason: "address-not-allowed",
				text: []string{errInside.Error(), "127.0.0.1"}, hint: []string{"policy"},
			})
			if t.Failed() {
				t.Fatalf("%s, %s", name, transport)
			}
		}
	}
}

func TestAllowAddressThatIsAllowed(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	a := &asked{}
	verify(t, check(t, srv.Target(), probe.Options{AllowAddress: a.allow}), want{})
	if !a.was("127.0.0.1") {
		t.Error("it was not asked")
	}
	// Of several addresses the allowed ones are tried.
	resolver := fakemcp.NewResolver()
	resolver.Set("mcp.fake.test", "10.255.255.1", "127.0.0.1")
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort("mcp.fake.test", u.Port())
	a = &asked{refuse: []string{"10.255.255.1"}}
	verify(t, check(t, &target.Target{Name: "t", Endpoint: u.String()}, probe.Options{AllowAddress: a.allow, Resolver: resolver}), want{})
}

// A name that resolves to another address when a redirect is followed is refused there.
func TestAllowAddressAfterARedirect(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Path: "/mcp/"})
	resolver := fakemcp.NewResolver("mcp.fake.test")
	srv.OnPath("/mcp", func(x *fakemcp.Exchange) {
		resolver.Set("mcp.fake.test", "127.0.0.2") // from now on
		fakemcp.Respond(fakemcp.Response{Status: 307, Header: map[string]string{"Location": "/mcp/", "Connection": "close"}})(x)
	})
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{refuse: []string{"127.0.0.2"}}
	tgt := &target.Target{Name: "t", Endpoint: "http://mcp.fake.test:" + u.Port() + "/mcp"}
	r := check(t, tgt, probe.Options{AllowAddress: a.allow, Resolver: resolver})
	verify(t, r, want{status: probe.StatusMisconfigured, reason: "address-not-allowed", text: []string{"127.0.0.2"}})
	if !a.was("127.0.0.2") {
		t.Error("the second address was not asked about")
	}
	for _, q := range srv.Requests() {
		if q.Path != "/mcp" {
			t.Errorf("%s %s arrived", q.HTTPMethod, q.Path)
		}
	}
}

// What metadata and authorization servers a server names is as hostile as its own URL.
func TestAllowAddressOfTheLogin(t *testing.T) {
	t.Parallel()
	const elsewhere = "127.0.0.9"
	x := newTrap(t, elsewhere)
	inside := "http://" + elsewhere + ":" + x.port(t)
	server := map[string]string{resourcePath + "/mcp": resourceDoc("$ENDPOINT", inside)}
	token := map[string]string{serverPath: strings.ReplaceAll(serverDoc("$AS", pkce, cimd), "$AS/token", inside+"/token")}
	for name, c := range map[string]struct {
		login  *login
		target func(*login) *target.Target
	}{
		"authorization server, judged": {&login{resource: server}, (*login).audit},
		"authorization server, used": {&login{resource: server}, func(l *login) *target.Target {
			tgt := l.machine()
			tgt.OAuth.Issuer = inside
			return tgt
		}},
		"token endpoint": {&login{server: token}, (*login).machine},
	} {
		t.Run(name, func(t *testing.T) {
			c.login.start(t)
			a := &asked{refuse: []string{elsewhere}}
			r := check(t, c.target(c.login), probe.Options{AllowAddress: a.allow, AuthMetadata: true})
			if !a.was(elsewhere) {
				t.Fatalf("nobody asked about the address:\n%s", describe(r))
			}
			verify(t, r, want{
				status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "address-not-allowed",
				text: []string{errInside.Error(), elsewhere}, hint: []string{"policy"},
			})
			if name != "token endpoint" && r.Inventory != nil && r.Inventory.Auth != nil {
				t.Errorf("metadata that was not seen to its end counts: %+v", r.Inventory.Auth)
			}
		})
	}
}

// The place of the resource metadata is the server's to say, within its own origin, and
// what its name resolves to as well: here to something else, once the challenge is out.
func TestAllowAddressOfResourceMetadata(t *testing.T) {
	t.Parallel()
	for name, tgt := range map[string]func(*login) *target.Target{"judged": (*login).audit, "noted": (*login).plain} {
		t.Run(name, func(t *testing.T) {
			l := (&login{}).start(t)
			var questions atomic.Int32
			allow := func(netip.Addr) error {
				if questions.Add(1) > 1 {
					return errInside
				}
				return nil
			}
			r := check(t, tgt(l), probe.Options{AllowAddress: allow, AuthMetadata: true})
			if questions.Load() < 2 {
				t.Fatalf("nobody asked again:\n%s", describe(r))
			}
			for _, q := range l.mcp.Requests() {
				if q.HTTPMethod == "GET" {
					t.Errorf("%s was asked for", q.Path)
				}
			}
			if name == "judged" {
				verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "address-not-allowed", text: []string{errInside.Error()}})
			}
			if r.Inventory != nil && r.Inventory.Auth != nil {
				t.Errorf("metadata that was not seen to its end counts: %+v", r.Inventory.Auth)
			}
		})
	}
}

// Metadata on another origin is not asked for at all.
func TestAllowAddressOfForeignMetadata(t *testing.T) {
	t.Parallel()
	x := newTrap(t, "127.0.0.9")
	l := (&login{challenge: `Bearer resource_metadata="http://` + x.Addr().String() + `/x"`}).start(t)
	r := check(t, l.audit(), probe.Options{AllowAddress: (&asked{refuse: []string{"127.0.0.9"}}).allow})
	verify(t, r, want{notes: []probe.Reason{"metadata-other-origin"}})
}

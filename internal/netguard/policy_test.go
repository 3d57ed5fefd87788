package netguard

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPolicyRanges(t *testing.T) {
	const (
		public  = "public"  // allowed always
		private = "private" // allowed with AllowPrivate
		never   = "never"   // allowed by name only
	)
	for _, c := range []struct{ addr, kind, what string }{
		{"8.8.8.8", public, ""},
		{"100.63.255.255", public, ""},
		{"100.128.0.0", public, ""},
		{"172.15.255.255", public, ""},
		{"172.32.0.0", public, ""},
		{"192.0.1.0", public, ""},
		{"198.17.255.255", public, ""},
		{"223.255.255.255", public, ""},
		{"0.0.0.0", never, "this host"},
		{"0.1.2.3", never, "this host"},
		{"10.0.0.0", private, "private"},
		{"10.255.255.255", private, "private"},
		{"100.64.0.0", private, "shared"},
		{"100.127.255.255", private, "shared"},
		{"100.100.100.200", never, "metadata"},
		{"127.0.0.1", private, "loopback"},
		{"127.255.255.254", private, "loopback"},
		{"168.63.129.16", never, "metadata"},
		{"169.254.169.254", never, "metadata"},
		{"169.254.170.2", never, "metadata"},
		{"169.254.0.1", never, "link-local"},
		{"172.16.0.0", private, "private"},
		{"172.31.255.255", private, "private"},
		{"192.0.0.1", never, "protocols"},
		{"192.0.0.192", never, "metadata"},
		{"192.0.2.1", never, "documentation"},
		{"192.88.99.1", never, "6to4"},
		{"192.168.0.1", private, "private"},
		{"192.31.196.1", never, "AS112"},
		{"192.52.193.1", never, "relays"},
		{"192.175.48.1", never, "AS112"},
		{"198.18.0.0", never, "benchmarks"},
		{"198.19.255.255", never, "benchmarks"},
		{"198.51.100.1", never, "documentation"},
		{"203.0.113.1", never, "documentation"},
		{"224.0.0.1", never, "multicast"},
		{"239.255.255.250", never, "multicast"},
		{"240.0.0.1", never, "reserved"},
		{"255.255.255.255", never, "reserved"},

		{"2606:4700::1111", public, ""},
		{"2001:4860:4860::8888", public, ""},
		{"2a00:1450::1", public, ""},
		{"::", never, "unspecified"},
		{"::1", private, "loopback"},
		{"100::1", never, "discarded"},
		{"100:0:0:1::1", never, "dummy"},
		{"2001:2::1", never, "protocols"},
		{"2001:10::1", never, "protocols"},
		{"2001:20::1", never, "protocols"},
		{"2001:db8::1", never, "documentation"},
		{"2620:4f:8000::1", never, "AS112"},
		{"3fff::1", never, "documentation"},
		{"5f00::1", never, "segment routing"},
		{"64:ff9b:1::808:808", never, "local translation"},
		{"fc00::1", private, "private"},
		{"fdff::1", private, "private"},
		{"fd00:ec2::254", never, "metadata"},
		{"fd20:ce::254", never, "metadata"},
		{"fe80::1", never, "link-local"},
		{"fe80::1%eth0", never, "link-local"},
		{"fec0::1", never, "site-local"},
		{"ff02::1", never, "multicast"},
		{"4000::1", never, "outside"},
		{"1234::1", never, "outside"},

		{"::ffff:8.8.8.8", public, ""},
		{"::ffff:10.0.0.1", private, "private"},
		{"::ffff:169.254.169.254", never, "metadata"},
		{"::8.8.8.8", public, ""}, // compatible
		{"::10.0.0.1", private, "another form of 10.0.0.1, a private"},
		{"::127.0.0.1", private, "loopback"},
		{"::2", never, "another form of 0.0.0.2"},
		{"::ffff:0:808:808", public, ""}, // translated
		{"::ffff:0:7f00:1", private, "loopback"},
		{"64:ff9b::8.8.8.8", public, ""}, // NAT64
		{"64:ff9b::10.0.0.1", private, "another form of 10.0.0.1, a private"},
		{"64:ff9b::169.254.169.254", never, "another form of 169.254.169.254, the address of a cloud's metadata"},
		{"2002:808:808::1", public, ""}, // 6to4
		{"2002:a00:1::1", private, "another form of 10.0.0.1, a private"},
		{"2002:a9fe:a9fe::1", never, "metadata"},
		{"2001:0:808:808::f7f7:f7f7", public, ""}, // Teredo: 8.8.8.8 through 8.8.8.8
		{"2001:0:808:808::f5ff:fffe", private, "another form of 10.0.0.1, a private"},
		{"2001:0:a00:1::f7f7:f7f7", private, "another form of 10.0.0.1, a private"},
		{"2001:0:808:808::5601:5601", never, "metadata"},
	} {
		addr := netip.MustParseAddr(c.addr)
		err := (&Policy{}).Check(addr)
		if (err == nil) != (c.kind == public) {
			t.Errorf("%s: %v, it is %s", c.addr, err, c.kind)
		}
		if refused, is := errors.AsType[*AddressError](err); err != nil && (!is || !strings.Contains(refused.Error(), c.what)) {
			t.Errorf("%s: %v, want an *AddressError with %q", c.addr, err, c.what)
		}
		if err := (&Policy{AllowPrivate: true}).Check(addr); (err == nil) != (c.kind != never) {
			t.Errorf("%s, private ones allowed: %v, it is %s", c.addr, err, c.kind)
		}
		bare := addr.Unmap().WithZone("")
		if err := (&Policy{Allow: []netip.Prefix{netip.PrefixFrom(bare, bare.BitLen())}}).Check(addr); err != nil {
			t.Errorf("%s, allowed by name: %v", c.addr, err)
		}
		if err := (*Policy)(nil).Check(addr); err != nil {
			t.Errorf("%s without a policy: %v", c.addr, err)
		}
	}
	if (&Policy{}).Check(netip.Addr{}) == nil {
		t.Error("no address is allowed")
	}
}

func TestPolicyAllow(t *testing.T) {
	for _, c := range []struct {
		allow, addr string
		want        bool
	}{
		{"10.1.0.0/16", "10.1.2.3", true},
		{"10.1.0.0/16", "10.2.0.1", false},
		{"10.1.0.0/16", "64:ff9b::10.1.2.3", true}, // judged by what is inside
		{"10.1.0.0/16", "::ffff:10.1.2.3", true},
		{"::ffff:10.1.0.0/112", "10.1.2.3", true},
		{"fd00::/8", "fd00:ec2::254", true},
		{"0.0.0.0/0", "169.254.169.254", true},
		{"0.0.0.0/0", "fe80::1", false},
		{"fe80::/10", "fe80::1%eth0", true},
	} {
		p := Policy{Allow: []netip.Prefix{netip.MustParsePrefix(c.allow)}}
		if err := p.Check(netip.MustParseAddr(c.addr)); (err == nil) != c.want {
			t.Errorf("%s with %s: %v", c.addr, c.allow, err)
		}
	}
}

// Whatever way an IPv4 address is written as an IPv6 address, it is judged alike.
func TestPolicyEmbedded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		if v4 == netip.AddrFrom4([4]byte{}) || v4 == netip.AddrFrom4([4]byte{0, 0, 0, 1}) {
			return // :: and ::1 are themselves
		}
		p := Policy{AllowPrivate: rapid.Bool().Draw(t, "private")}
		want := p.Check(v4) == nil
		b := v4.As4()
		for name, addr := range map[string]netip.Addr{
			"mapped":     netip.AddrFrom16(v4.As16()),
			"compatible": ipv6(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b[0], b[1], b[2], b[3]),
			"translated": ipv6(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, b[0], b[1], b[2], b[3]),
			"NAT64":      ipv6(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, b[0], b[1], b[2], b[3]),
			"6to4":       ipv6(0x20, 2, b[0], b[1], b[2], b[3]),
			"Teredo":     ipv6(0x20, 1, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0, ^b[0], ^b[1], ^b[2], ^b[3]),
		} {
			if got := p.Check(addr) == nil; got != want {
				t.Errorf("%s as %s (%s): allowed %t, itself %t", v4, name, addr, got, want)
			}
		}
	})
}

func TestPolicyAsk(t *testing.T) {
	no := errors.New("not on a Sunday")
	var asked []netip.Addr
	p := Policy{Ask: func(a netip.Addr) error {
		asked = append(asked, a)
		if a.Is6() {
			return no
		}
		return nil
	}}
	if err := p.Check(netip.MustParseAddr("::ffff:127.0.0.1")); err != nil || !asked[0].Is4() {
		t.Errorf("%v, asked about %v", err, asked)
	}
	err := p.Check(netip.MustParseAddr("2606:4700::1"))
	if refused, is := errors.AsType[*AddressError](err); !is || !errors.Is(err, no) || refused.Error() != "2606:4700::1 is not allowed: not on a Sunday" {
		t.Errorf("%v", err)
	}
}

// trap is a server that nobody may connect to; its connections are counted.
func trap(t *testing.T) (hostPort string, connections *atomic.Int32) {
	connections = new(atomic.Int32)
	return serve(t, "127.0.0.1:0", func(conn net.Conn) { connections.Add(1); conn.Close() }), connections
}

func TestPolicyAtDial(t *testing.T) {
	address, connections := trap(t)
	port := portOf(t, address)
	refused := func(name string, o Options, target string) {
		t.Helper()
		f, err := get(t, o, target, 10*time.Second)
		if f.Reason != ReasonAddressNotAllowed || f.Local || f.Hint == "" || !strings.Contains(f.Text, "a loopback address") {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if _, is := errors.AsType[*DialError](err); !is {
			t.Errorf("%s: %v is no *DialError", name, err)
		}
	}
	refused("an address", Options{Policy: &Policy{}}, "http://"+address)
	refused("https", Options{Policy: &Policy{}}, "https://"+address)
	refused("localhost", Options{Policy: &Policy{}}, "http://localhost:"+port)
	refused("a name", Options{Policy: &Policy{}, Resolver: resolve("127.0.0.1", "::1")}, "http://mcp.example:"+port)
	refused("a mapped address", Options{Policy: &Policy{}, Resolver: resolve("::ffff:127.0.0.1")}, "http://mcp.example:"+port)
	refused("a mapped literal", Options{Policy: &Policy{}}, "http://[::ffff:127.0.0.1]:"+port)
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// Of the addresses of a name those that are allowed are tried, and no others.
func TestPolicyTriesWhatIsAllowed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	policy := &Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	o := Options{Policy: policy, Resolver: resolve("10.255.255.1", "127.0.0.1", "fe80::1")}
	if _, err := get(t, o, "http://mcp.example:"+u.Port(), 5*time.Second); err != nil {
		t.Error(err)
	}
	f, err := get(t, o, "http://mcp.example:"+portOf(t, closedPort(t)), 5*time.Second)
	if f.Reason != ReasonConnectionRefused || strings.Contains(err.Error(), "10.255") {
		t.Errorf("%+v, %v", f, err)
	}
}

// A name that first resolves to an allowed address and then to another is judged each
// time that it is dialed, and so is where a redirect leads.
func TestPolicyRebindingAndRedirect(t *testing.T) {
	inside, connections := trap(t)
	for name, location := range map[string]string{"another host": "http://" + inside + "/x", "the same name": "/x"} {
		outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				t.Errorf("%s: %s was asked for", name, r.URL)
			}
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, location, http.StatusTemporaryRedirect)
		}))
		defer outside.Close()
		u, err := url.Parse(outside.URL)
		if err != nil {
			t.Fatal(err)
		}
		dials := 0
		policy := &Policy{Ask: func(a netip.Addr) error {
			if dials++; dials > 1 {
				return (&Policy{}).Check(a)
			}
			return nil
		}}
		f, err := get(t, Options{Policy: policy, Resolver: resolve("127.0.0.1")}, "http://mcp.example:"+u.Port()+"/", 10*time.Second)
		if f.Reason != ReasonAddressNotAllowed || dials != 2 {
			t.Errorf("%s: %+v, %v after %d dials", name, f, err, dials)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestPolicyAndProxies(t *testing.T) {
	var throughProxy atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		throughProxy.Add(1)
		_, _ = io.WriteString(w, "from the proxy")
	}))
	defer proxy.Close()
	environ := environment("http_proxy", proxy.URL, "HTTPS_PROXY", proxy.URL)
	u := &url.URL{Scheme: "http", Host: "mcp.example"}
	for _, c := range []struct {
		name   string
		policy *Policy
		want   int32
	}{
		{"no policy", nil, 1},
		{"strict", &Policy{}, 0},
		{"private allowed", &Policy{AllowPrivate: true}, 1},
		{"loopback allowed by name", &Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, 0},
	} {
		throughProxy.Store(0)
		o := Options{Policy: c.policy, Environ: environ, Resolver: resolve("10.0.0.1")}
		if proxy, _ := ProxyFor(o, u); (proxy != nil) != (c.want > 0) {
			t.Errorf("%s: ProxyFor gives %v", c.name, proxy)
		}
		f, err := get(t, o, "http://mcp.example/", 5*time.Second)
		if got := throughProxy.Load(); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %d requests through the proxy, %+v, %v", c.name, got, f, err)
		}
	}
}

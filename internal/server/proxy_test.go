package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// TestTrustedProxy: of what stands in X-Forwarded-For only that counts which trusted
// proxies wrote.
func TestTrustedProxy(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48"), netip.MustParsePrefix("127.0.0.1/32")}
	for _, c := range []struct {
		what      string
		remote    string
		forwarded []string
		want      string
	}{
		{"one proxy", "10.0.0.1:4711", []string{"203.0.113.7"}, "203.0.113.7"},
		{"with a port", "10.0.0.1:4711", []string{"203.0.113.7:55555"}, "203.0.113.7"},
		{"two proxies", "10.0.0.1:4711", []string{"203.0.113.7, 10.9.9.9"}, "203.0.113.7"},
		{"in two headers", "10.0.0.1:4711", []string{"203.0.113.7", "10.9.9.9"}, "203.0.113.7"},
		{"what the client wrote", "10.0.0.1:4711", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		{"a proxy that the client wrote", "10.0.0.1:4711", []string{"198.51.100.1, 10.1.1.1, 203.0.113.7, 10.9.9.9"}, "203.0.113.7"},
		{"what the client wrote in a header of its own", "10.0.0.1:4711", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7"},
		{"from elsewhere", "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9:4711"},
		{"without the header", "10.0.0.1:4711", nil, "10.0.0.1"},
		{"an empty one", "10.0.0.1:4711", []string{""}, "10.0.0.1"},
		{"no address", "10.0.0.1:4711", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"no address before a proxy", "10.0.0.1:4711", []string{"_hidden, 10.9.9.9"}, "10.9.9.9"},
		{"only proxies", "10.0.0.1:4711", []string{"10.2.2.2, 10.9.9.9"}, "10.2.2.2"},
		{"IPv6", "[2001:db8:1::5]:4711", []string{"2001:db8:2::7"}, "2001:db8:2::7"},
		{"IPv6 in brackets", "[2001:db8:1::5]:4711", []string{"[2001:db8:2::7]:80"}, "2001:db8:2::7"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:4711", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		{"a zone", "127.0.0.1:4711", []string{"fe80::1%eth0"}, "fe80::1"},
		{"no port of the proxy", "@", []string{"203.0.113.7"}, "@"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		for _, line := range c.forwarded {
			r.Header.Add("X-Forwarded-For", line)
		}
		for _, other := range []string{"Forwarded", "X-Real-IP", "True-Client-IP", "X-Client-IP"} {
			r.Header.Set(other, "for=192.0.2.66")
		}
		got := ""
		behind(trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		if r.RemoteAddr != c.remote {
			t.Errorf("%s: the server's own request was changed", c.what)
		}
		behind(nil, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.remote {
			t.Errorf("%s, and nobody is trusted: %q", c.what, got)
		}
	}
}

// TestTrustedProxyEverywhere: every handler knows the client, not the proxy, and one
// IPv6 client is one network.
func TestTrustedProxyEverywhere(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var got []string
	noted := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, web.Address(r)) })
	h := New(Deps{
		Store: s, Engine: &fakeEngine{}, People: people.New(s.People(), people.Options{}), API: noted, MCP: noted, Pages: noted,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	})
	for _, path := range []string{"/api/v1/monitors", "/mcp", "/", "/status/x"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr = "192.0.2.1:4711"
		r.Header.Set("X-Forwarded-For", "203.0.113.7, 2001:db8::1:2:3:4")
		serve(h, r)
	}
	if len(got) != 4 {
		t.Fatalf("%d were asked", len(got))
	}
	for _, address := range got {
		if address != "2001:db8::/64" {
			t.Errorf("a client is %q", address)
		}
	}
}

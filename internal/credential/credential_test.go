package credential

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestNetworkOfFilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tls  target.TLS
		text string
	}{
		"no such authority":   {target.TLS{CAFile: filepath.Join(dir, "none.pem")}, "the certificate authority in " + dir},
		"an authority of air": {target.TLS{CAFile: empty}, "it holds no PEM certificate"},
		"a folder":            {target.TLS{CAFile: dir}, "is a directory"},
		"no key":              {target.TLS{CertFile: empty}, "the client certificate in " + empty},
		"not a certificate":   {target.TLS{CertFile: empty, KeyFile: empty}, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, p := Network(c.tls)
			if p == nil || p.Reason != ReasonTLSFiles || !strings.Contains(p.Text, c.text) || p.Hint == "" {
				t.Errorf("%+v does not say %q", p, c.text)
			}
		})
	}
}

func TestGrantTellsItsSecretsToTheRedactor(t *testing.T) {
	t.Setenv("A_CLIENT_SECRET", "s3cret-value-1")
	redact := plain.NewRedactor()
	g, p := Grant(t.Context(), &target.OAuth{Grant: target.ClientCredentials, ClientSecret: target.FromEnv("A_CLIENT_SECRET"), ClientAuth: "client_secret_post"}, redact)
	if p != nil || g.ClientSecret.Reveal() != "s3cret-value-1" || g.ClientAuth != "client_secret_post" {
		t.Fatalf("%+v, %+v", g, p)
	}
	if got := redact.String("x s3cret-value-1 x"); got != "x *** x" {
		t.Error(got)
	}
	_, p = Grant(t.Context(), &target.OAuth{PrivateKey: target.FromFile(filepath.Join(t.TempDir(), "key.pem"))}, redact)
	if p == nil || p.Reason != ReasonUnreadableSecret || !strings.Contains(p.Text, "the private key") {
		t.Errorf("%+v", p)
	}
}

// The client's certificate goes to the endpoint's origin and nowhere else.
func TestTransportKeepsTheCertificateAtHome(t *testing.T) {
	seen := map[string]int{}
	serve := func(name string) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen[name] = len(r.TLS.PeerCertificates) }))
		s.TLS = wanting()
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	home, abroad := serve("home"), serve("abroad")
	endpoint, err := url.Parse(home.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool := rootsOf(home, abroad)
	rt := NewTransport(endpoint, netguard.Options{RootCAs: pool, ClientCertificates: home.TLS.Certificates})
	defer rt.CloseIdleConnections()
	for _, u := range []string{home.URL, abroad.URL} {
		resp, err := (&http.Client{Transport: rt}).Get(u)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if seen["home"] != 1 || seen["abroad"] != 0 {
		t.Errorf("certificates that were shown: %v", seen)
	}
}

package access

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A token request has more time than one for a document: what is given up on may
// have been carried out, and a refresh token that rotates is lost with it.
func TestATokenRequestIsNotGivenUpOnEarly(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond)
		w.WriteHeader(http.StatusOK)
	}))
	defer server.Close()
	u := mustURL(t, server.URL)
	c := HTTP{Timeout: 20 * time.Millisecond}.client()
	if a := c.post(t.Context(), u, url.Values{}, http.Header{}); a.failure != nil {
		t.Errorf("the token request was given up on: %v", a.failure)
	}
	if a := c.get(t.Context(), u); a.failure == nil {
		t.Error("a document was waited for longer than it should be")
	}
}

func TestNobodyIsSentToALinkLocalAddress(t *testing.T) {
	for _, raw := range []string{"https://169.254.169.254/t", "https://[fe80::1]/t", "https://[::ffff:169.254.169.254]/t", "https://0.0.0.0/t", "https://224.0.0.1/t"} {
		for _, loopback := range []bool{false, true} {
			if _, fault := (trust{loopback: loopback}).check(raw); fault == nil || fault.reason != ReasonMetadataLoopback {
				t.Errorf("%s: %+v", raw, fault)
			}
		}
	}
	if _, fault := (trust{}).check("https://10.0.0.1/t"); fault != nil {
		t.Errorf("a private network has servers: %+v", fault)
	}
}

// A login replaces tokens, also those that others could read, and nothing else.
func TestWhatALoginReplaces(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tokens := file("open.json", `{"access_token":"a","issuer":"https://as.example","resource":"https://r.example","client_id":"c"}`, 0o644)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(tokens, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		tokens: true, file("empty", "", 0o600): true, filepath.Join(dir, "new.json"): true,
		link: false, dir: false, file("mcpvigil.yaml", "version: v1\n", 0o600): false, file("other.json", `{"a":1}`, 0o600): false,
	} {
		if problem := (tokenFile{path: path, hint: "x"}).replaceable(); (problem == nil) != want {
			t.Errorf("%s: %+v", filepath.Base(path), problem)
		}
	}
}

// An error names the file that is at fault, not the tokens beside it.
func TestTheFileAtFaultIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(path+".lock", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path+".lock", 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	_, problem := tokenFile{path: path, hint: "log in"}.hold(t.Context())
	if problem == nil || !strings.Contains(problem.Text, "t.json.lock") || strings.HasPrefix(problem.Text, "token file") || problem.Hint == "log in" {
		t.Errorf("%+v", problem)
	}
}

package api_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The examples of the documentation run as they stand.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh( title=setup)?\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	fresh := newWorld(t, open(t, ""))
	token, _, err := fresh.people.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, open(t, "")).populate()
	dir := t.TempDir()
	for _, b := range blocks {
		address := w.url
		if b[1] != "" {
			address = fresh.url
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", b[2])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WATCH="+address, "KEY="+w.credentials["key editor"], "SETUP_TOKEN="+token, "PASSWORD="+password)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), `"code":`) {
			t.Errorf("%v: %s\n%s", err, b[2], out)
		}
	}
}

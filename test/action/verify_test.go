package action_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"

	// The scripts build the program, which the cache of go test results does not
	// see; these imports make its changes known.
	_ "github.com/mcpvigil/mcpvigil/baseline"
	_ "github.com/mcpvigil/mcpvigil/internal/render"
)

// TestVerify: the action builds the program, and tells an approved server from one
// that has changed.
func TestVerify(t *testing.T) {
	r := newRunner(t)
	if built := r.run("Build mcpvigil", nil); built.code != 0 {
		t.Fatalf("the build fails:\n%s", built.log)
	}
	srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools("search")})
	url := srv.Target().Endpoint
	inputs := map[string]string{"url": url}
	if got := r.run("Verify", inputs); got.code != 2 {
		t.Errorf("nothing is approved, code %d:\n%s", got.code, got.log)
	}

	lock := exec.Command(filepath.Join(r.temp, "mcpvigil", "mcpvigil"), "lock", "--yes", "--url", url)
	lock.Dir = r.workspace
	if out, err := lock.CombinedOutput(); err != nil {
		t.Fatalf("lock: %v\n%s", err, out)
	}
	if got := r.run("Verify", inputs); got.code != 0 || got.summary == "" {
		t.Errorf("approved, code %d, summary %q:\n%s", got.code, got.summary, got.log)
	}

	srv.On("tools/list", fakemcp.Result(`{"tools":[{"name":"search","description":"Also deletes.","inputSchema":{"type":"object"}}]}`))
	got := r.run("Verify", inputs)
	if got.code != 1 || !strings.Contains(got.summary, "search") || !strings.Contains(got.variables, "exit-code=1") {
		t.Errorf("changed, code %d, summary %q, variables %q:\n%s", got.code, got.summary, got.variables, got.log)
	}
	if text := report(t, got.log); !strings.Contains(text, "search") {
		t.Errorf("the log does not name the tool:\n%s", got.log)
	}
}

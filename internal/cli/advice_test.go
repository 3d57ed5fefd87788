package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
)

// TestAdviceShowsNoSecrets: a command that is repeated as advice is the same but for
// what only its caller should know.
func TestAdviceShowsNoSecrets(t *testing.T) {
	server := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools("add")})
	args := []string{
		"--url", server.Target().Endpoint + "?api_key=hunter2",
		"--header", "X-Key: hunter2", "--client-name", "it's me", "--lockfile", filepath.Join(t.TempDir(), "mcpvigil.lock"),
	}
	if code, stdout, stderr := runMain(t, append([]string{"lock"}, args...)...); code != exitHealthy {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	server.On("tools/list", fakemcp.Result(`{"tools":[]}`))
	code, stdout, stderr := runMain(t, append([]string{"verify"}, args...)...)
	if code != exitUnhealthy || strings.Contains(stdout+stderr, "hunter2") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"mcpvigil lock ", "--header 'X-Key:***'", `--client-name 'it'\''s me'`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is not in\n%s", want, stdout)
		}
	}
}

func TestShellLine(t *testing.T) {
	for word, want := range map[string]string{
		"a": "p a", "": "p ''", "a b": "p 'a b'", "~/x": "p '~/x'", "#x": "p '#x'", "a#b": "p a#b", "$(x)": "p '$(x)'", "a'b": `p 'a'\''b'`, "*": "p '*'",
	} {
		if got := shellLine("p", []string{word}); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

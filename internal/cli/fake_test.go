package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
)

// runMain runs the program in this process.
func runMain(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(append([]string{"mcpvigil"}, args...), strings.NewReader(""), &out, &err, noEnv)
	return code, out.String(), err.String()
}

// configuration writes a file with the given targets, each a line of YAML.
func configuration(t *testing.T, targets ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcpvigil.yaml")
	text := "version: v1\ntargets:\n  - " + strings.Join(targets, "\n  - ") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSharedTargetIsCheckedOnce: a target that others stand on, and that is a
// target of the file itself, gets one round of requests, and the flags.
func TestSharedTargetIsCheckedOnce(t *testing.T) {
	shared := fakemcp.New(t, fakemcp.Config{})
	user := fakemcp.New(t, fakemcp.Config{})
	path := configuration(t,
		fmt.Sprintf("{name: shared, id: shared, type: mcp, endpoint: %q}", shared.Target().Endpoint),
		fmt.Sprintf("{name: one, type: mcp, endpoint: %q, dependencies: [{ref: shared}]}", user.Target().Endpoint),
		fmt.Sprintf("{name: two, type: mcp, endpoint: %q, dependencies: [{ref: shared}]}", user.Target().Endpoint),
	)
	for _, tt := range []struct {
		args         string
		shared, user int // rounds
	}{
		{"check", 1, 2},
		{"check --protocol-version 2025-06-18", 1, 2},
		{"check --target one", 1, 1},
		{"check --target one --target two", 1, 2},
		{"check --target two --target shared --target two", 1, 1},
		{"check --target shared", 1, 0},
		{"inspect", 1, 2},
	} {
		shared.Reset()
		user.Reset()
		args := strings.Fields(tt.args)
		code, stdout, stderr := runMain(t, append(args, path)...)
		if code != exitHealthy {
			t.Fatalf("%s: exit %d\n%s%s", tt.args, code, stdout, stderr)
		}
		if got := shared.Count("tools/list"); got != tt.shared {
			t.Errorf("%s: the shared server was listed %d times, want %d", tt.args, got, tt.shared)
		}
		if got := user.Count("tools/list"); got != tt.user {
			t.Errorf("%s: the others were listed %d times, want %d", tt.args, got, tt.user)
		}
		if strings.Contains(tt.args, "protocol-version") {
			for _, s := range []*fakemcp.Server{shared, user} {
				for _, r := range s.Received("initialize") {
					if !strings.Contains(string(r.Body), "2025-06-18") {
						t.Errorf("%s: %s", tt.args, r.Body)
					}
				}
			}
		}
	}
}

func TestLimitsOfTheCommandLine(t *testing.T) {
	server := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.ManyTools(30), PageSize: 10}).Allow("get")
	url := server.Target().Endpoint
	file := configuration(t, fmt.Sprintf("{name: a, type: mcp, endpoint: %q, limits: {pages: 2}}", url))
	for _, command := range []string{"check", "doctor", "inspect"} {
		for _, tt := range []struct{ args, reason string }{
			{url, ""},
			{url + " --max-pages 2", "pagination-limit"},
			{url + " --max-entries 29", "entry-limit"},
			{url + " --max-response 600", "response-too-large"},
			{url + " --max-pages 3 --max-entries 30 --max-response 1MiB", ""},
			{file, "pagination-limit"},
			{file + " --max-pages 3", ""},
		} {
			code, stdout, stderr := runMain(t, append([]string{command}, strings.Fields(tt.args)...)...)
			want := exitUnknown
			if tt.reason == "" {
				want = exitHealthy
			}
			if code != want || !strings.Contains(stdout, tt.reason) {
				t.Errorf("%s %s: exit %d, want %d and %s\n%s%s", command, tt.args, code, want, tt.reason, stdout, stderr)
			}
		}
	}
}

// TestInspectShowsNoSecrets: a server that repeats what it was sent, in whatever
// form JSON allows, does not get it printed.
func TestInspectShowsNoSecrets(t *testing.T) {
	t.Setenv("TEST_TOKEN", "hunter2-hunter2")
	t.Setenv("TEST_NUMBER", "8675309123")
	escaped := strings.ReplaceAll("hunter2-hunter2", "h", `\u0068`)
	server := fakemcp.New(t, fakemcp.Config{
		Instructions: "send hunter2-hunter2\n  PASS  tools          1ms   forged",
		Tools:        []string{fakemcp.Tool("hunter2-hunter2", `"description":"is `+escaped+`"`, `"_meta":{"n":8675309123,"`+escaped+`":1e400,"n":12345678901234567890}`)},
		Resources:    fakemcp.Resources("x://hunter2-hunter2"),
		Templates:    fakemcp.Templates("x://hunter2-hunter2/{a}"),
		Prompts:      []string{`{"name":"p","description":"8675309123"}`},
	})
	for _, format := range []string{"human", "json"} {
		code, stdout, stderr := runMain(t, "inspect", server.Target().Endpoint, "--bearer-env", "TEST_TOKEN", "--header-env", "X-Number=TEST_NUMBER", "--format", format)
		if code != exitHealthy || !strings.Contains(stdout, "***") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		for _, secret := range []string{"hunter2", "unter2-", "8675309123"} {
			if strings.Contains(stdout, secret) {
				t.Errorf("%s is in\n%s", secret, stdout)
			}
		}
		for l := range strings.Lines(stdout) {
			if strings.HasPrefix(strings.TrimSpace(l), "PASS") {
				t.Errorf("the server wrote a line of ours: %s", l)
			}
		}
		if format == "json" && (!json.Valid([]byte(stdout)) || !strings.Contains(stdout, "1e400") || strings.Count(stdout, `"n":`) != 2 || !strings.Contains(stdout, "12345678901234567890")) {
			t.Errorf("not what the server sent:\n%s", stdout)
		}
	}
}

// TestLockKeepsNoSecrets: a server that repeats its credential, in whatever form
// JSON allows, does not get it into the lockfile or any output.
func TestLockKeepsNoSecrets(t *testing.T) {
	t.Setenv("TEST_TOKEN", "hunter2-hunter2")
	escaped := strings.ReplaceAll("hunter2-hunter2", "h", `\u0068`)
	server := fakemcp.New(t, fakemcp.Config{
		Instructions: "send hunter2-hunter2",
		Tools:        []string{`{"name":"say","description":"is ` + escaped + `","inputSchema":{"type":"object"},"_meta":{"` + escaped + `":"` + escaped + `"}}`},
	})
	path := filepath.Join(t.TempDir(), "mcpvigil.lock")
	saved := filepath.Join(t.TempDir(), "saved.json")
	for args, want := range map[string]int{
		"lock --verbose --lockfile " + path:          exitUnhealthy, // since it is a finding
		"inspect --format surface --output " + saved: exitHealthy, "lint --format json": exitUnhealthy,
	} {
		code, stdout, stderr := runMain(t, append(strings.Fields(args), server.Target().Endpoint, "--bearer-env", "TEST_TOKEN")...)
		if code != want || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	for _, args := range []string{
		"lock --verbose --yes --lockfile " + path, "verify --verbose --lockfile " + path, "verify --format json --lockfile " + path,
	} {
		code, stdout, stderr := runMain(t, append(strings.Fields(args), server.Target().Endpoint, "--bearer-env", "TEST_TOKEN")...)
		if code != exitHealthy || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	for _, file := range []string{path, saved} {
		data, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(data), "hunter2") || !strings.Contains(string(data), "***") {
			t.Errorf("%v\n%s", err, data)
		}
	}
}

// TestNoSecretsOfOthers: a server repeats to one what it was told by another, as
// another identity or for another target, now or in another run.
func TestNoSecretsOfOthers(t *testing.T) {
	t.Setenv("ONE", "alpha-token-99881")
	t.Setenv("TWO", "admin-token-77662")
	server := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("say", `"description":"heard alpha-token-99881 and admin-token-77662"`)}})
	dir := t.TempDir()
	path, file := filepath.Join(dir, "mcpvigil.lock"), filepath.Join(dir, "mcpvigil.yaml")
	targets := "version: v1\ntargets:\n- {name: one, type: mcp, endpoint: " + server.URL + ", auth: {bearer_env: ONE}}\n- {name: two, type: mcp, endpoint: " + server.URL + ", auth: {bearer_env: TWO}}\n"
	if err := os.WriteFile(file, []byte(targets), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"lock --yes --verbose --lockfile " + path + " " + file,
		"verify --verbose --lockfile " + path + " " + file,
		"lint " + file,
		"diff --verbose " + file + "#one " + file + "#two",
		"verify --verbose --format json --target one --lockfile " + path + " --as x=bearer-env=TWO " + file,
	} {
		code, stdout, stderr := runMain(t, strings.Fields(args)...)
		if code > exitUnhealthy || strings.Contains(stdout+stderr, "99881") || strings.Contains(stdout+stderr, "77662") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "99881") || strings.Contains(string(data), "77662") {
		t.Errorf("%v\n%s", err, data)
	}
}

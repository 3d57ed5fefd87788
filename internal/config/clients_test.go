package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/target"
)

const secret = "s3cr3t-value-in-the-file"

// writeFile writes text to a path below dir and returns the whole path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// describe writes a server as one line; DIR stands for dir.
func describe(s ClientServer, dir string) string {
	t := s.Target
	parts := []string{s.Name, string(t.Kind())}
	if s.Project != "" {
		parts = append(parts, "project="+s.Project)
	}
	if s.Disabled {
		parts = append(parts, "disabled")
	}
	if t.Endpoint != "" {
		parts = append(parts, t.Endpoint)
	}
	for _, h := range t.Headers {
		parts = append(parts, fmt.Sprintf("%s: %s<%s>", h.Name, h.Prefix, h.Value.Origin()))
	}
	if c := t.Command; c != nil {
		parts = append(parts, fmt.Sprintf("%s %q", c.Path, c.Args))
		if c.Dir != "" {
			parts = append(parts, "in "+c.Dir)
		}
		for _, e := range c.Env {
			parts = append(parts, fmt.Sprintf("%s=<%s>", e.Name, e.Value.Origin()))
		}
		if c.ShownArgs != nil {
			parts = append(parts, fmt.Sprintf("shown %q", c.ShownArgs))
		}
	}
	if t.Budgets.Startup != 0 {
		parts = append(parts, "startup "+t.Budgets.Startup.String())
	}
	if p := t.Problem; p != nil {
		parts = append(parts, "! "+p.Reason+": "+p.Text)
	}
	return strings.ReplaceAll(strings.Join(parts, " | "), dir, "DIR")
}

var clientCases = []struct {
	path, client, text string
	want               []string
}{
	{"Claude/claude_desktop_config.json", "Claude Desktop", `{
		// comments and trailing commas are accepted
		"globalShortcut": "",
		"mcpServers": {
			"github": {"command": "docker", "args": ["run", "-i", "-e", "GITHUB_TOKEN=` + secret + `", "ghcr.io/x"], "env": {"GITHUB_TOKEN": "` + secret + `", "EMPTY": ""}},
			"literal": {"command": "${NOT_REPLACED}", "args": [],},
			"broken": {"command": "x", "args": "not a list"},
			"worse": 5,
			"env": {"command": "x", "env": {"A": 1}},
			"none": {},
			"odd": {"type": "websocket", "url": "wss://x"},
		},
	}`, []string{
		`github | stdio | docker ["run" "-i" "-e" "GITHUB_TOKEN=s3cr3t-value-in-the-file" "ghcr.io/x"] | GITHUB_TOKEN=<a literal value> | shown ["run" "-i" "-e" "GITHUB_TOKEN=***" "ghcr.io/x"]`,
		`literal | stdio | ${NOT_REPLACED} []`,
		`broken | stdio | x [] | ! invalid-entry: DIR/Claude/claude_desktop_config.json:7:39: server "broken": "args" must be a list of strings`,
		`worse | http | ! invalid-entry: DIR/Claude/claude_desktop_config.json:8:13: server "worse": the entry must be an object`,
		`env | stdio | x [] | ! invalid-entry: DIR/Claude/claude_desktop_config.json:9:35: server "env": "env" must be an object of strings`,
		`none | http | ! invalid-entry: DIR/Claude/claude_desktop_config.json:10:12: server "none": it has neither a command nor a url`,
		`odd | http | wss://x | ! invalid-entry: DIR/Claude/claude_desktop_config.json:11:20: server "odd": its type "websocket" is not one that mcpvigil knows`,
	}},
	{".claude.json", "Claude Code", `{
		"numStartups": 5,
		"mcpServers": {"linear": {"type": "sse", "url": "https://mcp.linear.app/sse"}},
		"projects": {
			"/src/app": {"allowedTools": [], "mcpServers": {
				"db": {"type": "stdio", "command": "${RUNNER:-npx}", "args": ["-y", "db", "--url=${DB_URL}"], "env": {"PGPASSWORD": "${PGPASSWORD}", "MODE": "x-${RUNNER:-y}"}},
				"api": {"type": "http", "url": "${BASE:-https://api.example}/mcp", "headers": {"Authorization": "Bearer ${API_KEY}", "X-Other": "` + secret + `"}}
			}},
			"/src/none": {}
		}
	}`, []string{
		`linear | sse | https://mcp.linear.app/sse`,
		`db | stdio | project=/src/app | npx ["-y" "db" "--url=postgres://u:s3cr3t@h/d"] | in /src/app | MODE=<a literal value> | PGPASSWORD=<environment variable PGPASSWORD> | shown ["-y" "db" "--url=${DB_URL}"] | ! missing-variable: DIR/.claude.json:6:121: server "db": environment variable PGPASSWORD is not set`,
		`api | http | project=/src/app | https://api.example/mcp | Authorization: Bearer <environment variable API_KEY> | X-Other: <a literal value>`,
	}},
	{"repo/.mcp.json", "Claude Code", `{"mcpServers": {"a": {"command": "./run.sh"}}}`, []string{
		`a | stdio | ./run.sh [] | in DIR/repo`,
	}},
	{"repo/.cursor/mcp.json", "Cursor", `{"mcpServers": {
		"remote": {"url": "https://x.example/mcp", "headers": {"X-Key": "${env:API_KEY}"}},
		"old": {"url": "https://x.example/sse/"},
		"local": {"command": "node", "args": ["${workspaceFolder}/s.js", "${userHome}"], "cwd": "sub", "envFile": ".env"}
	}}`, []string{
		`remote | http | https://x.example/mcp | X-Key: <environment variable API_KEY>`,
		`old | sse | https://x.example/sse/`,
		`local | stdio | node ["DIR/repo/s.js" "/home/u"] | in DIR/repo/sub | FROM_FILE=<a literal value> | QUOTED=<a literal value>`,
	}},
	{"repo/.vscode/mcp.json", "VS Code", `{
		"inputs": [{"type": "promptString", "id": "api-key", "password": true}],
		"servers": {
			"gh": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${input:api-key}"}},
			"fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch", "${env:API_KEY}"], "dev": {"watch": "x"}}
		}
	}`, []string{
		`gh | http | https://api.githubcopilot.com/mcp/ | Authorization: Bearer <environment variable INPUT_API_KEY> | ! missing-variable: DIR/repo/.vscode/mcp.json:4:101: server "gh": environment variable INPUT_API_KEY is not set`,
		`fetch | stdio | uvx ["mcp-server-fetch" "k"] | in DIR/repo | shown ["mcp-server-fetch" "${API_KEY}"]`,
	}},
	{"Code/User/settings.json", "VS Code", `{"editor.x": 1, /* c */ "mcp": {"servers": {"a": {"command": "x"}}}}`, []string{`a | stdio | x []`}},
	{"dotted/settings.json", "VS Code", `{"mcp.servers": {"a": {"command": "x"}}}`, []string{`a | stdio | x []`}},
	{".codeium/windsurf/mcp_config.json", "Windsurf", `{"mcpServers": {
		"figma": {"serverUrl": "https://figma.example/sse", "disabled": true},
		"w": {"serverUrl": "https://w.example/mcp"}
	}}`, []string{`figma | sse | disabled | https://figma.example/sse`, `w | http | https://w.example/mcp`}},
	{".codex/config.toml", "Codex", `
model = "x"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
cwd = "/w"
env_vars = ["API_KEY"]
startup_timeout_sec = 20.5
[mcp_servers.docs.env]
KEY = "` + secret + `"
[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "API_KEY"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Api" = "API_KEY" }
enabled = false
[mcp_servers.bad]
command = ["x"]
`, []string{
		`bad | stdio |  [] | ! invalid-entry: DIR/.codex/config.toml:18:1: server "bad": "command" must be a string`,
		`docs | stdio | npx ["-y" "docs"] | in /w | API_KEY=<environment variable API_KEY> | KEY=<a literal value> | startup 20.5s`,
		`figma | http | disabled | https://mcp.figma.example/mcp | Authorization: Bearer <environment variable API_KEY> | X-Region: <a literal value> | X-Api: <environment variable API_KEY>`,
	}},
	{".gemini/settings.json", "Gemini CLI", `{"theme": "x", "mcpServers": {
		"h": {"httpUrl": "https://g.example/mcp", "headers": {"Authorization": "Bearer $API_KEY"}, "timeout": 5000, "trust": false},
		"s": {"url": "https://g.example/events"},
		"c": {"command": "$RUN", "args": ["$$"], "cwd": "/g"}
	}}`, []string{
		`h | http | https://g.example/mcp | Authorization: Bearer <environment variable API_KEY>`,
		`s | sse | https://g.example/events`,
		`c | stdio |  ["$$"] | in /g | ! missing-variable: DIR/.gemini/settings.json:4:20: server "c": environment variable RUN is not set`,
	}},
	{"zed/settings.json", "Zed", `{"context_servers": {
		"old": {"source": "custom", "command": {"path": "p", "args": ["a"], "env": {"K": "` + secret + `"}}},
		"new": {"command": "p", "args": [], "enabled": false}
	}}`, []string{`old | stdio | p ["a"] | K=<a literal value>`, `new | stdio | disabled | p []`}},
	{"cline_mcp_settings.json", "Cline", `{"mcpServers": {"r": {"type": "streamableHttp", "url": "https://r.example/sse", "autoApprove": []}}}`, []string{`r | http | https://r.example/sse`}},
	{"anything.json", "MCP client", `{"mcpServers": {"a": {"url": "https://u:` + secret + `@x.example/mcp?api_key=` + secret + `&b=1"}, "b": {"type": "stdio", "url": "https://x"}}}`, []string{
		`a | http | https://u:` + secret + `@x.example/mcp?api_key=` + secret + `&b=1`,
		`b | http | https://x | ! invalid-entry: DIR/anything.json:1:134: server "b": its type is stdio, but it has no command`,
	}},
}

func clientEnv(string) func(string) (string, bool) {
	return env("API_KEY", "k", "DB_URL", "postgres://u:s3cr3t@h/d", "HOME", "/home/u")
}

func TestReadClients(t *testing.T) {
	for _, c := range clientCases {
		t.Run(c.path, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir, "repo/.env", "# x\nexport FROM_FILE="+secret+"\nQUOTED='x y'\nEMPTY=\nnothing\n")
			f, err := ReadClientsWith(writeFile(t, dir, c.path, c.text), Options{LookupEnv: clientEnv(dir)})
			if err != nil {
				t.Fatal(err)
			}
			if f.Client != c.client {
				t.Errorf("client %q, want %q", f.Client, c.client)
			}
			var got []string
			for _, s := range f.Servers {
				got = append(got, describe(s, dir))
				if strings.Contains(s.Target.Address(), secret) || strings.Contains(fmt.Sprintf("%+v", s.Target.Problem), secret) {
					t.Errorf("%s shows a secret: %s", s.Name, s.Target.Address())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadClientsRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"a.json": {`{"mcpServers": {"a": ` + secret, " is not valid JSON at line 1, column 22"},
		"b.json": {`{"mcpServers": []}`, `:1:16: "mcpServers" must be an object with one member a server`},
		"c.json": {strings.Repeat(`{"a":`, 2000), " is nested more than 1000 deep"},
		"d.toml": {"a = " + secret, " is neither JSON nor valid TOML at line 1, column 5"},
		"e.toml": {"mcp_servers = 5", ":1:1: mcp_servers must be a table with one entry a server"},
	} {
		path := writeFile(t, dir, name, c.text)
		_, err := ReadClients(path)
		if err == nil || err.Error() != path+c.want {
			t.Errorf("%v, want %s", err, path+c.want)
		}
	}
	for _, text := range []string{"{}", "a = 1", `{"servers": {}}`, ""} {
		if _, err := ReadClients(writeFile(t, dir, "none", text)); !errors.Is(err, ErrNoServers) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ReadClients(filepath.Join(dir, "absent")); err == nil || !strings.Contains(err.Error(), "does not exist; check the path") {
		t.Error(err)
	}
}

// TestClientPlaces: problems and warnings say where they are, in every way a
// file may be written.
func TestClientPlaces(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"bom.json":  {"\xef\xbb\xbf\n\n{ /* ü */ \"mcpServers\": {\"a\": {\"command\": 5}}}", `3:43: server "a": "command" must be a string`},
		"crlf.json": {"{\r\n  \"mcpServers\": {\r\n    \"ü\": {\"env\": {\"A\": \"${GONE}\"}, \"command\": \"x\"}\r\n}}", `3:24: server "\u00fc": environment variable GONE is not set`},
		"typo.json": {`{"mcpServers": {"a": {"comand": "x"}}}`, `1:33: server "a": it has neither a command nor a url (did you mean "command" by "comand"?); 1:33: server "a": unknown member "comand"; did you mean "command"?`},
		"none.json": {`{"mcpServers": {"a": {}}}`, `1:22: server "a": it has neither a command nor a url (add one of them in an MCP client's configuration)`},
		"more.json": {
			`{"mcpServers": {"a": {"url": "https://x.example", "header": {}, "Environment": {}, "environment": {}, "timeout": 5, "x-own": 1}}}`,
			`; 1:80: server "a": unknown member "Environment"; did you mean "env"?; 1:99: server "a": unknown member "environment"; did you mean "env"?; 1:61: server "a": unknown member "header"; did you mean "headers"?`,
		},
		"off.json":     {`{"mcpServers": {"a": {"disabled": true, "comand": "x", "command": "x"}}}`, ``},
		"program.json": {`{"mcpServers": {"a": {"command": "npx -y server", "cwd": "/"}}}`, `; 1:34: server "a": command "npx -y server" is not found; it has spaces in it, and no shell splits it; write the program alone, and what follows it into args`},
		"a.toml":       {"[mcp_servers.a]\ncommand = 'gone'\ncwd = '/none/of it'\n", `; 3:1: server "a": directory "/none/of it" does not exist; create it, or change the path; 2:1: server "a": command "gone" is not on PATH; install it, or give its path`},
		"inline.toml":  {"mcp_servers.a = { url = 'https://x.example', bearer_token_env_var = 'a b' }", `1:13: server "a": the name of an environment variable was expected, not a value`},
	} {
		path := writeFile(t, dir, name, c.text)
		f, err := ReadClientsWith(path, Options{LookupEnv: env()})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if p := f.Servers[0].Target.Problem; p != nil {
			got = p.Text
			if strings.Contains(p.Text, "neither") {
				got += " (" + p.Hint + ")"
			}
		}
		for _, w := range f.Warnings {
			got += "; " + w.String()
		}
		if got = strings.ReplaceAll(got, path+":", ""); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestFindClients(t *testing.T) {
	for goos, files := range map[string]map[string]string{
		"linux": {
			"home/.config/Claude/claude_desktop_config.json": "Claude Desktop", "home/.claude.json": "Claude Code", "home/.cursor/mcp.json": "Cursor",
			"home/.config/Code/User/mcp.json": "VS Code", "home/.codeium/windsurf/mcp_config.json": "Windsurf", "home/.codex/config.toml": "Codex",
			"home/.gemini/settings.json": "Gemini CLI", "home/.config/zed/settings.json": "Zed",
			"cwd/.mcp.json": "Claude Code", "cwd/.vscode/mcp.json": "VS Code", "cwd/.vscode/settings.json": "VS Code", "cwd/.cursor/mcp.json": "Cursor", "cwd/.gemini/settings.json": "Gemini CLI",
		},
		"darwin": {
			"home/Library/Application Support/Claude/claude_desktop_config.json":                                               "Claude Desktop",
			"home/Library/Application Support/Code/User/mcp.json":                                                              "VS Code",
			"home/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": "Cline",
		},
		"windows": {"roaming/Claude/claude_desktop_config.json": "Claude Desktop", "roaming/Zed/settings.json": "Zed", "home/.codex/config.toml": "Codex"},
	} {
		dir := t.TempDir()
		for path := range files {
			writeFile(t, dir, path, "{}")
		}
		if err := os.MkdirAll(filepath.Join(dir, "cwd/.codex/config.toml"), 0o755); err != nil { // a directory is not a file
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, f := range FindClients(filepath.Join(dir, "home"), filepath.Join(dir, "cwd"), func(name string) string {
			if name == "APPDATA" {
				return filepath.Join(dir, "roaming")
			}
			return ""
		}, goos) {
			rel, err := filepath.Rel(dir, f.Path)
			if err != nil {
				t.Fatal(err)
			}
			got[filepath.ToSlash(rel)] = f.Client
		}
		if diff := cmp.Diff(files, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", goos, diff)
		}
	}
	if got := FindClients("", "", nil, "linux"); len(got) != 0 {
		t.Errorf("without a home: %v", got)
	}
}

// TestImport: what is read from every client's file can be written, holds no
// secret, and reads back as the same servers.
func TestImport(t *testing.T) {
	for _, c := range clientCases {
		t.Run(c.path, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir, "repo/.env", "FROM_FILE="+secret)
			f, err := ReadClientsWith(writeFile(t, dir, c.path, c.text), Options{LookupEnv: clientEnv(dir)})
			if err != nil {
				t.Fatal(err)
			}
			var all []*target.Target
			for _, s := range f.Servers {
				all = append(all, s.Target)
			}
			text, refs, err := ImportServers(f.Servers...)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{secret, "s3cr3t"} {
				if strings.Contains(string(text), s) || strings.Contains(fmt.Sprint(refs), s) {
					t.Fatalf("the result shows a secret:\n%s\n%v", text, refs)
				}
			}
			var values []string
			for _, r := range refs {
				if value, ok := clientEnv(dir)(r.Variable); ok {
					values = append(values, r.Variable, value)
				} else if r.Inline {
					values = append(values, r.Variable, secret)
				}
			}
			back, err := Parse("mcpvigil.yaml", text, Options{LookupEnv: env(values...)})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			byName := map[string]*target.Target{}
			for _, b := range back.Targets {
				byName[b.Name] = b
			}
			for _, s := range all {
				if b := byName[s.Name]; b != nil {
					sameServer(t, s, b)
				} else if s.Problem == nil {
					t.Errorf("%s is missing in\n%s", s.Name, text)
				}
			}
			if err := compileSchema(t).Validate(asJSON(t, text)); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// sameServer compares what a written target has with what it was made from;
// secrets only by their place.
func sameServer(t *testing.T, want, got *target.Target) {
	t.Helper()
	if got.Problem != nil && got.Problem.Reason != ReasonMissingVariable && want.Validate() == nil {
		t.Errorf("%s: %+v", got.Name, got.Problem)
	}
	if got.Kind() != want.Kind() || len(got.Headers) != len(want.Headers) {
		t.Errorf("%s: %+v, want %+v", got.Name, got, want)
		return
	}
	for i, h := range got.Headers {
		if h.Name != want.Headers[i].Name || h.Prefix != want.Headers[i].Prefix || h.Value.Variable() == "" {
			t.Errorf("%s: header %+v, want %+v", got.Name, h, want.Headers[i])
		}
	}
	if want.Command == nil {
		if got.Endpoint != want.Endpoint {
			t.Errorf("%s: endpoint %s, want %s", got.Name, got.Endpoint, want.Endpoint)
		}
		return
	}
	a, b := want.Command, got.Command
	if a.Path != b.Path || a.Dir != b.Dir || len(a.Args) != len(b.Args) || len(a.Env) != len(b.Env) || want.Budgets.Startup != got.Budgets.Startup {
		t.Errorf("%s: %+v, want %+v", got.Name, b, a)
		return
	}
	for i := range a.Args {
		if a.Args[i] != b.Args[i] && a.Args[i] != "k" { // k is replaced by the value of the round trip
			t.Errorf("%s: argument %q, want %q", got.Name, b.Args[i], a.Args[i])
		}
	}
}

func TestImportReferences(t *testing.T) {
	github := &target.Target{Name: "github", Command: &target.Command{
		Path: "docker", Args: []string{"--header", "Authorization: Bearer " + secret, "--api-key=" + secret, "--token", secret, "sk-abcdef0123456789abcdef", "${literal}", "on: yes"},
		Env: []target.EnvVar{{Name: "GITHUB_TOKEN", Value: target.Literal(secret)}, {Name: "KEPT", Value: target.FromEnv("MINE")}},
	}}
	remote := &target.Target{
		Name: "github", Endpoint: "https://x.example/mcp?api_key=" + secret,
		Headers: []target.Header{{Name: "X-API-Key", Value: target.Literal(secret)}, {Name: "X-File", Value: target.FromFile("/run/x")}},
	}
	bad := &target.Target{Name: "bad\nversion: v2", Endpoint: ""}
	text, refs, err := Import(github, remote, bad, &target.Target{Name: "sse", Endpoint: "http://localhost/sse", Transport: target.SSE, Headers: []target.Header{target.Bearer(target.Literal(secret))}})
	if err != nil {
		t.Fatal(err)
	}
	want := `# yaml-language-server: $schema=` + SchemaID + `
# Left out: "bad\nversion: v2": a target has no endpoint
# Set before a check:
#   GITHUB_AUTHORIZATION (github, argument 2): the value in the client's file
#   GITHUB_API_KEY (github, argument 3): the value in the client's file
#   GITHUB_TOKEN (github, argument 5): the value in the client's file
#   GITHUB_SECRET (github, argument 6): the value in the client's file
#   GITHUB_TOKEN_2 (github, variable GITHUB_TOKEN): the value in the client's file
#   MINE (github, variable KEPT): the same variable as in the client's file
#   GITHUB_API_KEY_2 (github, the endpoint): the value in the client's file
#   GITHUB_X_API_KEY (github, header X-API-Key): the value in the client's file
#   SSE_TOKEN (sse, header Authorization): the value in the client's file
version: v1
targets:
  - name: github
    type: mcp
    endpoint: stdio://github
    mcp:
      transport: stdio
      stdio:
        command: docker
        args: [--header, 'Authorization: Bearer ${GITHUB_AUTHORIZATION}', '--api-key=${GITHUB_API_KEY}', --token, '${GITHUB_TOKEN}', '${GITHUB_SECRET}', '$${literal}', 'on: yes']
        env:
          GITHUB_TOKEN: GITHUB_TOKEN_2
          KEPT: MINE
  - name: github (2)
    type: mcp
    endpoint: https://x.example/mcp?api_key=${GITHUB_API_KEY_2}
    auth:
      headers:
        - name: X-API-Key
          value_env: GITHUB_X_API_KEY
        - name: X-File
          value_file: /run/x
  - name: sse
    type: mcp
    endpoint: http://localhost/sse
    auth:
      bearer_env: SSE_TOKEN
    mcp:
      transport: sse
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(refs) != 9 || refs[5] != (Reference{Variable: "MINE", Target: "github", For: "variable KEPT", Source: "the same variable as in the client's file"}) || refs[0] != (Reference{"GITHUB_AUTHORIZATION", "github", "argument 2", true, "the value in the client's file"}) {
		t.Errorf("%+v", refs)
	}
	if _, _, err := Import(); err == nil {
		t.Error("nothing was imported without an error")
	}
}

// TestImportCarriesReferences: what a client's file refers to is referred to in
// the result, and what cannot be is said.
func TestImportCarriesReferences(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "repo/.env", "FROM_FILE="+secret)
	for name, c := range map[string]struct{ text, want string }{
		"repo/.vscode/mcp.json": {`{"servers": {
			"github": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${input:github-token}", "X-Region": "eu"}},
			"local": {"command": "${env:RUNNER}", "args": ["${workspaceFolder}/s.js", "--key=${input:api}", "--url=https://u:` + secret + `@h:${env:PORT}/", "${command:pick}"], "cwd": "sub",
				"envFile": "${workspaceFolder}/.env", "env": {"ROOT": "${workspaceFolder}/data", "GITHUB": "${env:LOGIN}:x"}},
			"lost": {"command": "x", "envFile": "none.env"},
			"odd": {"command": 5}}}`, `# Left out of "local": what only the client can replace: a ${…} in args
# Left out of "local": envFile "DIR/repo/.env"; its variables are referred to, one by one, under env
# Left out of "lost": envFile "DIR/repo/none.env", which does not exist
# Left out: "odd": DIR/repo/.vscode/mcp.json:6:23: server "odd": "command" must be a string
# Set before a check:
#   INPUT_GITHUB_TOKEN (github, header Authorization): what VS Code's file calls ${input:github-token}
#   GITHUB_X_REGION (github, header X-Region): the value in VS Code's file
#   RUNNER (local, the command): the same variable as in VS Code's file
#   INPUT_API (local, argument 2): what VS Code's file calls ${input:api}
#   LOCAL_PASSWORD (local, argument 3): the value in VS Code's file
#   PORT (local, argument 3): the same variable as in VS Code's file
#   LOCAL_FROM_FILE (local, variable FROM_FILE): the value in "DIR/repo/.env"
#   LOCAL_GITHUB (local, variable GITHUB): what stands in VS Code's file, made up of LOGIN
#   LOCAL_ROOT (local, variable ROOT): "DIR/repo/data"
version: v1
targets:
  - name: github
    type: mcp
    endpoint: https://x.example/mcp
    auth:
      headers:
        - name: Authorization
          value_env: INPUT_GITHUB_TOKEN
          prefix: 'Bearer '
        - name: X-Region
          value_env: GITHUB_X_REGION
  - name: local
    type: mcp
    endpoint: stdio://local
    mcp:
      transport: stdio
      stdio:
        command: ${RUNNER}
        args: [DIR/repo/s.js, '--key=${INPUT_API}', '--url=https://u:${LOCAL_PASSWORD}@h:${PORT}/', '$${command:pick}']
        directory: DIR/repo/sub
        env:
          FROM_FILE: LOCAL_FROM_FILE
          GITHUB: LOCAL_GITHUB
          ROOT: LOCAL_ROOT
  - name: lost
    type: mcp
    endpoint: stdio://lost
    mcp:
      transport: stdio
      stdio:
        command: x
        directory: DIR/repo
`},
		"p/.mcp.json": {`{"mcpServers": {
			"api": {"type": "http", "url": "${BASE:-https://api.example}/mcp?key=` + secret + `&v=${V:-1}", "headers": {"X-A": "${A:-` + secret + `}", "Authorization": "Bearer ${T}"}},
			"db": {"command": "${RUN:-./run}", "args": ["--url=${DB:-postgres://u:` + secret + `@h/d}", "--token", "${TOKEN:-` + secret + `}", "${MODE:-fast} x"], "cwd": "${SUB:-sub}/x"},
			"api mcp": {"command": "x", "cwd": "sub/${SUB}", "env": {"MCP_TOKEN": "` + secret + `", "TOKEN": "` + secret + `"}}}}`, `# Set before a check:
#   BASE (api, the endpoint): the same variable as in Claude Code's file
#   API_KEY (api, the endpoint): the value in Claude Code's file
#   V (api, the endpoint): the same variable as in Claude Code's file
#   T (api, header Authorization): the same variable as in Claude Code's file
#   API_X_A (api, header X-A): that of A, or the default that stands in Claude Code's file
#   RUN (db, the command): the same variable as in Claude Code's file
#   DB (db, argument 1): the same variable as in Claude Code's file
#   DB_TOKEN (db, argument 3): the value in Claude Code's file
#   MODE (db, argument 4): the same variable as in Claude Code's file
#   SUB (db, the directory; api mcp, the directory): the same variable as in Claude Code's file
#   API_MCP_TOKEN (api mcp, variable MCP_TOKEN): the value in Claude Code's file
#   API_MCP_TOKEN_2 (api mcp, variable TOKEN): the value in Claude Code's file
version: v1
targets:
  - name: api
    type: mcp
    endpoint: ${BASE:-https://api.example}/mcp?key=${API_KEY}&v=${V:-1}
    auth:
      headers:
        - name: Authorization
          value_env: T
          prefix: 'Bearer '
        - name: X-A
          value_env: API_X_A
  - name: db
    type: mcp
    endpoint: stdio://db
    mcp:
      transport: stdio
      stdio:
        command: ${RUN:-./run}
        args: ['--url=${DB}', --token, '${DB_TOKEN}', '${MODE:-fast} x']
        directory: DIR/p/${SUB:-sub}/x
  - name: api mcp
    type: mcp
    endpoint: stdio://api-mcp
    mcp:
      transport: stdio
      stdio:
        command: x
        directory: DIR/p/sub/${SUB}
        env:
          MCP_TOKEN: API_MCP_TOKEN
          TOKEN: API_MCP_TOKEN_2
`},
		// Without a folder, its name becomes a variable; a relative cwd starts at
		// the client's file.
		"Code/User/mcp.json": {`{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}/s", "${workspaceFolderBasename}"], "cwd": "sub", "env": {"ROOT": "${workspaceFolder}"}}}}`, `# Set before a check:
#   WORKSPACE_FOLDER (a, argument 1; a, variable ROOT): what VS Code's file calls ${workspaceFolder}
#   WORKSPACE_FOLDER_BASENAME (a, argument 2): what VS Code's file calls ${workspaceFolderBasename}
version: v1
targets:
  - name: a
    type: mcp
    endpoint: stdio://a
    mcp:
      transport: stdio
      stdio:
        command: x
        args: ['${WORKSPACE_FOLDER}/s', '${WORKSPACE_FOLDER_BASENAME}']
        directory: DIR/Code/User/sub
        env:
          ROOT: WORKSPACE_FOLDER
`},
		// The user's own file is not a project's.
		"home/.cursor/mcp.json": {`{"mcpServers": {"a": {"command": "${userHome}/x"}}}`, `version: v1
targets:
  - name: a
    type: mcp
    endpoint: stdio://a
    mcp:
      transport: stdio
      stdio:
        command: DIR/home/x
`},
		"q/.gemini/settings.json": {`{"mcpServers": {"a": {"command": "$RUN", "cwd": "sub"}}}`, `# Set before a check:
#   RUN (a, the command): the same variable as in Gemini CLI's file
version: v1
targets:
  - name: a
    type: mcp
    endpoint: stdio://a
    mcp:
      transport: stdio
      stdio:
        command: ${RUN}
        directory: DIR/q/sub
`},
	} {
		f, err := ReadClientsWith(writeFile(t, dir, name, c.text), Options{LookupEnv: env("HOME", dir+"/home", "PORT", "1", "BASE", "https://"+secret)})
		if err != nil {
			t.Fatal(err)
		}
		text, refs, err := ImportServers(f.Enabled()...)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(strings.ReplaceAll(string(text), dir, "DIR"), "\n")
		if diff := cmp.Diff(c.want, body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		// Every variable that the result refers to is listed.
		listed := map[string]string{}
		for _, r := range refs {
			listed[r.Variable] = "set"
			if r.Source == "" || r.For == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		asked := func(variable string) (string, bool) {
			if listed[variable] == "" {
				t.Errorf("%s: %s is not listed", name, variable)
			}
			return "set", true
		}
		if _, err := Parse("mcpvigil.yaml", text, Options{LookupEnv: asked}); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestLooksSecret(t *testing.T) {
	for _, s := range []string{
		"ghp_0123456789abcdefghij0123456789abcdef", "sk-proj-abcdefghijkl", "xoxb-1234-abcd", "eyJhbGciOiJIUzI1NiJ9.e30.x", "AKIAIOSFODNN7EXAMPLE", "github_pat_11AAAA",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "4f2a9c81d3e64b7fa0c5e8d1b2a39f60",
	} {
		if !LooksSecret(s) {
			t.Errorf("%s passes for no secret", s)
		}
	}
	for _, s := range []string{
		"@modelcontextprotocol/server-filesystem", "SEARCH_TOKEN", "LEGACY_HOST", "https://mcp.example.com/mcp", "550e8400-e29b-41d4-a716-446655440000",
		"/usr/local/lib/node_modules/some-very-long-package-name/dist/index.js", "mcp/github@sha256:4f2a9c81d3e64b7fa0c5e8d1b2a39f604f2a9c81d3e64b7fa0c5e8d1b2a39f60",
		"io.modelcontextprotocol/protocolVersion", "MY_COMPANY_PRODUCTION_SEARCH_SERVICE_TOKEN", "required_tools",
	} {
		if LooksSecret(s) {
			t.Errorf("%s passes for a secret", s)
		}
	}
}

func TestShownArgs(t *testing.T) {
	for in, want := range map[string]string{
		"--api-key x":                      "--api-key ***",
		"--apiKey x":                       "--apiKey ***",
		"--token=x -v":                     "--token=*** -v",
		"-e TOKEN=x -e MODE=fast":          "-e TOKEN=*** -e MODE=fast",
		"-y pkg@1.2.3 --port 80":           "-y pkg@1.2.3 --port 80",
		"postgres://u:p@h/d":               "postgres://u:***@h/d",
		"--db=postgres://u:p@h/d":          "--db=postgres://u:***@h/d",
		"https://h/m?token=x&y=1":          "https://h/m?token=***&y=1",
		"https://h/s/9f8E7d6C5b4A3f2E1d0c": "https://h/s/***",
		"--header X-API-Key:x":             "--header X-API-Key:***",
		"--token --verbose":                "--token --verbose",
		"Authorization:x":                  "Authorization:***",
		"GITHUB_TOKEN=x npx a":             "GITHUB_TOKEN=*** npx a",
		"MODE=x npx a":                     "MODE=x npx a",
		"-u me:x":                          "-u me:***",
		"--user 1000:1000":                 "--user 1000:1000",
		"--allow key=value":                "--allow key=value",
	} {
		args := strings.Fields(in)
		given := slices.Clone(args)
		if got := strings.Join(ShowArgs(args), " "); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
		if !slices.Equal(args, given) {
			t.Errorf("%s was modified", in)
		}
	}
	if got := ShowArgs([]string{"-c", "TOKEN=abc1 npx server --api-key abc2"}); got[1] != "TOKEN=*** npx server --api-key ***" {
		t.Errorf("a script is shown as %s", got[1])
	}
	if got := ShowArgs(nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestUpperName(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	for in, want := range map[string]string{"github GITHUB_TOKEN": "GITHUB_GITHUB_TOKEN", "my-server apiKey": "MY_SERVER_API_KEY", "7zip": "MCP_7ZIP", "日本": "MCP", "": "MCP", "a//b": "A_B"} {
		if got := upperName(in); got != want || !valid.MatchString(got) {
			t.Errorf("%q gives %s, want %s", in, got, want)
		}
	}
}

func FuzzReadClients(f *testing.F) {
	for _, c := range clientCases {
		f.Add(c.path, []byte(c.text))
	}
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		start := time.Now()
		file, err := parseClients(path, data, Options{LookupEnv: env("HOME", "/h")})
		if err == nil {
			for _, s := range file.Servers {
				s.Target.Validate()
				_ = s.Target.Address()
			}
			text, _, err := ImportServers(file.Enabled()...)
			if err == nil {
				if _, err := Parse("mcpvigil.yaml", text, Options{Portable: true}); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
			}
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d bytes took %s", len(data), time.Since(start))
		}
	})
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpvigil/mcpvigil/internal/demo"
)

func TestMain(m *testing.M) {
	run := func() { os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)) }
	testscript.Main(m, map[string]func(){"mcpvigil": run, "mcp-healthcheck": run, "npx": npx})
}

func params() testscript.Params {
	p := baseParams()
	maps.Copy(p.Cmds, monitorCommands())
	return p
}

func baseParams() testscript.Params {
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("GOCOVERDIR", "")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else every race-enabled program takes a second to end
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"serve":  serve,
			"nobody": deadPort,
			"login":  logsInAs,
			"authority": func(ts *testscript.TestScript, _ bool, args []string) {
				as := newAuthority()
				as.weak = ts.MkAbs("weak")
				ts.Defer(as.Close)
				ts.Setenv(args[0], as.URL)
				ts.Setenv("AWAY", as.away)
				ts.Setenv("JWT", as.issue(20))
			},
			// taken NAME keeps a port and puts its number into a variable.
			"taken": func(ts *testscript.TestScript, _ bool, args []string) {
				l, err := net.Listen("tcp4", "127.0.0.1:0")
				ts.Check(err)
				ts.Defer(func() { l.Close() })
				_, port, err := net.SplitHostPort(l.Addr().String())
				ts.Check(err)
				ts.Setenv(args[0], port)
			},
			"fill": func(ts *testscript.TestScript, _ bool, args []string) {
				text := regexp.MustCompile("@[A-Z]+@").ReplaceAllStringFunc(ts.ReadFile(args[0]), func(name string) string { return ts.Getenv(strings.Trim(name, "@")) })
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
			},
			"await": func(ts *testscript.TestScript, _ bool, args []string) {
				for range 600 {
					if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
				ts.Fatalf("%s did not appear", args[0])
			},
			// capture NAME REGEXP puts the first group of a match in standard output
			// into a variable.
			"capture": func(ts *testscript.TestScript, _ bool, args []string) {
				found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
				if len(found) < 2 {
					ts.Fatalf("%s is not in standard output", args[1])
				}
				ts.Setenv(args[0], found[1])
			},
			"oneline": func(ts *testscript.TestScript, _ bool, args []string) {
				checkOneLine(ts, args)
			},
		},
	}
}

func TestScripts(t *testing.T) {
	p := params()
	p.Dir = filepath.Join("testdata", "script")
	testscript.Run(t, p)
}

// exits CODE PROGRAM ARGS... runs a program and compares its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

// oneline checks that standard error is one line of what happened, in the form
// of the rules in tui.go, with at least one line of advice and no stack trace.
func checkOneLine(ts *testscript.TestScript, args []string) {
	program := "mcpvigil"
	if len(args) > 0 {
		program = args[0]
	}
	text := ts.ReadFile("stderr")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], program+": ") {
		ts.Fatalf("want one line by %s and advice, got:\n%s", program, text)
	}
	for _, l := range lines[1:] {
		if !strings.HasPrefix(l, "hint: ") {
			ts.Fatalf("not a hint: %s", l)
		}
	}
	if strings.Contains(text, "goroutine") || strings.Contains(text, "panic") {
		ts.Fatalf("a stack trace:\n%s", text)
	}
}

// serve KIND NAME starts a web server and puts its URL into the variable NAME.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve KIND VARIABLE")
	}
	asked := ts.MkAbs("asked")
	handler := map[string]http.HandlerFunc{
		"demo":     new(demo.Server).ServeHTTP,
		"listings": newListings(ts.MkAbs).ServeHTTP,
		"page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>Welcome \u202eto nginx</title><h1>It works</h1>")
		},
		"login": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer s3cr3t-token" {
				new(demo.Server).ServeHTTP(w, r)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="demo"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"silence": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a client that goes away is only seen after its body
			_ = os.WriteFile(asked, nil, 0o644)
			<-r.Context().Done()
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	}[args[0]]
	if handler == nil {
		ts.Fatalf("no server called %s", args[0])
	}
	server := httptest.NewServer(handler)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv(args[1], server.URL+"/mcp")
}

// nobody NAME puts a URL where nothing listens into the variable NAME.
func deadPort(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], "http://"+l.Addr().String()+"/mcp")
}

// TestDocumentation runs every command of the manuals in a directory with the files
// that they show. A comment such as "# exit 3" gives the code to expect.
func TestDocumentation(t *testing.T) {
	for name, fewest := range map[string]int{"cli.md": 20, "surface.md": 10, "serve.md": 5} {
		t.Run(name, func(t *testing.T) { runManual(t, name, fewest) })
	}
}

// startAndEnd starts a monitor on a free port, waits until it watches, and ends it.
func startAndEnd(command string, n int) string {
	name := "serve" + strconv.Itoa(n)
	command = strings.ReplaceAll(command, "--listen 127.0.0.1:8087", "") + " --listen 127.0.0.1:0"
	return "exec sh -c 'echo $$ >pid; exec " + command + " >" + name + ".out 2>" + name + ".err' &" + name + "&\n" +
		"until " + name + ".err '\"watching\"'\nexec sh -c 'kill -INT $(cat pid)'\nwait " + name + "\nexits 0 true\n"
}

func runManual(t *testing.T, name string, fewest int) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("serve demo DEMO\nenv TOKEN=abc\n")
	files := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)(?: title=(\\S+))?\n(.*?)^```").FindAllStringSubmatch(string(data), -1) {
		if block[2] != "" {
			files[block[2]] = block[3]
		}
		if block[1] != "sh" {
			continue
		}
		for l := range strings.Lines(block[3]) {
			command, comment, _ := strings.Cut(strings.TrimSpace(l), "  # ")
			if command == "" {
				continue
			}
			code := "0"
			if _, exit, ok := strings.Cut(comment, "exit "); ok {
				code = exit[:1]
			}
			if strings.HasPrefix(command, "mcpvigil serve") {
				script.WriteString(startAndEnd(command, script.Len()))
				continue
			}
			script.WriteString("exits " + code + " " + strings.ReplaceAll(command, "http://127.0.0.1:8808/mcp", "$DEMO") + "\n")
		}
	}
	if strings.Count(script.String(), "\nexits") < fewest {
		t.Fatalf("the documentation has too few commands:\n%s", script.String())
	}
	fills := ""
	for name, content := range files {
		content = strings.ReplaceAll(content, "http://127.0.0.1:8808/mcp", "@DEMO@")
		fills += "fill " + name + "\n"
		fmt.Fprintf(&script, "-- %s --\n%s", name, content)
	}
	p := params()
	path := filepath.Join(t.TempDir(), "documentation.txtar")
	text := strings.Replace(script.String(), "env TOKEN=abc\n", "env TOKEN=abc\n"+fills, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Files = []string{path}
	testscript.Run(t, p)
}

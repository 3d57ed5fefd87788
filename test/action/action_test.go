// Package action_test checks the GitHub Action and the pre-commit hook: their files
// hold together, and the action's scripts do what they say when bash runs them as
// the runner would.
package action_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

const root = "../.."

type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, Name, Uses, Shell, Run string
	Env, With                  map[string]string
}

func load(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(data, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func loadAction(t *testing.T) action {
	t.Helper()
	var a action
	load(t, "action.yml", &a)
	return a
}

var (
	inputExpression = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)
	pinned          = regexp.MustCompile(`^[a-z-]+/[a-z-]+(/[a-z-]+)?@v[0-9]+$`)
)

// TestStructure: inputs reach scripts as variables alone, and each does reach one.
func TestStructure(t *testing.T) {
	a := loadAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 3 {
		t.Fatalf("want 3 steps of a composite action: %+v", a.Runs)
	}
	var used []string
	for _, s := range a.Runs.Steps {
		if s.Uses != "" {
			if !pinned.MatchString(s.Uses) {
				t.Errorf("%s: %s is not pinned to a major version", s.Name, s.Uses)
			}
			continue
		}
		if s.Shell != "bash" {
			t.Errorf("%s: the shell is %q", s.Name, s.Shell)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression becomes a part of the script, which runs it:\n%s", s.Name, s.Run)
		}
		for name, value := range s.Env {
			if strings.Contains(value, "${{") && !strings.Contains(s.Run, "$"+name) && !strings.Contains(s.Run, "${"+name+":-") {
				t.Errorf("%s: the script does not use %s", s.Name, name)
			}
			for _, m := range inputExpression.FindAllStringSubmatch(value, -1) {
				used = append(used, m[1])
			}
		}
	}
	slices.Sort(used)
	var inputs []string
	for name, input := range a.Inputs {
		inputs = append(inputs, name)
		if input.Description == "" {
			t.Errorf("input %s has no description", name)
		}
	}
	slices.Sort(inputs)
	if diff := gocmp.Diff(inputs, used); diff != "" {
		t.Errorf("inputs, and those used: %s", diff)
	}
}

// TestExamples: the examples use inputs and hooks that exist, and name no version
// that does not.
func TestExamples(t *testing.T) {
	a := loadAction(t)
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	load(t, "examples/github/verify.yml", &workflow)
	ours := 0
	for name, job := range workflow.Jobs {
		for _, s := range job.Steps {
			if s.Uses != "mcpvigil/mcpvigil@REF" {
				if !pinned.MatchString(s.Uses) {
					t.Errorf("%s: %q", name, s.Uses)
				}
				continue
			}
			ours++
			for input := range s.With {
				if _, ok := a.Inputs[input]; !ok {
					t.Errorf("%s: the action has no input %s", name, input)
				}
			}
		}
	}
	if ours < 2 {
		t.Errorf("the action is used %d times", ours)
	}

	type hook struct {
		ID, Entry, Language, Files string
		Args                       []string
	}
	var hooks []hook
	load(t, ".pre-commit-hooks.yaml", &hooks)
	var config struct {
		Repos []struct {
			Rev   string
			Hooks []hook
		}
	}
	load(t, "examples/pre-commit/.pre-commit-config.yaml", &config)
	if len(hooks) != 1 || len(config.Repos) != 1 || len(config.Repos[0].Hooks) != 1 {
		t.Fatalf("%+v %+v", hooks, config)
	}
	h, example := hooks[0], config.Repos[0]
	if h.ID != example.Hooks[0].ID || h.Entry != "mcpvigil verify" || h.Language != "golang" || example.Rev != "REF" {
		t.Errorf("%+v %+v", h, example)
	}
	files := regexp.MustCompile(h.Files)
	for name, want := range map[string]bool{
		"mcpvigil.lock": true, "mcpvigil.yaml": true, "mcpvigil.yml": true, "services/a/mcpvigil.lock": true,
		".mcp.json": true, ".vscode/mcp.json": true,
		"main.go": false, "mcpvigil.lock.bak": false, "package-lock.json": false, "notmcp.json": false,
	} {
		if files.MatchString(name) != want {
			t.Errorf("a change of %s runs the hook: %v, want %v", name, !want, want)
		}
	}
}

// runner is what a GitHub runner gives to a step.
type runner struct {
	t         *testing.T
	action    action
	workspace string // the working directory
	temp      string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	return &runner{t: t, action: loadAction(t), workspace: t.TempDir(), temp: t.TempDir()}
}

// result is what a step leaves behind.
type result struct {
	code                    int
	log, summary, variables string
}

// run runs the script of one step with bash, as the runner does.
func (r *runner) run(name string, inputs map[string]string) result {
	r.t.Helper()
	i := slices.IndexFunc(r.action.Runs.Steps, func(s step) bool { return s.Name == name })
	if i < 0 {
		r.t.Fatalf("there is no step %q", name)
	}
	s := r.action.Runs.Steps[i]
	script, summary, variables := filepath.Join(r.temp, "step.sh"), filepath.Join(r.temp, "summary"), filepath.Join(r.temp, "variables")
	for path, text := range map[string]string{script: s.Run, summary: "", variables: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = r.workspace
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+r.temp, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+variables)
	for variable, value := range s.Env {
		cmd.Env = append(cmd.Env, variable+"="+r.evaluate(value, inputs))
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), string(out), r.read(summary), r.read(variables)}
}

func (r *runner) read(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// evaluate replaces the expressions that the action uses.
func (r *runner) evaluate(value string, inputs map[string]string) string {
	r.t.Helper()
	repository, err := filepath.Abs(root)
	if err != nil {
		r.t.Fatal(err)
	}
	value = strings.ReplaceAll(value, "${{ github.action_path }}", repository)
	value = inputExpression.ReplaceAllStringFunc(value, func(e string) string {
		name := inputExpression.FindStringSubmatch(e)[1]
		return cmp.Or(inputs[name], r.action.Inputs[name].Default)
	})
	if strings.Contains(value, "${{") {
		r.t.Fatalf("cannot evaluate %s", value)
	}
	return value
}

// install puts a script in the place of the program.
func (r *runner) install(script string) {
	r.t.Helper()
	path := filepath.Join(r.temp, "mcpvigil", "mcpvigil")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

// report is what the program printed, between the commands that keep the runner
// from obeying it.
func report(t *testing.T, log string) string {
	t.Helper()
	first, rest, _ := strings.Cut(log, "\n")
	token, ok := strings.CutPrefix(first, "::stop-commands::")
	text, found := strings.CutSuffix(rest, "::"+token+"::\n")
	if !ok || !found || len(token) != 32 {
		t.Fatalf("the report is not set apart:\n%s", log)
	}
	return text
}

// TestArguments: inputs become these arguments and no others, whatever is in them.
func TestArguments(t *testing.T) {
	const summary = "the file for the summary"
	const hostile = "x'\"; touch pwned; $(touch pwned) `touch pwned` --help *"
	cases := []struct {
		name   string
		inputs map[string]string
		want   []string
	}{
		{"none", nil, []string{"verify", "--lockfile=mcpvigil.lock", "--format=text", summary}},
		{
			"all",
			map[string]string{"url": "http://127.0.0.1/mcp", "config": "a b.yaml", "lockfile": "l", "format": "text", "sarif": "s.sarif", "target": "one\ntwo words\n", "args": "--policy\nseed\n\n--\nnode\nserver.js"},
			[]string{"verify", "--lockfile=l", "--format=text", summary, "--also=sarif=s.sarif", "--url=http://127.0.0.1/mcp", "--config=a b.yaml", "--target=one", "--target=two words", "--policy", "seed", "--", "node", "server.js"},
		},
		{
			"hostile",
			map[string]string{"url": hostile, "config": hostile, "lockfile": hostile, "format": hostile, "sarif": hostile, "target": hostile, "args": hostile},
			[]string{"verify", "--lockfile=" + hostile, "--format=" + hostile, summary, "--also=sarif=" + hostile, "--url=" + hostile, "--config=" + hostile, "--target=" + hostile, hostile},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t)
			r.install(`printf '%s\n' "$@"`)
			got := r.run("Verify", c.inputs)
			want := strings.ReplaceAll(strings.Join(c.want, "\n")+"\n", summary, "--also=markdown="+filepath.Join(r.temp, "mcpvigil", "summary.md"))
			if diff := gocmp.Diff(want, report(t, got.log)); diff != "" || got.code != 0 {
				t.Errorf("code %d: %s", got.code, diff)
			}
			if left, _ := filepath.Glob(filepath.Join(r.workspace, "*")); len(left) > 0 {
				t.Errorf("an input was run, and left %q", left)
			}
		})
	}
}

// TestReport: the exit code is handed on, and the report goes where it was asked to.
func TestReport(t *testing.T) {
	for _, code := range []int{0, 1, 2, 4} {
		for _, format := range []string{"text", "markdown", "sarif"} {
			r := newRunner(t)
			r.install(fmt.Sprintf("echo '::error::not a command'\nfor a; do case $a in --also=markdown=*) echo in markdown >\"${a#*=*=}\";; esac; done\nexit %d\n", code))
			got := r.run("Verify", map[string]string{"format": format, "output": "report out"})
			if got.code != code || got.variables != fmt.Sprintf("exit-code=%d\n", code) {
				t.Errorf("%d %s: code %d, variables %q", code, format, got.code, got.variables)
			}
			const want = "::error::not a command\n"
			if text, file := report(t, got.log), r.read(filepath.Join(r.workspace, "report out")); text != want || file != want {
				t.Errorf("%d %s: log %q, file %q", code, format, text, file)
			}
			if got.summary != "in markdown\n" {
				t.Errorf("%d %s: summary %q", code, format, got.summary)
			}
		}
	}
	r := newRunner(t)
	r.install("exit 0")
	if got := r.run("Verify", map[string]string{"output": "no/such/folder/report"}); got.code == 0 {
		t.Errorf("a report that could not be written is a success:\n%s", got.log)
	}
}

package config

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const ourImage = "REGISTRY/mcpvigil:TAG" // there is no published one

func documents(t *testing.T, file string) []any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var docs []any
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return docs
}

// TestKubernetesExamples: the examples are YAML, their commands are ones that
// mcpvigil has, and their configurations load.
func TestKubernetesExamples(t *testing.T) {
	files, _ := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if len(files) < 4 {
		t.Fatalf("found %d files", len(files))
	}
	commands, embedded := 0, 0
	for _, file := range files {
		eachNode(documents(t, file), func(key string, v any) {
			switch v := v.(type) {
			case []any:
				if key == "command" && path.Base(fmt.Sprint(v[0])) == "mcpvigil" {
					commands++
					checkCommand(t, file, v)
				}
			case string:
				if key == "mcpvigil.yaml" {
					embedded++
					if _, err := Parse(file, []byte(v), Options{Portable: true}); err != nil {
						t.Error(err)
					}
				}
				if key == "image" && v != ourImage && !strings.HasPrefix(v, "REGISTRY/my-") {
					t.Errorf("%s: image %s is promised", file, v)
				}
			}
		})
	}
	if commands < 9 || embedded != 3 {
		t.Errorf("found %d commands and %d configurations", commands, embedded)
	}
}

// commandFlags are the flags that the command line defines. This package may
// not import it, so its source is read.
func commandFlags(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../cli/*.go")
	// The name comes before the default, if there is one, and the help.
	defined := regexp.MustCompile(`(?m)Var[A-Za-z]*\(.*?, "([a-z][a-z-]+)", (?:"[a-z]?", )?(?:"[^"]* |""|[\w.*]+, ")`)
	var flags []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range defined.FindAllSubmatch(data, -1) {
			flags = append(flags, "--"+string(m[1]))
		}
	}
	if len(flags) < 20 {
		t.Fatalf("found %d flags: %v", len(flags), flags)
	}
	return flags
}

func checkCommand(t *testing.T, file string, argv []any) {
	t.Helper()
	known := commandFlags(t)
	if !slices.Contains([]any{"check", "serve", "copy-to", "version"}, argv[1]) {
		t.Errorf("%s: %v is no command of the image", file, argv)
	}
	for _, arg := range argv {
		s, ok := arg.(string)
		if !ok {
			t.Errorf("%s: %v of %v is not a string", file, arg, argv)
		}
		if strings.HasPrefix(s, "--") && !slices.Contains(known, s) {
			t.Errorf("%s: unknown flag %s", file, s)
		}
	}
}

// pod is the part of a pod's specification that the example is about.
type pod struct {
	InitContainers, Containers []container
	Volumes                    []struct{ Name string }
}

type container struct {
	Image                                       string
	Command                                     []string
	VolumeMounts                                []struct{ Name, MountPath string }
	StartupProbe, LivenessProbe, ReadinessProbe probe
}

type probe struct {
	Exec           struct{ Command []string }
	TimeoutSeconds int
}

// TestExecProbes: the probes stand on the server's container, which gets the
// binary from an init container; only readiness asks for more than the protocol.
func TestExecProbes(t *testing.T) {
	data, err := os.ReadFile("../../deploy/kubernetes/exec-probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment struct {
		Spec struct{ Template struct{ Spec pod } }
	}
	// The keys of Kubernetes are in camel case, those of the decoder in lower case.
	lower := regexp.MustCompile(`(?m)[A-Za-z]+:`).ReplaceAllStringFunc(string(data), strings.ToLower)
	if err := yaml.Load([]byte(lower), &deployment); err != nil {
		t.Fatal(err)
	}
	p := deployment.Spec.Template.Spec
	if len(p.InitContainers) != 1 || len(p.Containers) != 1 || len(p.Volumes) != 1 {
		t.Fatalf("%+v", p)
	}
	from, server := p.InitContainers[0], p.Containers[0]
	if server.Image == ourImage || from.Image != ourImage {
		t.Errorf("the probes stand on %s, the binary comes from %s", server.Image, from.Image)
	}
	binary := from.Command[len(from.Command)-1]
	for _, c := range []container{from, server} {
		if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].Name != p.Volumes[0].Name || c.VolumeMounts[0].MountPath != path.Dir(binary) {
			t.Errorf("%s is not in a shared volume: %+v", binary, c.VolumeMounts)
		}
	}
	for name, c := range map[string]struct {
		probe probe
		lists bool
	}{"startup": {server.StartupProbe, false}, "liveness": {server.LivenessProbe, false}, "readiness": {server.ReadinessProbe, true}} {
		argv := c.probe.Exec.Command
		if len(argv) == 0 || argv[0] != binary {
			t.Errorf("%s runs %v, not %s", name, argv, binary)
			continue
		}
		skipped := strings.Contains(strings.Join(argv, " "), "--skip tools --skip resources --skip prompts")
		if skipped == c.lists {
			t.Errorf("%s: %v", name, argv)
		}
		timeout, err := strconv.Atoi(argv[slices.Index(argv, "--timeout")+1])
		if err != nil || timeout >= c.probe.TimeoutSeconds*1000 {
			t.Errorf("%s: the probe ends after %d s, the check after %d ms", name, c.probe.TimeoutSeconds, timeout)
		}
	}
}

// TestPipelineExample runs the step of the workflow with a stand-in, and looks
// at what is kept.
func TestPipelineExample(t *testing.T) {
	var runs []string
	var upload map[string]any
	eachNode(documents(t, "../../examples/ci-gate.yaml"), func(key string, v any) {
		switch v := v.(type) {
		case string:
			if key == "run" && strings.Contains(v, "mcpvigil check") {
				runs = append(runs, v)
			}
		case map[string]any:
			if key == "with" && v["path"] != nil {
				upload = v
			}
		}
	})
	if len(runs) != 1 || strings.Count(runs[0], "mcpvigil check") != 1 {
		t.Fatalf("the server is not checked by one command: %q", runs)
	}
	for _, word := range strings.Fields(runs[0]) {
		if strings.HasPrefix(word, "--") && !slices.Contains(commandFlags(t), word) {
			t.Errorf("unknown flag %s", word)
		}
	}
	for status, calls := range map[int]int{0: 1, 1: 10, 2: 1, 3: 10, 4: 10} {
		dir := t.TempDir()
		writeFile(t, dir, "bin/mcpvigil", fmt.Sprintf("#!/bin/sh\necho call >>calls\nwhile [ $# -gt 0 ]; do [ \"$1\" = --output ] && echo report >\"$2\"; shift; done\nexit %d\n", status))
		writeFile(t, dir, "bin/sleep", "#!/bin/sh\n")
		for _, name := range []string{"mcpvigil", "sleep"} {
			if err := os.Chmod(filepath.Join(dir, "bin", name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("bash", "-e", "-c", runs[0])
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("exit status %d of the check became %d:\n%s", status, got, out)
		}
		made, _ := os.ReadFile(filepath.Join(dir, "calls"))
		if got := strings.Count(string(made), "call"); got != calls {
			t.Errorf("exit status %d: checked %d times, want %d", status, got, calls)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(upload["path"]))); err != nil || string(kept) != "report\n" {
			t.Errorf("what is kept (%v) is not what the check wrote: %v", upload["path"], err)
		}
	}
	if out, err := exec.Command("sh", "-n", "../../examples/ci-gate.sh").CombinedOutput(); err != nil {
		t.Errorf("ci-gate.sh: %v: %s", err, out)
	}
}

// TestNothingIsPromised: there is no published image, and nothing here says that there
// is one.
func TestNothingIsPromised(t *testing.T) {
	files := []string{schemaPath, manualPath, "../../docs/moving.md"}
	for _, pattern := range []string{"../../examples/*.*", "../../examples/*/*.*", "../../deploy/*.*", "../../deploy/*/*.*"} {
		more, _ := filepath.Glob(pattern)
		files = append(files, more...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "ghcr.io/mcpvigil") {
			t.Errorf("%s promises an image", file)
		}
	}
}

package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const nobody = 65532

// copied is a file or folder of the stage build that the image gets.
type copied struct {
	from, to string
	owner    string // UID:GID; empty: root
}

// dockerfile is what of a Dockerfile makes the image.
type dockerfile struct {
	runs            []string // of the stage build
	copies          []copied // from build to the image
	user            string
	entrypoint, cmd []string
}

var instruction = regexp.MustCompile(`^([A-Z]+)\s+(.*)$`)

func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var d dockerfile
	last := ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		m := instruction.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		list := func() (out []string) {
			if err := json.Unmarshal([]byte(m[2]), &out); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			return out
		}
		switch m[1] {
		case "FROM":
			last = m[2]
		case "RUN":
			d.runs = append(d.runs, m[2])
		case "COPY":
			words, owner := strings.Fields(m[2]), ""
			words = slices.DeleteFunc(words, func(w string) bool {
				to, ok := strings.CutPrefix(w, "--chown=")
				if ok {
					owner = to
				}
				return ok
			})
			if words[0] == "--from=build" {
				d.copies = append(d.copies, copied{words[1], words[2], owner})
			}
		case "USER":
			d.user = m[2]
		case "ENTRYPOINT":
			d.entrypoint = list()
		case "CMD":
			d.cmd = list()
		}
	}
	if last != "scratch" || d.user != fmt.Sprintf("%d:%d", nobody, nobody) || len(d.entrypoint) == 0 || len(d.copies) == 0 {
		t.Fatalf("the image is of %s and user %s: %+v", last, d.user, d)
	}
	return d
}

// build makes the file system of the image in a folder, as the Dockerfile says.
func build(t *testing.T, d dockerfile) string {
	t.Helper()
	stage, root := t.TempDir(), t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // as the root of an image is
		t.Fatal(err)
	}
	here, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range d.runs {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(run, "/out/", stage+"/out/"))
		cmd.Dir, cmd.Env = here, append(os.Environ(), "VERSION=image-test", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", run, err, out)
		}
	}
	for _, c := range d.copies {
		from := c.from
		if strings.HasPrefix(from, "/out/") {
			from = stage + from
		}
		// A trailing slash copies what is in the folder.
		to := filepath.Join(root, c.to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(from, "/") {
			from += "."
		}
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", "-L", from, to).CombinedOutput(); err != nil {
			t.Fatalf("copy %v: %v\n%s", c, err, out)
		}
		if c.owner == "" || os.Getuid() != 0 {
			continue // this user is the one of the image in its namespace
		}
		if out, err := exec.CommandContext(t.Context(), "chown", "-R", c.owner, to).CombinedOutput(); err != nil {
			t.Fatalf("give %v away: %v\n%s", c, err, out)
		}
	}
	return root
}

// inside runs the program of the image in it, as its user, and nothing else of this
// machine.
func inside(ctx context.Context, root string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	} else { // a namespace in which this user is that one
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
	}
	cmd.Err = nil // it is not looked up here
	cmd.Path = argv[0]
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// TestImage runs what the image runs, from the file system of the image.
func TestImage(t *testing.T) {
	d := readDockerfile(t)
	root := build(t, d)
	var files []string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, strings.TrimPrefix(path, root))
		}
		return err
	})
	if want := []string{"/bin/mcpvigil", "/etc/ssl/certs/ca-certificates.crt"}; !slices.Equal(files, want) {
		t.Errorf("the image holds %v, want %v", files, want)
	}
	if out, err := inside(t.Context(), root, "/bin/mcpvigil", "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "image-test") {
		t.Fatalf("version: %v\n%s", err, out)
	}
	if out, err := inside(t.Context(), root, "/bin/mcpvigil", "check", "--quiet", "--", "/bin/mcpvigil", "demo-server", "--stdio").CombinedOutput(); err != nil {
		t.Errorf("check a server over stdio: %v\n%s", err, out)
	}
	// It finds itself in /proc, which a container has and this folder does not.
	self := filepath.Join(t.TempDir(), "mcpvigil")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin/mcpvigil"), "copy-to", self).CombinedOutput(); err != nil {
		t.Errorf("copy-to: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), self, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "image-test") {
		t.Errorf("the copy: %v\n%s", err, out)
	}
	window := "version: v1\ntargets: [{name: a, type: mcp, endpoint: 'http://127.0.0.1:1/mcp'}]\nwindows: [{name: w, kind: maintenance, days: [mon], from: '03:00', for: 1h, zone: Europe/Berlin}]\n"
	if err := os.WriteFile(filepath.Join(root, "mcpvigil.yaml"), []byte(window), 0o644); err != nil { //nolint:gosec // it is read by another user
		t.Fatal(err)
	}
	served(t, root, d)
}

// served starts the monitor as the image does, on a free port, and ends it.
func served(t *testing.T, root string, d dockerfile) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	argv := slices.Concat(d.entrypoint, d.cmd)
	at := slices.Index(argv, "--listen") + 1
	if at == 0 || argv[at] != ":8087" {
		t.Fatalf("it runs %v", argv)
	}
	argv[at] = address
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := inside(ctx, root, argv...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("it ended with %v\n%s", err, out.String())
		}
		if !strings.Contains(out.String(), "1 server of mcpvigil.yaml") || !strings.Contains(out.String(), "/setup?token=") {
			t.Errorf("it does not say what it watches and how to begin:\n%s", out.String())
		}
	}()
	deadline := time.Now().Add(time.Minute)
	for {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("it is never ready: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

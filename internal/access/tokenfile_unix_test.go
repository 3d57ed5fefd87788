//go:build unix

package access

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// place makes a directory that every user can get to, with a saved token in a
// directory of its own.
func place(t *testing.T) (dir, file string) {
	t.Helper()
	base, err := os.MkdirTemp("", "access")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o755))
	dir = filepath.Join(base, "tokens")
	file = filepath.Join(dir, "t.json")
	if problem := write(t.Context(), tokenFile{path: file}, sample("a")); problem != nil {
		t.Fatal(problem)
	}
	return dir, file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNewFilesAreForTheOwnerAlone(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir, file := place(t)
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600, file + ".lock": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestUnsafeTokenFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir, file string)
		text   string
		saves  bool // a login, which replaces the file, is not hindered
	}{
		{"readable by the group", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o640)) }, "is open to others (mode 0640, not 0600)", true},
		{"readable by all", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o604)) }, "is open to others (mode 0604, not 0600)", true},
		{"symbolic link", func(t *testing.T, _, file string) {
			must(t, os.Rename(file, file+".real"))
			must(t, os.Symlink(file+".real", file))
		}, "is a symbolic link", true},
		{"link to nothing", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, os.Symlink(file+".none", file))
		}, "is a symbolic link", true},
		{"FIFO", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
		}, "is not a regular file", true},
		{"directory", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o700))
		}, "is not a regular file", false},
		{"parent writable by the group", func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, 0o770)) }, "lies in a directory that others can write to (mode 0770)", false},
		{"parent writable by all", func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, os.ModeSticky|0o777)) }, "lies in a directory that others can write to (mode 1777)", false},
		{"lock is a link", func(t *testing.T, _, file string) {
			must(t, os.Remove(file+".lock"))
			must(t, os.Symlink("/dev/null", file+".lock"))
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, file := place(t)
			c.change(t, dir, file)
			f := tokenFile{path: file, hint: "hint"}
			_, problem := f.load()
			switch {
			case c.text == "" && problem != nil, c.text != "" && (problem == nil || problem.Text != "token file "+file+" "+c.text || problem.Hint != "hint"):
				t.Errorf("%v", problem)
			}
			problem = write(t.Context(), f, sample("b"))
			if c.saves != (problem == nil) {
				t.Errorf("saving: %v", problem)
			}
			if c.saves {
				if s, problem := f.load(); problem != nil || s.access != "b" {
					t.Errorf("after saving: %v", problem)
				}
			}
		})
	}
}

// asNobody runs a child without privileges.
func asNobody(t *testing.T, mode, file string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	cmd := command(t, mode, file)
	// The test binary lies where only its owner can get to.
	copied := filepath.Join(filepath.Dir(filepath.Dir(file)), "child")
	in, err := os.Open(cmd.Path)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(copied, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	cmd = &exec.Cmd{Path: copied, Args: []string{copied}, Env: cmd.Env, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}}
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

func chownAll(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		must(t, os.Chown(p, nobody, nobody))
	}
}

func TestWithoutPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	for _, c := range []struct {
		name, mode string
		change     func(t *testing.T, dir, file string)
		want       string // end of the text; "": none
	}{
		{"own file", "load", func(t *testing.T, dir, file string) { chownAll(t, dir, file) }, ""},
		{"own directory", "save", func(t *testing.T, dir, file string) { chownAll(t, dir, file, file+".lock") }, ""},
		{"unreadable", "load", func(t *testing.T, dir, file string) { chownAll(t, dir, file); must(t, os.Chmod(file, 0)) }, "cannot be used: permission denied"},
		{"read-only directory", "save", func(t *testing.T, dir, file string) {
			chownAll(t, dir, file)
			must(t, os.Remove(file+".lock"))
			must(t, os.Chmod(dir, 0o500))
		}, "cannot be used: permission denied"},
		{"directory of root", "save", func(t *testing.T, dir, file string) { must(t, os.Chmod(dir, 0o755)); chownAll(t, file, file+".lock") }, "cannot be used: permission denied"},
		{"closed directory", "load", func(*testing.T, string, string) {}, "cannot be used: permission denied"},
		{"file of root", "load", func(t *testing.T, dir, file string) { chownAll(t, dir) }, "cannot be used: permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, file := place(t)
			c.change(t, dir, file)
			got := asNobody(t, c.mode, file)
			if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	_, file := place(t)
	chownAll(t, file)
	if _, problem := (tokenFile{path: file}).load(); problem == nil || !strings.HasSuffix(problem.Text, "belongs to another user") {
		t.Errorf("%v", problem)
	}
	dir, file := place(t)
	chownAll(t, dir)
	if _, problem := (tokenFile{path: file}).load(); problem == nil || !strings.HasSuffix(problem.Text, "lies in a directory of another user") {
		t.Errorf("%v", problem)
	}
}

// What cannot be saved is found out before the refresh token is used up.
func TestUnwritablePlaceBurnsNoRefreshToken(t *testing.T) {
	as, c := newAS(t), newClock()
	g := people(t, as, c, -1, nil)
	must(t, os.Mkdir(g.TokenFile+".new", 0o700)) // where the next content would go
	_, err := newSource(t, as, g, c).Token(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonTokenFile || as.requests() != 0 {
		t.Errorf("%+v after %d requests", e, as.requests())
	}
}

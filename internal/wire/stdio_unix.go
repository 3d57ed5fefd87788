//go:build unix

package wire

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

const notFoundHint = "install it, or give its full path; a stdio server gets the PATH of its environment, not that of a login shell"

var safeNames = []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "WINDIR"}

func sameName(a, b string) bool { return a == b }

func candidates(path string, _ []string) []string { return []string{path} }

func mayExecute(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

func badFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// processTree is a process group: the server and all descendants that did not
// leave the group on purpose.
type processTree struct {
	group int

	mu       sync.Mutex
	released bool // the id may name another group by now
}

func startTree(cmd *exec.Cmd) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &processTree{group: cmd.Process.Pid}, nil
}

// terminate asks all processes of the group to end.
func (t *processTree) terminate() { t.signal(syscall.SIGTERM) }

// terminateRest is terminate once the process that was started has ended.
func (t *processTree) terminateRest() { t.terminate() }

// kill ends them.
func (t *processTree) kill() { t.signal(syscall.SIGKILL) }

func (t *processTree) signal(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.released {
		_ = syscall.Kill(-t.group, sig)
	}
}

// release is called before the id of the group is given back.
func (t *processTree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = true
}

// exitStatus is the code, or the signal that ended the process.
func exitStatus(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal().String()
	}
	return state.ExitCode(), ""
}

//go:build unix

package wire

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
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
type processTree struct{ group int }

func startTree(cmd *exec.Cmd) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &processTree{group: cmd.Process.Pid}, nil
}

// terminate asks all processes of the group to end.
func (t *processTree) terminate() { _ = syscall.Kill(-t.group, syscall.SIGTERM) }

// terminateRest is terminate once the process that was started has ended.
func (t *processTree) terminateRest() { t.terminate() }

// kill ends them.
func (t *processTree) kill() { _ = syscall.Kill(-t.group, syscall.SIGKILL) }

func (t *processTree) release() {}

// exitStatus is the code, or the signal that ended the process.
func exitStatus(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal().String()
	}
	return state.ExitCode(), ""
}

package wire

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const notFoundHint = "scripts such as npx need their extension (npx.cmd), or cmd /c before them; else install the program or give its full path"

var safeNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "WINDIR",
	"SYSTEMDRIVE", "PATHEXT", "COMSPEC", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "PROGRAMDATA", "HOMEDRIVE", "HOMEPATH",
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// candidates are the files that path may stand for: a name without an extension
// gets those of PATHEXT.
func candidates(path string, env []string) []string {
	if filepath.Ext(path) != "" {
		return []string{path}
	}
	exts := lookupEnv(env, "PATHEXT")
	if exts == "" {
		exts = ".com;.exe;.bat;.cmd"
	}
	var paths []string
	for ext := range strings.SplitSeq(exts, ";") {
		if ext != "" {
			paths = append(paths, path+strings.ToLower(ext))
		}
	}
	return paths
}

func mayExecute(fs.FileInfo) bool { return true }

func badFormat(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// processTree is a job object: the server and all its descendants, but for those
// it started before it was put into the job. Without a job it is the server alone.
type processTree struct {
	process *os.Process
	job     windows.Handle
}

func startTree(cmd *exec.Cmd) (*processTree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &processTree{process: cmd.Process}
	if job, err := newJob(cmd.Process.Pid); err == nil {
		t.job = job
	}
	return t, nil
}

// newJob puts the process into a job that ends with its last handle, so also
// when we are killed.
func newJob(pid int) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var process windows.Handle
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, process)
			_ = windows.CloseHandle(process)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// terminate asks the process group to end, where it shares our console.
func (t *processTree) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.process.Pid))
}

// terminateRest does nothing: a group whose first process has ended can no longer
// be named, and an event for an unknown group may go to all of the console.
func (t *processTree) terminateRest() {}

// kill ends all processes of the tree.
func (t *processTree) kill() {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
	_ = t.process.Kill()
}

func (t *processTree) release() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
		t.job = 0
	}
}

// awaitExit waits until the process has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func exitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

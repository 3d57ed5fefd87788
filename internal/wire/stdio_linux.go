package wire

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end the server when we are killed. The signal is
// tied to the thread that forked, which is why stdioConn.run keeps its thread
// until the process has ended.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// awaitExit waits until the process has ended, and leaves it as a zombie: as
// long as it is one, its id, which names the group too, is not used again.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

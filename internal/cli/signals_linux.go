package cli

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// lastMoment is how long the program goes on after a signal that ends it at once.
const lastMoment = 200 * time.Millisecond

// killChildren ends every child of this process and, where it leads a process
// group of its own, as a stdio server does, its descendants. A server that has
// ended stays as a zombie until its group is gone, and so is found, too.
func killChildren() {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		switch parent, group := familyOf(e.Name()); {
		case parent != self:
		case group == pid:
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		default:
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// familyOf reads the parent and the process group of a process, see proc_pid_stat(5).
func familyOf(pid string) (parent, group int) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, _ = strconv.Atoi(string(fields[2]))
	return parent, group
}

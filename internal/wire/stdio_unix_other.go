//go:build unix && !linux

package wire

import (
	"os/exec"
	"syscall"
)

func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit waits until the process has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

package cli

import (
	"os"
	"syscall"
)

func sighup() os.Signal { return syscall.SIGHUP }

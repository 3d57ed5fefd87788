//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tryExclusive locks the directory of a file, which leaves nothing behind, or says
// that another process has it. Where there are no such locks, as on some network
// file systems, nothing is locked.
func tryExclusive(path string) (release func(), ok bool) {
	nothing := func() {}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nothing, true // whether the file can be written is found out then
	}
	for {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return func() { _ = dir.Close() }, true // which ends the lock
		}
		_ = dir.Close()
		return nothing, !errors.Is(err, unix.EWOULDBLOCK)
	}
}

//go:build unix

package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// directory is an open directory that only its owner can change. Everything in
// it is reached through the handle, so that nobody can put another in its place.
type directory struct {
	path string
	file *os.File
}

// openDirectory opens the directory of a token file. With create, missing ones
// are made for the owner alone.
func openDirectory(path string, create bool) (*directory, error) {
	if create {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	d := &directory{path: path, file: os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		d.close()
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&0o022 != 0:
		err = unsafeError("lies in a directory that others can write to (" + fmt.Sprintf("mode %04o", st.Mode&0o7777) + ")")
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		err = unsafeError("lies in a directory of another user")
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) close() { _ = d.file.Close() } // nothing was written through it

func (d *directory) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(d.path, name)
	// Not blocking: a FIFO must not hold the check up.
	fd, err := unix.Openat(int(d.file.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return nil, unsafeError("is a symbolic link")
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := private(fd); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// private checks an open file: a regular one, of this user, closed to others.
func private(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return unsafeError("is not a regular file")
	case int(st.Uid) != os.Geteuid():
		return unsafeError("belongs to another user")
	case st.Mode&0o077 != 0:
		return unsafeError("is open to others (" + fmt.Sprintf("mode %04o", st.Mode&0o7777) + ", not 0600)")
	}
	return nil
}

func (d *directory) read(name string) (*os.File, error) { return d.open(name, unix.O_RDONLY) }

func (d *directory) create(name string) (*os.File, error) {
	return d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
}

func (d *directory) lockFile(name string) (*os.File, error) {
	return d.open(name, unix.O_RDWR|unix.O_CREAT)
}

func (d *directory) rename(from, to string) error {
	fd := int(d.file.Fd())
	if err := unix.Renameat(fd, from, fd, to); err != nil {
		return &os.PathError{Op: "rename", Path: filepath.Join(d.path, from), Err: err}
	}
	// Some file systems cannot sync a directory, and need not.
	if err := d.file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

func (d *directory) remove(name string) error {
	if err := unix.Unlinkat(int(d.file.Fd()), name, 0); err != nil {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// tryLock takes the lock of an open file, which ends with its last handle. It is
// false without an error while somebody else has it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

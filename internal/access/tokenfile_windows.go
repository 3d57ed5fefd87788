package access

import (
	"errors"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	renameTries = 20
	renamePause = 25 * time.Millisecond
)

// directory is the directory of a token file. On Windows the files protect
// themselves: each has an access list of its own that names its owner alone and
// inherits nothing.
type directory struct{ path string }

func openDirectory(path string, create bool) (*directory, error) {
	if create {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, unsafeError("does not lie in a directory")
	}
	return &directory{path: path}, nil
}

func (d *directory) close() {}

// owner is the user of this process.
func owner() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	return user.User.Sid, nil
}

// onlyOwner is the security of a new file: owned by the user, whom the one entry
// of its protected access list names.
func onlyOwner() (*windows.SecurityAttributes, error) {
	sid, err := owner()
	if err != nil {
		return nil, err
	}
	sd, err := windows.SecurityDescriptorFromString("O:" + sid.String() + "D:P(A;;FA;;;" + sid.String() + ")")
	if err != nil {
		return nil, err
	}
	sa := &windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(*sa))
	return sa, nil
}

func (d *directory) open(name string, access, disposition uint32) (*os.File, error) {
	path := filepath.Join(d.path, name)
	wide, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	sa, err := onlyOwner()
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	// A link is opened itself, and refused below.
	const flags = windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_OPEN_REPARSE_POINT
	h, err := windows.CreateFile(wide, access|windows.READ_CONTROL, share, sa, disposition, flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := private(h); err != nil {
		_ = windows.CloseHandle(h) // nothing was written
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// private checks an open file: a regular one, owned by this user, with a
// protected access list of exactly one entry, which is this user's.
func private(h windows.Handle) error {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return err
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return unsafeError("is a symbolic link")
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0 {
		return unsafeError("is not a regular file")
	}
	me, err := owner()
	if err != nil {
		return err
	}
	sd, err := windows.GetSecurityInfo(h, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	of, _, err := sd.Owner()
	if err != nil {
		return err
	}
	if of == nil || !of.Equals(me) {
		return unsafeError("belongs to another user")
	}
	control, _, err := sd.Control()
	if err != nil {
		return err
	}
	acl, _, err := sd.DACL()
	if err != nil || acl == nil || control&windows.SE_DACL_PROTECTED == 0 || acl.AceCount != 1 {
		return unsafeError("is open to others (its access list must be protected and name its owner alone)")
	}
	var ace *windows.ACCESS_ALLOWED_ACE
	if err := windows.GetAce(acl, 0, &ace); err != nil {
		return err
	}
	if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || !(*windows.SID)(unsafe.Pointer(&ace.SidStart)).Equals(me) {
		return unsafeError("is open to others (its access list must name its owner alone)")
	}
	return nil
}

func (d *directory) read(name string) (*os.File, error) {
	return d.open(name, windows.GENERIC_READ, windows.OPEN_EXISTING)
}

func (d *directory) create(name string) (*os.File, error) {
	return d.open(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.CREATE_NEW)
}

func (d *directory) lockFile(name string) (*os.File, error) {
	return d.open(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.OPEN_ALWAYS)
}

func (d *directory) rename(from, to string) error {
	path := filepath.Join(d.path, from)
	old, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return &os.PathError{Op: "rename", Path: path, Err: err}
	}
	next, err := windows.UTF16PtrFromString(filepath.Join(d.path, to))
	if err != nil {
		return &os.PathError{Op: "rename", Path: path, Err: err}
	}
	// A reader, or a virus scanner, can be in the way for a moment.
	for try := 0; ; try++ {
		err = windows.MoveFileEx(old, next, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		switch {
		case err == nil:
			return nil
		case !busy || try == renameTries:
			return &os.PathError{Op: "rename", Path: path, Err: err}
		}
		time.Sleep(renamePause)
	}
}

func (d *directory) remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }

// tryLock takes the lock of an open file, which ends with its handle. It is
// false without an error while somebody else has it.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// output is standard output. When its reader has gone, as head does once it has
// seen enough, what is written is dropped without an error: that says nothing
// about the servers. Any other error is returned and kept, since not everybody
// looks at what a write returns. It is not safe for concurrent use.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if readerGone(err) {
		return len(p), nil
	}
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// readerGone tells the error of a pipe that nobody reads any more.
func readerGone(err error) bool {
	if e := syscall.Errno(0); runtime.GOOS == "windows" && errors.As(err, &e) {
		return e == 109 || e == 232 // ERROR_BROKEN_PIPE, ERROR_NO_DATA
	}
	return errors.Is(err, syscall.EPIPE)
}

// cannotWrite is the error of a report that did not reach standard output.
func cannotWrite(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return hinted(fmt.Errorf("write to standard output: %w", err), "make room there, or send it elsewhere; --quiet is for those who need the exit code only")
}

// writeFile writes what --output names. A file is replaced as a whole, so that a
// reader such as Prometheus' textfile collector never sees half of it; where the
// path is a link, the file that it leads to. What is no file is written to as it
// is, and so is whatever /dev and /proc name, which may be a file in disguise.
func (a *app) writeFile(path string, data []byte) error {
	if slices.Contains([]string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, filepath.Clean(path)) {
		_, err := a.stdout.Write(data)
		return err
	}
	return replaceFile(path, data)
}

func replaceFile(path string, data []byte) error { return replaceAs(path, data, 0o644) }

// replaceAs gives the new file a mode.
func replaceAs(path string, data []byte, mode fs.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A link that leads nowhere yet is replaced itself.
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular() || ofProcess(path):
		return writeThrough(path, data)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // its path is one that nobody gave
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, as it should
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ofProcess tells names of files that are open already.
func ofProcess(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// writeThrough writes to a device or a pipe. A pipe that nobody reads is an error
// and not waited for.
func writeThrough(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%s is a pipe or socket, and nobody reads from it", path)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	if err = errors.Join(err, f.Close()); readerGone(err) {
		return nil
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

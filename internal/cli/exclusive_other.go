//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// staleAfter is when a file of tryExclusive belongs to nobody any more.
const staleAfter = time.Minute

// tryExclusive makes a file beside path, or says that another process has it.
func tryExclusive(path string) (release func(), ok bool) {
	nothing, beside := func() {}, path+".busy"
	if info, err := os.Stat(beside); err == nil && time.Since(info.ModTime()) > staleAfter {
		_ = os.Remove(beside) // one that is open stays
	}
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) && exists(beside) {
		return nothing, false
	}
	if err != nil {
		return nothing, true // whether the file can be written is found out then
	}
	fmt.Fprintln(f, os.Getpid())
	return func() {
		_ = f.Close()
		_ = os.Remove(beside)
	}, true
}

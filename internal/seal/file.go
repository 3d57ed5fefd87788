package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const maxFile = 1 << 20 // bytes; a keyset has some hundred for each key

// Load reads a keyset from a file, which on Unix only its owner may be able to read.
func Load(path string) (*Keyset, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the encryption key %s is no regular file", path)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("the encryption key %s can be read or changed by others (mode %04o): run chmod 600 on it, "+
			"or give the key in an environment variable", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the encryption key %s is too large to be one", path)
	}
	k, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the encryption key %s cannot be used: %w", path, err)
	}
	return k, nil
}

// LoadOrCreate reads the keyset of a file, or makes one where there is no file; created
// tells which. Of several processes that find no file, one makes it, and all get the same.
func LoadOrCreate(path string) (k *Keyset, created bool, err error) {
	k, err = Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, false, err
	}
	k = Generate()
	err = k.write(path, placeNew)
	if errors.Is(err, fs.ErrExist) {
		k, err = Load(path)
		return k, false, err
	}
	if err != nil {
		return nil, false, err
	}
	return k, true, nil
}

// placeNew never replaces a file, but on a file system without hard links, where two that
// start at once can.
func placeNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, exists := os.Lstat(to); exists == nil {
		return err
	}
	return os.Rename(from, to)
}

// Save writes the keyset to a file of mode 0600, in place of the one that is there. The
// file is the old or the new one, whatever happens meanwhile.
func (k *Keyset) Save(path string) error { return k.write(path, os.Rename) }

// write makes a file beside path and lets place put it there.
func (k *Keyset) write(path string, place func(from, to string) error) error {
	text, err := k.json()
	if err != nil {
		return err
	}
	// The mode of what CreateTemp makes is 0600.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // after a rename there is nothing to remove
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = place(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes the name of a new file last, where a directory can be synced.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	defer directory.Close()
	if err := directory.Sync(); err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	return nil
}

package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrBackup is the error of Backup on PostgreSQL.
var ErrBackup = errors.New("a PostgreSQL database is not backed up from here: use pg_dump --format=custom, and pg_restore into an empty database")

// Backup writes a copy of the database, as it is at one moment, to a new file that only
// its owner may read. It may run beside everything else. An existing file is refused,
// and a copy that is not whole is removed.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if s.dialect == Postgres {
		return ErrBackup
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("backup: %w: name a new file", err)
	case err != nil:
		return fmt.Errorf("backup: %w", err)
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := s.copyTo(ctx, path); err != nil {
		return explain(fmt.Errorf("backup to %s: %w", path, err))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// copyTo writes a copy from a connection that reads, so that nobody who writes waits. To
// write another file it must not be held to reading, and is thrown away afterwards.
func (s *Store) copyTo(ctx context.Context, path string) error {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(ctx, "pragma query_only = 0"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "vacuum into $1", path)
	return err
}

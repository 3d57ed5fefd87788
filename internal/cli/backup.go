package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// dataStatus is the part of a help text about exit codes of commands on a monitor's data.
const dataStatus = `
EXIT STATUS
  0  done
  2  it could not be done: wrong usage, a file or a database that cannot be used`

func (a *app) newBackupCommand() *cobra.Command {
	var o databaseOptions
	cmd := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Copy the database of a monitor, also while it runs",
		Long: `Write the database of mcpvigil serve, as it is at one moment, to a new file. The
monitor may go on meanwhile. The encryption key is not part of it: keep a copy of that
apart. A PostgreSQL database has its own tools: pg_dump and pg_restore.
` + dataStatus,
		Args: cobra.ArbitraryArgs,
	}
	o.add(cmd.Flags())
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) {
		return 0, a.runBackup(ctx, g, &o, args)
	})
	return cmd
}

func oneFile(args []string) (string, error) {
	if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
		return "", usageErrorf("give one file", shown(args))
	}
	return args[0], nil
}

func (a *app) runBackup(ctx context.Context, g *given, o *databaseOptions, args []string) error {
	if err := o.check(g); err != nil {
		return err
	}
	path, err := oneFile(args)
	if err != nil {
		return err
	}
	if o.url != "" {
		return hinted(store.ErrBackup, "pg_dump --format=custom --file=FILE DATABASE, and pg_restore --dbname=DATABASE FILE")
	}
	s, err := a.openReader(ctx, o, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Backup(ctx, path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return hinted(fmt.Errorf("the file exists: %s", plain.Line(path, maxShown)), "choose another name")
		}
		return fmt.Errorf("back up: %w", err)
	}
	fmt.Fprintf(a.stdout, "ok: %s\n", plain.Line(path, maxShown))
	a.warn("the encryption key is not part of it; keep a copy of that, too")
	return nil
}

func (a *app) newRestoreCommand() *cobra.Command {
	var o databaseOptions
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Make an empty folder the data of a monitor, from a backup",
		Long: `Copy a backup into the folder of --data, which has to be empty or not there yet. With
--encryption-key-file, that key is tried on the backup and put beside it.
` + dataStatus,
		Args: cobra.ArbitraryArgs,
	}
	o.add(cmd.Flags())
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) {
		return 0, a.runRestore(ctx, g, &o, args)
	})
	return cmd
}

func (a *app) runRestore(ctx context.Context, g *given, o *databaseOptions, args []string) error {
	if err := o.check(g); err != nil {
		return err
	}
	path, err := oneFile(args)
	if err != nil {
		return err
	}
	if o.url != "" {
		return hinted(errors.New("a PostgreSQL database is not restored from here"), "pg_restore --dbname=DATABASE FILE")
	}
	key, err := a.restoredKey(o)
	if err != nil {
		return err
	}
	if err := a.tryBackup(ctx, path, key); err != nil {
		return err
	}
	if err := emptyFolder(o.data); err != nil {
		return err
	}
	if err := copyFile(path, o.path(), 0o600); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if o.keyFile != "" {
		if err := key.Save(filepath.Join(o.data, keyFile)); err != nil {
			return fmt.Errorf("restore the key: %w", err)
		}
	}
	fmt.Fprintf(a.stdout, "ok: %s\n", plain.Line(o.path(), maxShown))
	if key == nil {
		a.warn("put the encryption key that the backup was made with at %s", filepath.Join(o.data, keyFile))
	}
	return nil
}

// restoredKey is the key that is given for a backup, or nil.
func (a *app) restoredKey(o *databaseOptions) (*seal.Keyset, error) {
	key, path, err := a.key(o)
	if !errors.Is(err, errNoKey) {
		return key, err
	}
	if o.keyFile != "" {
		return nil, explainFile(path, fs.ErrNotExist)
	}
	return nil, nil //nolint:nilnil // none is given, and that is no error
}

// tryBackup refuses what is no backup, one of a newer version, and the wrong key.
func (a *app) tryBackup(ctx context.Context, path string, key *seal.Keyset) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		if err == nil {
			err = errors.New("not a file")
		}
		return explainFile(path, err)
	}
	s, err := store.Open(ctx, store.Options{Path: path, Sealer: key, ReadOnly: true})
	if e := (*store.SchemaError)(nil); errors.As(err, &e) && e.Have < e.Known && e.Have > 0 {
		return nil // the next start brings it up to date
	}
	if err != nil {
		return hinted(fmt.Errorf("%s is not a backup that can be restored: %w", plain.Line(path, maxShown), err), "give a file that mcpvigil backup wrote")
	}
	defer s.Close()
	if key == nil {
		return nil
	}
	return fits(ctx, s, key)
}

// emptyFolder makes a folder, or takes one with nothing in it.
func emptyFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return explainFolder(path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return explainFolder(path, err)
	}
	if len(entries) > 0 {
		return hinted(fmt.Errorf("the folder is not empty: %s", plain.Line(path, maxShown)), "name an empty one, or one that does not exist, with --data FOLDER")
	}
	return nil
}

// copyFile copies a file to a place where there is none, whole or not at all.
func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // fails after the rename, as it should
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// newCopyToCommand puts the program into a volume that another container runs it from.
// The image has no cp.
func (a *app) newCopyToCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "copy-to FILE",
		Short:  "Copy this program to a file",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
	}
	cmd.RunE = a.runE(func(_ context.Context, _ *given, args []string) (int, error) {
		path, err := oneFile(args)
		if err != nil {
			return 0, err
		}
		self, err := os.Executable()
		if err != nil {
			return 0, fmt.Errorf("find this program: %w", err)
		}
		return 0, copyFile(self, path, 0o755)
	})
	return cmd
}

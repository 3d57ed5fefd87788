package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

const (
	defaultData  = "mcpvigil-data"
	databaseFile = "mcpvigil.db"
	keyFile      = "encryption.key"
	keyVariable  = "MCPVIGIL_ENCRYPTION_KEY"
)

// databaseOptions say where the data of a monitor is.
type databaseOptions struct {
	data    string
	url     string
	keyFile string
}

func (o *databaseOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupServe, func() {
		fs.StringVar(&o.data, "data", defaultData, "keep the database and the encryption key in `folder`")
		fs.StringVar(&o.url, "database", "", "use the PostgreSQL database at `url` in place of a file (best given as "+"MCPVIGIL_DATABASE, as it may hold a password)")
		fs.StringVar(&o.keyFile, "encryption-key-file", "", "read the encryption key from `file`; the variable "+keyVariable+" may hold the key itself (default: encryption.key in the folder of --data, made when it is missing)")
	})
}

func (o *databaseOptions) check(g *given) error {
	if strings.TrimSpace(o.data) == "" {
		return usageErrorf("--data is empty", "")
	}
	if g.byFlag("database") && o.url == "" {
		return usageErrorf("--database is empty", "")
	}
	return nil
}

func (o *databaseOptions) path() string { return filepath.Join(o.data, databaseFile) }

// folder makes the folder of the data, for its owner alone.
func (o *databaseOptions) folder() error {
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return explainFolder(o.data, err)
	}
	f, err := os.CreateTemp(o.data, ".writable-*")
	if err != nil {
		return explainFolder(o.data, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func explainFolder(path string, err error) error {
	e := hinted(fmt.Errorf("the data folder cannot be used: %s: %w", plain.Line(path, maxShown), bare(err)), "name another with --data FOLDER")
	if errors.Is(err, fs.ErrPermission) {
		return e.hint("or let this user write there")
	}
	return e
}

// bare is an error of a file without its path, which is named already.
func bare(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// opened is an open database with the key that its secrets are sealed with.
type opened struct {
	*store.Store
	key *seal.Keyset
	// keyPath is the file of the key; empty: it came from the environment.
	keyPath string
	// keyMade: the key is new.
	keyMade bool
}

// open opens the database for writing, and makes it and its key when they are missing.
func (a *app) open(ctx context.Context, o *databaseOptions) (*opened, error) {
	if err := o.folder(); err != nil {
		return nil, err
	}
	return a.openWith(ctx, o, true)
}

// openExisting is open for a database that has to be there.
func (a *app) openExisting(ctx context.Context, o *databaseOptions) (*opened, error) {
	if err := o.exists(); err != nil {
		return nil, err
	}
	return a.openWith(ctx, o, false)
}

func (o *databaseOptions) exists() error {
	if o.url != "" {
		return nil
	}
	if _, err := os.Stat(o.path()); err != nil {
		return hinted(fmt.Errorf("there is no database in %s: %w", plain.Line(o.data, maxShown), bare(err)), "name the folder that mcpvigil serve uses with --data, or its PostgreSQL with --database")
	}
	return nil
}

// openReader opens an existing database for reading, beside the process that uses it.
func (a *app) openReader(ctx context.Context, o *databaseOptions, sealer *seal.Keyset) (*store.Store, error) {
	if err := o.exists(); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Options{Path: o.file(), URL: o.url, Sealer: sealer, ReadOnly: true})
	if err != nil {
		return nil, explainDatabase(err)
	}
	return s, nil
}

// file is the database when it is one.
func (o *databaseOptions) file() string {
	if o.url != "" {
		return ""
	}
	return o.path()
}

func (a *app) openWith(ctx context.Context, o *databaseOptions, create bool) (*opened, error) {
	key, path, err := a.key(o)
	fresh := errors.Is(err, errNoKey)
	if err != nil && !fresh {
		return nil, err
	}
	if fresh {
		key = seal.Generate()
	}
	s, err := store.Open(ctx, store.Options{Path: o.file(), URL: o.url, Sealer: key})
	if err != nil {
		return nil, explainDatabase(err)
	}
	out := &opened{Store: s, key: key, keyPath: path, keyMade: fresh}
	err = out.settle(ctx, fresh, create)
	if err == nil {
		err = fits(ctx, s, key)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return out, nil
}

// errNoKey: no key is given, and none was made yet.
var errNoKey = errors.New("there is no encryption key yet")

// key reads the encryption key, and says where it is or is to be.
func (a *app) key(o *databaseOptions) (*seal.Keyset, string, error) {
	text, _ := a.lookup(keyVariable)
	if o.keyFile == "" && text != "" {
		k, err := seal.FromText(text)
		if err != nil {
			return nil, "", hinted(fmt.Errorf("the variable %s: %w", keyVariable, err), "put there what the file of a key holds")
		}
		return k, "", nil
	}
	path := o.keyFile
	if path == "" {
		path = filepath.Join(o.data, keyFile)
	}
	k, err := seal.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, errNoKey
	case err != nil:
		return nil, path, hinted(fmt.Errorf("encryption key: %w", err), "it must be readable by its owner alone; without it, stored header values and channel settings are lost")
	}
	return k, path, nil
}

const (
	canary     = "encryption_canary"
	canaryText = "mcpvigil"
)

// settle keeps a key and a database that do not belong together apart: what one sealed,
// the other would not open. The first start leaves a sealed word in the database.
func (o *opened) settle(ctx context.Context, fresh, create bool) error {
	return o.InTx(ctx, func(t *store.Tx) error {
		stored, err := t.Setting(ctx, canary)
		if err != nil {
			return err
		}
		if stored == "" {
			if fresh && create {
				if err := o.key.Save(o.keyPath); err != nil {
					return hinted(fmt.Errorf("a new encryption key could not be written: %s: %w", plain.Line(o.keyPath, maxShown), bare(err)), "name a place that can be written to with --encryption-key-file")
				}
			}
			return plant(ctx, t, o.key)
		}
		if fresh {
			return hinted(fmt.Errorf("the encryption key of the database is missing: %s", plain.Line(o.keyPath, maxShown)),
				"give the key that it was used with: --encryption-key-file FILE, or the variable %s", keyVariable)
		}
		return nil
	})
}

// explainDatabase adds advice to errors of opening, most of which say what to do.
func explainDatabase(err error) error {
	if e := (*userError)(nil); errors.As(err, &e) {
		return err
	}
	var schema *store.SchemaError
	switch {
	case errors.As(err, &schema):
		return err
	case errors.Is(err, fs.ErrPermission):
		return hinted(fmt.Errorf("open the database: %w", err), "let this user read and write it, or name another folder with --data")
	}
	return fmt.Errorf("open the database: %w", err)
}

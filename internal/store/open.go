package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver sqlite
)

const (
	readers        = 4  // connections of SQLite that read
	poolSize       = 16 // connections to PostgreSQL, unless its URL says another number
	connectTimeout = 10 * time.Second
	oldestPostgres = 130000 // as server_version_num has it
)

// Open opens a database, or makes it, and brings its schema to that of this version.
// Its error is a *SchemaError when the schema is of a newer one.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := connect(ctx, o)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		_ = s.Close()
		return nil, explain(err)
	}
	return s, nil
}

// connect opens a database as it is. There is a store to close whatever the error.
func connect(ctx context.Context, o Options) (*Store, error) {
	s := &Store{sealer: o.Sealer}
	switch {
	case o.Path != "" && o.URL != "":
		return s, errors.New("a database is either a file or a URL, not both")
	case o.Path != "":
		return s, s.openSQLite(ctx, o)
	case o.URL != "":
		return s, s.openPostgres(ctx, o)
	default:
		return s, errors.New("no database is named: give a file, or the URL of a PostgreSQL")
	}
}

// openSQLite opens one connection that writes and some that read.
func (s *Store) openSQLite(ctx context.Context, o Options) error {
	s.dialect = SQLite
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return fmt.Errorf("database file: %w", err)
	}
	if o.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("database file: %w", err)
		}
		return s.openReaders(ctx, path, "ro")
	}
	if path, err = s.own(path); err != nil {
		return err
	}
	s.path = path
	s.write, err = sql.Open("sqlite", sqliteDSN(path, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"journal_size_limit(67108864)",
		},
	}))
	if err != nil {
		return fmt.Errorf("database file %s: %w", path, err)
	}
	s.write.SetMaxOpenConns(1)
	s.keptWrite = newStatements(s.write)
	if err := s.write.PingContext(ctx); err != nil {
		return fmt.Errorf("database file %s: %w", path, err)
	}
	return s.openReaders(ctx, path, "rw")
}

func (s *Store) openReaders(ctx context.Context, path, mode string) error {
	var err error
	s.read, err = sql.Open("sqlite", sqliteDSN(path, url.Values{
		"mode":    {mode},
		"_pragma": {"busy_timeout(5000)", "query_only(1)"},
	}))
	if err == nil {
		s.keptRead = newStatements(s.read)
		s.read.SetMaxOpenConns(readers)
		s.read.SetMaxIdleConns(readers)
		err = s.read.PingContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("database file %s: %w", path, err)
	}
	return nil
}

// own makes the file when it is missing, readable by its owner alone, and locks it for
// this process. It returns where the file really is.
func (s *Store) own(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("database file: the folder %s does not exist: make it first, or name another place", filepath.Dir(path))
	case err != nil:
		return "", fmt.Errorf("database file: %w", err)
	}
	_ = f.Close()
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("database file: %w", err)
	}
	beside := path + ".lock"
	f, err = os.OpenFile(beside, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", fmt.Errorf("lock of the database file: %w", err)
	}
	taken, err := lockFile(f)
	if taken {
		err = errors.New("it is used by another mcpvigil: stop that one, or use PostgreSQL for more than one")
	}
	if err != nil {
		_ = f.Close()
		return "", fmt.Errorf("database file %s: %w", path, err)
	}
	s.unlock = func() { _ = f.Close() } // which ends the lock; the file stays for the next one
	return path, nil
}

// sqliteDSN names a file with parameters; letters that mean something in a URL may be
// part of its path.
func sqliteDSN(path string, parameters url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/data
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}).String()
}

// openPostgres opens a pool of connections. It never repeats the URL in an error: a
// password may be in it.
func (s *Store) openPostgres(ctx context.Context, o Options) error {
	s.dialect = Postgres
	config, err := postgresConfig(o.URL)
	if err != nil {
		return err
	}
	s.pool, err = pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return errors.New("the database URL cannot be used: " + urlHint)
	}
	s.read = stdlib.OpenDBFromPool(s.pool)
	if !o.ReadOnly {
		s.write = s.read
	}
	var version int
	var encoding string
	err = s.read.QueryRowContext(ctx,
		"select current_setting('server_version_num')::int, current_setting('server_encoding')").Scan(&version, &encoding)
	switch {
	case err != nil:
		return fmt.Errorf("PostgreSQL at %s: %w", config.ConnConfig.Host, err)
	case version < oldestPostgres:
		return fmt.Errorf("PostgreSQL at %s is too old: version 13 or newer is needed", config.ConnConfig.Host)
	case encoding != "UTF8":
		return fmt.Errorf("the database %s has the encoding %s: make one with encoding UTF8", config.ConnConfig.Database, encoding)
	}
	return nil
}

const urlHint = "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with letters such as @ : / in the password as %40 %3A %2F"

func postgresConfig(address string) (*pgxpool.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("the database URL cannot be read: " + urlHint)
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the database URL cannot be used, one of its options is wrong: " + urlHint)
	}
	if !u.Query().Has("pool_max_conns") {
		config.MaxConns = poolSize
	}
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > time.Minute {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "mcpvigil"
	}
	return config, nil
}

// Package store keeps what the watch knows, in a SQLite file or in PostgreSQL.
//
// All SQL of the program stands here, as methods of [Tx]. The same text runs on both
// databases; what differs between them is in dialect.go. A transaction of [Store.InTx]
// sees its own writes and leaves all of them or none; one of [Store.View] only reads.
//
// Stored times are UTC milliseconds: what is read is what was written, cut to them.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mcpvigil/mcpvigil/internal/seal"
)

// The dialects.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Options say which database to open: Path or URL, not both.
type Options struct {
	// Path is a SQLite file, which is made when it is missing. One process uses it.
	Path string
	// URL is a PostgreSQL database: postgres://USER@HOST/NAME.
	URL string
	// Sealer encrypts what must not be readable in the database. Without it nothing
	// that needs it can be stored or read.
	Sealer *seal.Keyset
	// ReadOnly opens an existing database of the same schema beside its owner, and
	// changes nothing.
	ReadOnly bool
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	dialect string
	path    string // of a SQLite file
	sealer  *seal.Keyset
	write   *sql.DB // SQLite: one connection
	read    *sql.DB
	pool    *pgxpool.Pool // nil for SQLite
	unlock  func()        // gives up the lock of a SQLite file
	// kept are the statements of write and of read that are prepared, for SQLite.
	keptWrite, keptRead *statements
	packers             sync.Pool // of *gzip.Writer
}

// Dialect is SQLite or Postgres.
func (s *Store) Dialect() string { return s.dialect }

// DB is what writes, for a job queue that keeps its jobs in the same database. On
// SQLite it has one connection: whoever keeps it blocks everybody.
func (s *Store) DB() *sql.DB { return s.write }

// Pool is the pool of connections to PostgreSQL, or nil.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// txTries is how often a transaction is begun, from txPause on ever slower.
const (
	txTries = 6
	txPause = 20 * time.Millisecond
)

// InTx runs fn in a transaction, which is committed when fn returns nil and leaves
// nothing behind otherwise. On SQLite there is one at a time: fn must not wait for
// anything but the database. Where the database was locked, or transactions waited for
// each other, fn runs again, and finds what it left outside of the transaction.
func (s *Store) InTx(ctx context.Context, fn func(*Tx) error) error {
	err := s.once(ctx, fn)
	for n := 1; n < txTries && locked(err); n++ {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(txPause<<n + rand.N(txPause<<n)): // so that two do not meet again
		}
		err = s.once(ctx, fn)
	}
	return err
}

// once is InTx without a second try.
func (s *Store) once(ctx context.Context, fn func(*Tx) error) error {
	if s.write == nil {
		return errors.New("the database is open for reading only")
	}
	return s.run(ctx, s.write, s.keptWrite, nil, fn)
}

// View runs fn in a transaction that cannot write and sees one state of the database.
func (s *Store) View(ctx context.Context, fn func(*Tx) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if s.dialect == Postgres {
		options.Isolation = sql.LevelRepeatableRead
	}
	return s.run(ctx, s.read, s.keptRead, options, fn)
}

func (s *Store) run(ctx context.Context, db *sql.DB, kept *statements, options *sql.TxOptions, fn func(*Tx) error) error {
	kept.prepare(ctx)
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return explain(fmt.Errorf("begin a transaction: %w", err))
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	t := &Tx{tx: tx, store: s, reads: options != nil, kept: kept}
	err = fn(t)
	if err == nil {
		err = t.writeAudit(ctx)
	}
	if err != nil {
		return explain(err)
	}
	if err := tx.Commit(); err != nil {
		return explain(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.read.QueryRowContext(ctx, "select 1").Scan(&one); err != nil {
		return explain(fmt.Errorf("the database does not answer: %w", err))
	}
	return nil
}

// Close ends all connections and gives the file free.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.unlock != nil {
		s.unlock()
	}
	return errors.Join(errs...)
}

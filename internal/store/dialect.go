package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The codes of PostgreSQL that explain or callers know.
const (
	pgUnique       = "23505"
	pgPermission   = "42501"
	pgPassword     = "28P01"
	pgUser         = "28000"
	pgDatabase     = "3D000"
	pgDiskFull     = "53100"
	pgConnections  = "53300"
	pgStarting     = "57P03"
	pgShutdown     = "57P01"
	pgCrash        = "57P02"
	pgReadOnly     = "25006"
	pgDeadlock     = "40P01"
	pgSerializable = "40001"
)

// violates says which unique value an error is about, or nothing: a text that holds
// the name of its column or index.
func violates(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgUnique {
		return pg.ConstraintName
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
			return lite.Error()
		}
	}
	return ""
}

// exists makes an *ExistsError of an error about a unique value in one of the columns.
func exists(err error, columns ...string) error {
	about := violates(err)
	if about == "" {
		return err
	}
	for _, column := range columns {
		if strings.Contains(about, "_"+column+"_key") || strings.Contains(about, "."+column) {
			return &ExistsError{Field: column}
		}
	}
	return err
}

// outage is the error of a database that cannot do what is right to ask of it.
type outage struct {
	error
	hint string
}

func (o *outage) Error() string { return o.error.Error() + ": " + o.hint }
func (o *outage) Unwrap() error { return o.error }

// Unavailable tells whether an error is of a database that cannot be reached or takes
// nothing now: the same may work later, as nothing is wrong with what was asked.
func Unavailable(err error) bool {
	var o *outage
	return errors.As(err, &o)
}

// explain adds what to do to errors of a database, where the program is not at fault.
func explain(err error) error {
	if hint := hint(err); hint != "" {
		return &outage{error: err, hint: hint}
	}
	return err
}

func hint(err error) string {
	var (
		pg      *pgconn.PgError
		connect *pgconn.ConnectError
		dns     *net.DNSError
		network *net.OpError
		lite    *sqlite.Error
	)
	switch {
	case errors.As(err, &pg):
		return postgresHint(pg.Code)
	case errors.As(err, &lite):
		return sqliteHint(lite.Code() & 0xff)
	case errors.As(err, &dns):
		return "the name of its host is not known: check the database URL"
	case errors.As(err, &connect) && !errors.Is(err, context.Canceled):
		return "it cannot be reached: check host and port in the database URL, and that PostgreSQL runs there"
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, driver.ErrBadConn):
		return "the connection to it was lost"
	}
	return ""
}

func postgresHint(code string) string {
	switch code {
	case pgPermission:
		return "make the user of the database URL the owner of the database, or: grant create on schema public to it"
	case pgPassword, pgUser:
		return "check user and password in the database URL"
	case pgDatabase:
		return "make the database first: createdb NAME"
	case pgDiskFull:
		return "the disk of the database is full: make room there"
	case pgConnections:
		return "raise max_connections of PostgreSQL, or lower pool_max_conns in the database URL"
	case pgStarting, pgShutdown, pgCrash:
		return "PostgreSQL is starting or stopping: try again in a moment"
	case pgReadOnly:
		return "the database takes no changes: is it a standby?"
	}
	return ""
}

func sqliteHint(code int) string {
	switch code {
	case sqlite3.SQLITE_FULL:
		return "the disk is full: make room, nothing that was committed is lost"
	case sqlite3.SQLITE_NOTADB:
		return "the file is no SQLite database: name another one"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged: restore a backup"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "check the permissions of the file and of its folder, which has to be writable too"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another program uses the file: stop that one"
	case sqlite3.SQLITE_IOERR:
		return "the file system fails: check the disk"
	}
	return ""
}

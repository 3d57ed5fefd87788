package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
)

// databases opens each database that the store speaks, empty.
func databases(t *testing.T) map[string]store.Options {
	return map[string]store.Options{
		store.SQLite:   {Path: filepath.Join(t.TempDir(), "watch ü?#%20.db")},
		store.Postgres: {URL: storetest.Postgres(t)},
	}
}

func TestOpenAgain(t *testing.T) {
	for dialect, options := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			s, err := store.Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			storetest.Insert(t, s, 1, nil)
			if s.Dialect() != dialect || s.DB() == nil || (s.Pool() != nil) != (dialect == store.Postgres) {
				t.Errorf("dialect %s, database %v, pool %v", s.Dialect(), s.DB(), s.Pool())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, options)
			if got := names(t, s); got != "monitor-0001" {
				t.Errorf("it has the monitors %q", got)
			}
			if options.Path != "" {
				info, err := os.Stat(options.Path)
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the file: mode %v, error %v", info.Mode(), err)
				}
			}
		})
	}
}

func names(t *testing.T, s *store.Store) string {
	t.Helper()
	var names []string
	err := s.View(t.Context(), func(tx *store.Tx) error {
		monitors, err := tx.AllMonitors(t.Context())
		for i := range monitors {
			names = append(names, monitors[i].Definition.Name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestNewerSchema(t *testing.T) {
	for dialect, options := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			s, err := store.Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.DB().ExecContext(t.Context(), "insert into mcpvigil_schema (version_id, is_applied) values (99, true)")
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first time leaves no lock
				_, err = store.Open(t.Context(), options)
				var schema *store.SchemaError
				if !errors.As(err, &schema) || schema.Have != 99 || !strings.Contains(err.Error(), "run the newer version") {
					t.Errorf("got error %v", err)
				}
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	for dialect, options := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			reading := options
			reading.ReadOnly = true
			if _, err := store.Open(t.Context(), reading); err == nil {
				t.Error("an empty database was opened to be read only")
			}
			storetest.Insert(t, open(t, options), 1, nil)
			s := open(t, reading) // beside its owner
			if got := names(t, s); got != "monitor-0001" {
				t.Errorf("it has the monitors %q", got)
			}
			if err := s.InTx(t.Context(), func(*store.Tx) error { return nil }); err == nil || s.DB() != nil {
				t.Error("it can be written")
			}
		})
	}
}

func TestReadersCannotWrite(t *testing.T) {
	for dialect, options := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			s := open(t, options)
			err := s.View(t.Context(), func(tx *store.Tx) error {
				_, err := tx.SQL().ExecContext(t.Context(), "insert into settings (name, value) values ('a', 'b')")
				return err
			})
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "read") {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestOpenAtOnce(t *testing.T) {
	options := store.Options{URL: storetest.Postgres(t)}
	stores, errs := make([]*store.Store, 4), make([]error, 4)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = store.Open(t.Context(), options) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		defer func() { _ = s.Close() }()
	}
	var all, versions int
	err := stores[0].DB().QueryRowContext(t.Context(), "select count(*), count(distinct version_id) from mcpvigil_schema").Scan(&all, &versions)
	if err != nil || all != versions || all < 3 {
		t.Errorf("%d migrations were applied, of %d versions, error %v", all, versions, err)
	}
}

func TestOneProcessOwnsAFile(t *testing.T) {
	dir := t.TempDir()
	options := store.Options{Path: filepath.Join(dir, "watch.db")}
	s, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(options.Path, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{options.Path, link} {
		_, err := store.Open(t.Context(), store.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "used by another mcpvigil") {
			t.Errorf("%s: got error %v", path, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, options)
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	good, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	edited := func(edit func(*url.URL)) string {
		u := *good
		u.User = url.UserPassword("postgres", "pa55word")
		edit(&u)
		return u.String()
	}
	admin := open(t, store.Options{URL: good.String()})
	for _, statement := range []string{"create role guest login", "create database other"} {
		if _, err := admin.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_, err := admin.DB().ExecContext(context.WithoutCancel(t.Context()), "drop database other")
		_, err2 := admin.DB().ExecContext(context.WithoutCancel(t.Context()), "drop role guest")
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name    string
		options store.Options
		want    string
	}{
		{"nothing", store.Options{}, "no database is named"},
		{"both", store.Options{Path: text, URL: good.String()}, "not both"},
		{"no folder", store.Options{Path: filepath.Join(dir, "no", "watch.db")}, "make it first"},
		{"a folder", store.Options{Path: dir}, "is a directory"},
		{"no database", store.Options{Path: text}, "no SQLite database"},
		{"no URL", store.Options{URL: "host=127.0.0.1 password=pa55word"}, "write postgres://"},
		{"another scheme", store.Options{URL: edited(func(u *url.URL) { u.Scheme = "mysql" })}, "write postgres://"},
		{"a port that is none", store.Options{URL: "postgres://me:pa55word@host:port/db"}, "write postgres://"},
		{"a password that is not escaped", store.Options{URL: "postgres://me:pa55word/%@host/db"}, "write postgres://"},
		{"an option that is wrong", store.Options{URL: edited(func(u *url.URL) { u.RawQuery = "sslmode=perhaps" })}, "options is wrong"},
		{"nobody listens", store.Options{URL: edited(func(u *url.URL) { u.Host = closedPort(t) })}, "check host and port"},
		{"no such database", store.Options{URL: edited(func(u *url.URL) { u.Path = "/missing" })}, "createdb"},
		{"no such user", store.Options{URL: edited(func(u *url.URL) { u.User = url.UserPassword("nobody", "pa55word") })}, "check user and password"},
		{"no permission", store.Options{URL: edited(func(u *url.URL) { u.User = url.User("guest"); u.Path = "/other" })}, "grant create on schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), c.options)
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pa55word") {
				t.Errorf("got error %q, want %q in it, and no password", err, c.want)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// A disk that is full is stood for by a limit of the file's size, which gives the same
// error.
func TestFullDisk(t *testing.T) {
	s := open(t, store.Options{Path: filepath.Join(t.TempDir(), "watch.db")})
	if _, err := s.DB().ExecContext(t.Context(), "pragma max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	storetest.Insert(t, s, 1, nil)
	write := func() error {
		return s.InTx(t.Context(), func(tx *store.Tx) error {
			for i := range 500 {
				m := storetest.NewMonitor(fmt.Sprintf("more-%d", i))
				m.Definition.ExpectedTools = []string{strings.Repeat("x", 1000)}
				if err := tx.InsertMonitor(t.Context(), &m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := write(); !store.Unavailable(err) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got error %v", err)
	}
	if got := names(t, s); got != "monitor-0001" {
		t.Errorf("it has the monitors %q", got)
	}
	if _, err := s.DB().ExecContext(t.Context(), "pragma max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestDurable(t *testing.T) {
	s := open(t, store.Options{Path: filepath.Join(t.TempDir(), "watch.db")})
	for _, c := range []struct {
		db     *sql.DB
		pragma string
		want   string
	}{
		{s.DB(), "journal_mode", "wal"}, {s.DB(), "synchronous", "2"}, {s.DB(), "foreign_keys", "1"}, {s.DB(), "busy_timeout", "5000"},
	} {
		var got string
		if err := c.db.QueryRowContext(t.Context(), "pragma "+c.pragma).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s is %q, want %q, error %v", c.pragma, got, c.want, err)
		}
	}
	if n := s.DB().Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d connections write", n)
	}
}

// TestUnavailable: what is no fault of who asked is told from what is.
func TestUnavailable(t *testing.T) {
	for name, text := range map[string]string{
		"the server ends":  "select pg_terminate_backend(pg_backend_pid())",
		"the disk is full": `do $$ begin raise exception 'no space' using errcode = '53100'; end $$`,
		"too many clients": `do $$ begin raise exception 'too many' using errcode = '53300'; end $$`,
		"no such table":    "select * from nothing",
		"taken":            `do $$ begin raise exception 'twice' using errcode = '23505'; end $$`,
	} {
		s := open(t, store.Options{URL: storetest.Postgres(t)})
		err := s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(t.Context(), text)
			return err
		})
		if want := strings.HasPrefix(name, "the ") || strings.HasPrefix(name, "too "); err == nil || store.Unavailable(err) != want {
			t.Errorf("%s: unavailable is %t, want %t: %v", name, !want, want, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
	_, err := store.Open(t.Context(), store.Options{URL: "postgres://nobody@" + closedPort(t) + "/none?sslmode=disable"})
	if !store.Unavailable(err) {
		t.Errorf("nobody listens: %v", err)
	}
}

package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// hold locks what writers need, as another program would, until release is called.
func (b *bench) hold() (release func()) {
	b.Helper()
	driver, address, lock := "sqlite", b.options.Path, "begin immediate"
	if b.Dialect() == store.Postgres {
		driver, address, lock = "pgx", b.options.URL, "begin; lock table results, rollups, events in access exclusive mode"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.ExecContext(b.Context(), lock); err != nil {
		b.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "rollback"); err != nil {
			b.Error(err)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			b.Error(err)
		}
	}
}

// testLock holds a lock longer than one attempt waits for it.
func testLock(t *testing.T, b *bench) {
	m := b.monitor("search")
	now := at(10*24, 0)
	var results []watch.Result
	for i := range 10 * 288 {
		results = append(results, result(m, day0().Add(time.Duration(i)*5*time.Minute), "healthy", 1))
	}
	b.insert(results...)
	const most = 6500 * time.Millisecond
	release := b.hold()
	start := time.Now()
	timer := time.AfterFunc(most, release)
	defer timer.Stop()
	kept, wrote := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.Retain(context.Background(), now.Add(5*time.Minute), store.Retention{})
		kept <- err
	}()
	go func() {
		// Half a lock later, so that one wait is enough where it is the database's own.
		time.Sleep(most / 2)
		wrote <- b.InTx(context.Background(), func(tx *store.Tx) error {
			_, err := tx.InsertResults(context.Background(), []watch.Result{result(m, now, "healthy", 1)})
			return err
		})
	}()
	for name, done := range map[string]chan error{"retention": kept, "a result": wrote} {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end", name)
		}
	}
	if took := time.Since(start); took < most {
		t.Errorf("everything was done after %s, with a lock held for %s", took, most)
	}
	same(t, "results", 2*288+1, b.number("select count(*) from results"))
	same(t, "days", 10, b.number("select count(*) from rollups where period = $1", store.Daily.Milliseconds()))
	want := store.Counts{Checks: 2880, Up: 2880}
	same(t, "uptime", want, b.uptime(m, day0(), now).Counts)

	t.Run("a lock that stays ends with the context", func(t *testing.T) {
		b := b.on(t)
		release := b.hold()
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		b.rollupFails(ctx)
	})
}

func (b *bench) rollupFails(ctx context.Context) {
	b.Helper()
	done := make(chan error, 1)
	go func() { done <- b.Rollup(ctx, store.Daily, at(8*24, 0), at(10*24, 0)) }()
	select {
	case err := <-done:
		if err == nil {
			b.Error("rollups are made in a database that is locked")
		}
	case <-time.After(30 * time.Second):
		b.Error("it waits longer than the context")
	}
}

func testBackup(t *testing.T, b *bench) {
	path := filepath.Join(t.TempDir(), "backup.db")
	if b.Dialect() == store.Postgres {
		wantError(t, b.Backup(t.Context(), path), store.ErrBackup)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file is there: %v", err)
		}
		return
	}
	m := b.monitor("search")
	c := channel("pager")
	b.do(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &c) })
	// Someone writes all the time, two rows in each transaction.
	ctx, stop := context.WithCancel(t.Context())
	wrote := make(chan int, 1)
	started := make(chan struct{})
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			slot := day0().Add(time.Duration(2*n) * time.Second)
			pair := []watch.Result{result(m, slot, "healthy", 1), result(m, slot.Add(time.Second), "healthy", 1)}
			err := b.InTx(ctx, func(tx *store.Tx) error {
				_, err := tx.InsertResults(ctx, pair)
				return err
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			if n == 20 {
				close(started)
			}
		}
		wrote <- n
	}()
	<-started
	// As another process does it, beside the one that writes.
	beside := b.options
	beside.ReadOnly = true
	if err := b.open(beside).Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	stop()
	<-wrote
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "mode", fs.FileMode(0o600), info.Mode())

	whole := filepath.Join(t.TempDir(), "whole.db")
	if err := b.Backup(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	restored := func(path string) *bench {
		o := b.options
		o.Path = path
		r := &bench{T: t, options: o}
		r.Store = r.open(o)
		return r
	}
	r := restored(whole)
	for _, table := range []string{"monitors", "schedule", "results", "channels", "settings", "events"} {
		same(t, table, b.dump(table), r.dump(table))
	}
	r.do(func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.ChannelByName(ctx, "pager")
		same(t, "channel", &c, got)
		return err
	})
	if n := restored(path).number("select count(*) from results"); n < 40 || n%2 != 0 {
		t.Errorf("a copy that was made while others wrote has %d results", n)
	}

	t.Run("refused", func(t *testing.T) { testBackupRefused(t, b.on(t)) })
}

func testBackupRefused(t *testing.T, b *bench) {
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.Backup(t.Context(), mine), fs.ErrExist)
	if body, err := os.ReadFile(mine); err != nil || !bytes.Equal(body, []byte("mine")) {
		t.Errorf("the file is now %q, %v", body, err)
	}
	if err := b.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	half := filepath.Join(t.TempDir(), "half")
	if err := b.Backup(canceled, half); err == nil {
		t.Error("a backup that was canceled is none")
	}
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not whole stays: %v", err)
	}
}

// dump is a table as text.
func (b *bench) dump(table string) string {
	b.Helper()
	var out bytes.Buffer
	b.do(func(ctx context.Context, t *store.Tx) error {
		rows, err := t.SQL().QueryContext(ctx, "select * from "+table+" order by 1, 2")
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				return err
			}
			fmt.Fprintln(&out, values...)
		}
		return rows.Err()
	})
	return out.String()
}

func testRekey(t *testing.T, b *bench) {
	m := b.monitor("search")
	b.monitor("without headers")
	c := channel("pager")
	headers := map[string]string{"X-Key": "s3cret"}
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.PutChannel(ctx, &c); err != nil {
			return err
		}
		return t.SetHeaders(ctx, m, headers)
	})
	next := b.options
	next.Sealer = seal.Generate()
	if err := b.Rekey(t.Context(), next.Sealer); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(o store.Options) (settings, values map[string]string, errs [2]error) {
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.View(t.Context(), func(tx *store.Tx) error {
			got, err := tx.ChannelByName(t.Context(), "pager")
			if errs[0] = err; err == nil {
				settings = got.Settings
			}
			values, errs[1] = tx.Headers(t.Context(), m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return settings, values, errs
	}
	settings, values, errs := read(next)
	if errs != [2]error{} {
		t.Fatal(errs)
	}
	same(t, "settings", c.Settings, settings)
	same(t, "headers", headers, values)
	if _, _, errs := read(b.options); errs[0] == nil || errs[1] == nil {
		t.Errorf("the old key still opens: %v", errs)
	}
	t.Run("with a key that opens nothing", func(t *testing.T) {
		b := b.on(t)
		b.Store = b.open(b.options)
		if err := b.Rekey(t.Context(), seal.Generate()); err == nil {
			t.Error("sealed anew with what could not be opened")
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, errs := read(next); errs != [2]error{} {
			t.Errorf("it left something behind: %v", errs)
		}
	})
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// partitionDays is for how many days ahead there are partitions of results on PostgreSQL.
const partitionDays = 3

const (
	pgCheck         = "23514" // rows of the day are in the default partition
	pgLockTimeout   = "55P03"
	pgTableExists   = "42P07"
	partitionPrefix = "results_"
	partitionDate   = "20060102"
)

// locked reports whether an error is that somebody else has locked something for now.
func locked(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == pgLockTimeout || pg.Code == pgDeadlock || pg.Code == pgSerializable
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		code := lite.Code() & 0xff
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return false
}

// lockTries is how often a lock is tried that others have to wait behind, for lockWait
// each, before it is left to the next time.
const (
	lockTries = 10
	lockWait  = "200ms"
)

// briefly is once for what locks a whole table on PostgreSQL: it waits for the lock only
// for a moment, as everybody waits behind it, and tries again some times.
func (s *Store) briefly(ctx context.Context, fn func(*Tx) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, func(t *Tx) error {
			if t.postgres() {
				if _, err := t.exec(ctx, "set local lock_timeout = '"+lockWait+"'"); err != nil {
					return err
				}
			}
			return fn(t)
		})
		if err == nil || !locked(err) || try == lockTries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(time.Second):
		}
	}
}

// makePartitions makes those of today and of the days ahead. A day that has results in
// the default partition already stays there.
func (s *Store) makePartitions(ctx context.Context, now time.Time) error {
	if s.dialect != Postgres {
		return nil
	}
	today := now.UTC().Truncate(day)
	for i := range partitionDays + 1 {
		from := today.Add(time.Duration(i) * day)
		err := s.briefly(ctx, func(t *Tx) error { return t.makePartition(ctx, from) })
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == pgCheck || pg.Code == pgTableExists) {
			continue
		}
		if err != nil {
			return fmt.Errorf("make the partition of %s: %w", from.Format(time.DateOnly), err)
		}
	}
	return nil
}

func (t *Tx) makePartition(ctx context.Context, from time.Time) error {
	name, to := partitionPrefix+from.Format(partitionDate), from.Add(day)
	var skip bool
	err := t.one(ctx, "select to_regclass($1) is not null or exists (select 1 from results_default where slot >= $2 and slot < $3)",
		[]any{name, ms(from), ms(to)}, &skip)
	if err != nil || skip {
		return err
	}
	_, err = t.exec(ctx, fmt.Sprintf("create table %s partition of results for values from (%d) to (%d)", name, ms(from), ms(to)))
	return err
}

// dropPartitions drops the days that end before a time, and what is before it in the
// default partition.
func (s *Store) dropPartitions(ctx context.Context, before int64, done *Retained) error {
	var names []string
	err := s.View(ctx, func(t *Tx) error {
		query := `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
			where i.inhparent = 'results'::regclass order by c.relname`
		return t.each(ctx, query, nil, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("list the partitions of results: %w", err)
	}
	for _, name := range names {
		from, err := time.Parse(partitionDate, strings.TrimPrefix(name, partitionPrefix))
		if err != nil || ms(from.Add(day)) > before {
			continue // the default, or a day that is kept
		}
		err = s.briefly(ctx, func(t *Tx) error {
			_, err := t.exec(ctx, "drop table if exists "+name)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop the partition %s: %w", name, err)
		}
		done.Partitions++
	}
	return s.drop(ctx, "results_default", "ctid", "slot < $1", before, &done.Results)
}

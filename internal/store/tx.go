package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// Tx is a transaction. It is used by one goroutine and ends with the function that it
// was given to.
type Tx struct {
	tx    *sql.Tx
	store *Store
	reads bool // it cannot write
	kept  *statements
	// axes are those of the states that were read.
	axes map[int64]axes
	// spread is in which time the first checks of new monitors start, if not in firstWithin.
	spread time.Duration
	// audits are entries that are written when the transaction ends.
	audits []people.AuditEntry
}

// SQL is the transaction itself, for a job queue.
func (t *Tx) SQL() *sql.Tx { return t.tx }

func (t *Tx) postgres() bool { return t.store.dialect == Postgres }

// exec runs one statement and returns how many rows it touched.
func (t *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	var result sql.Result
	var err error
	if statement := t.kept.get(query); statement != nil {
		result, err = t.tx.StmtContext(ctx, statement).ExecContext(ctx, args...)
	} else {
		result, err = t.tx.ExecContext(ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *Tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := t.kept.get(query); statement != nil {
		return t.tx.StmtContext(ctx, statement).QueryContext(ctx, args...) //nolint:sqlclosecheck // it ends with the transaction
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// one reads one row into dest. Its error is ErrNotFound when there is none.
func (t *Tx) one(ctx context.Context, query string, args []any, dest ...any) error {
	found := false
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	})
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}

// each calls scan for every row that a query gives.
func (t *Tx) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := t.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return drain(rows, scan)
}

func drain(rows *sql.Rows, scan func(*sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// batch is rows of values for one statement, which reads them from the table r by
// writing $ROWS in its from clause. Columns are their names and types as PostgreSQL
// writes them: "monitor bigint, location text". On PostgreSQL the statement runs once
// over all rows; on SQLite once for each of them, prepared.
type batch struct {
	columns string
	rows    [][]any
}

func (b *batch) add(values ...any) { b.rows = append(b.rows, values) }

// last keeps of rows that are equal in the first n columns the last one. A statement
// that updates on a conflict must not meet the same row twice.
func (b *batch) last(n int) {
	seen := map[string]int{}
	kept := b.rows[:0]
	for _, row := range b.rows {
		key := fmt.Sprintf("%q", row[:n])
		if i, ok := seen[key]; ok {
			kept[i] = row
			continue
		}
		seen[key] = len(kept)
		kept = append(kept, row)
	}
	b.rows = kept
}

// execBatch runs a statement for the rows of b.
func (t *Tx) execBatch(ctx context.Context, query string, b *batch) error {
	return t.runBatch(ctx, query, b, nil)
}

// queryBatch is execBatch for a statement that gives rows, such as one with returning.
func (t *Tx) queryBatch(ctx context.Context, query string, b *batch, scan func(*sql.Rows) error) error {
	return t.runBatch(ctx, query, b, scan)
}

func (t *Tx) runBatch(ctx context.Context, query string, b *batch, scan func(*sql.Rows) error) error {
	if len(b.rows) == 0 {
		return nil
	}
	if t.postgres() {
		return t.each(ctx, b.unnest(query), b.arrays(), scan)
	}
	statement, err := t.prepared(ctx, b.selected(query))
	if err != nil {
		return err
	}
	defer func() { _ = statement.Close() }()
	row := context.WithoutCancel(ctx) // one row is short: nothing has to watch over it
	for _, values := range b.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if scan == nil {
			_, err = statement.ExecContext(row, values...)
		} else {
			err = queryRow(row, statement, values, scan)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func queryRow(ctx context.Context, statement *sql.Stmt, values []any, scan func(*sql.Rows) error) error {
	rows, err := statement.QueryContext(ctx, values...)
	if err != nil {
		return err
	}
	return drain(rows, scan)
}

// prepared is a statement of this transaction.
func (t *Tx) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement := t.kept.get(query); statement != nil {
		return t.tx.StmtContext(ctx, statement), nil
	}
	return t.tx.PrepareContext(ctx, query)
}

// unnest is the query with $ROWS as the columns of arrays.
func (b *batch) unnest(query string) string {
	var arrays, names []string
	for i, column := range strings.Split(b.columns, ", ") {
		name, kind, _ := strings.Cut(column, " ")
		arrays = append(arrays, "$"+strconv.Itoa(i+1)+"::"+kind+"[]")
		names = append(names, name)
	}
	return strings.ReplaceAll(query, "$ROWS",
		"unnest("+strings.Join(arrays, ", ")+") as r ("+strings.Join(names, ", ")+")")
}

func (b *batch) arrays() []any {
	columns := make([]any, len(b.rows[0]))
	for i := range columns {
		column := make([]any, len(b.rows))
		for j, row := range b.rows {
			column[j] = row[i]
		}
		columns[i] = column
	}
	return columns
}

// selected is the query with $ROWS as one row of parameters.
func (b *batch) selected(query string) string {
	var values []string
	for i, column := range strings.Split(b.columns, ", ") {
		name, _, _ := strings.Cut(column, " ")
		values = append(values, "$"+strconv.Itoa(i+1)+" as "+name)
	}
	return strings.ReplaceAll(query, "$ROWS", "(select "+strings.Join(values, ", ")+") as r")
}

// in is a condition that column is in the list that is parameter n, which list gives.
func (t *Tx) in(column string, n int) string {
	if t.postgres() {
		return column + " = any($" + strconv.Itoa(n) + ")"
	}
	return column + " in (select value from json_each($" + strconv.Itoa(n) + "))"
}

// list is the parameter for in.
func list[T int64 | string](t *Tx, values []T) any {
	if t.postgres() {
		return values
	}
	out, _ := json.Marshal(values) // numbers and texts always have a JSON
	return string(out)
}

// lock is the end of a query whose rows stay as they are until the transaction ends;
// nothing where that holds anyway. mode is update or no key update, with what follows.
func (t *Tx) lock(mode string) string {
	if !t.postgres() || t.reads {
		return ""
	}
	return " for " + mode
}

// conditions collects what a where clause asks, and its parameters.
type conditions struct {
	text []string
	args []any
}

// and adds a condition; every ? in it is the next of args.
func (c *conditions) and(text string, args ...any) {
	for _, arg := range args {
		c.args = append(c.args, arg)
		text = strings.Replace(text, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.text = append(c.text, text)
}

// where is the clause, or nothing.
func (c *conditions) where() string {
	if len(c.text) == 0 {
		return ""
	}
	return " where " + strings.Join(c.text, " and ")
}

// limited is a limit between 1 and most; 0 is most.
func limited(limit, most int) int {
	if limit <= 0 || limit > most {
		return most
	}
	return limit
}

// ms is a time as it is stored; 0 for the zero time.
func ms(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// nullMs is ms with null for the zero time.
func nullMs(at time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: ms(at), Valid: !at.IsZero()}
}

// fromMs is the inverse of ms.
func fromMs(stored int64) time.Time {
	if stored == 0 {
		return time.Time{}
	}
	return time.UnixMilli(stored).UTC()
}

// fromNullMs is the inverse of nullMs.
func fromNullMs(stored sql.NullInt64) time.Time { return fromMs(stored.Int64) }

// nullID is null for 0.
func nullID(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// encode is the JSON of a value of this program.
func encode(value any) (string, error) {
	out, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write a %T: %w", value, err)
	}
	return string(out), nil
}

// decode reads what encode wrote.
func decode[T string | []byte](stored T, value any) error {
	if err := json.Unmarshal([]byte(stored), value); err != nil {
		return fmt.Errorf("read a stored %T: %w", value, err)
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// ErrCursor is the error for a cursor that no page gave.
var ErrCursor = errors.New("the cursor is none that a page before gave")

// ResultFilter selects results of one monitor with slots in [From, To), the latest
// first. A zero time is no limit. After is the cursor that the page before gave; Limit
// is at most 10,000, and that when it is 0.
type ResultFilter struct {
	Monitor  int64
	From, To time.Time
	// Failing leaves out what was healthy, and slots in which nothing ran.
	Failing bool
	After   string
	Limit   int
}

const resultColumns = `slot, location, kind, started, status, reason, step, message,
	total_ms, init_ms, list_ms, dns_ms, tcp_ms, tls_ms, first_byte_ms, tools, digest, maintenance`

// Results reads a page of results; next is the cursor of the page after it, empty after
// the last. Its error is ErrCursor for a cursor that is none.
func (t *Tx) Results(ctx context.Context, f ResultFilter) (results []watch.Result, next string, err error) {
	var c conditions
	c.and("monitor = ?", f.Monitor)
	if !f.From.IsZero() {
		c.and("slot >= ?", ms(f.From))
	}
	if !f.To.IsZero() {
		c.and("slot < ?", ms(f.To))
	}
	if f.Failing {
		c.and("status not in ('healthy', '')")
	}
	if f.After != "" {
		slot, kind, location, err := readCursor(f.After)
		if err != nil {
			return nil, "", err
		}
		c.and("slot <= ?", slot)
		c.and("(slot, kind, location) < (?, ?, ?)", slot, kind, location)
	}
	limit := limited(f.Limit, 10_000)
	query := fmt.Sprintf("select %s from results%s order by slot desc, kind desc, location desc limit %d",
		resultColumns, c.where(), limit+1)
	err = t.each(ctx, query, c.args, func(rows *sql.Rows) error {
		r, err := scanResult(rows)
		r.Monitor = f.Monitor
		results = append(results, r)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read results: %w", err)
	}
	if len(results) > limit {
		results = results[:limit]
		last := results[limit-1]
		next = fmt.Sprintf("%d/%s/%s", ms(last.Slot), last.Kind, last.Location)
	}
	return results, next, nil
}

func readCursor(text string) (slot int64, kind, location string, err error) {
	first, rest, found := strings.Cut(text, "/")
	kind, location, more := strings.Cut(rest, "/")
	slot, err = strconv.ParseInt(first, 10, 64)
	if err != nil || !found || !more {
		return 0, "", "", ErrCursor
	}
	return slot, kind, location, nil
}

func scanResult(rows *sql.Rows) (watch.Result, error) {
	var r watch.Result
	var slot, started int64
	var tools sql.NullInt64
	var digest string
	err := rows.Scan(&slot, &r.Location, &r.Kind, &started, &r.Status, &r.Reason, &r.Step, &r.Message,
		&r.Timing.Total, &r.Timing.Init, &r.Timing.List, &r.Timing.DNS, &r.Timing.TCP, &r.Timing.TLS, &r.Timing.FirstByte,
		&tools, &digest, &r.Maintenance)
	if err != nil {
		return r, err
	}
	r.Slot, r.Started = fromMs(slot), fromMs(started)
	if tools.Valid {
		n := int(tools.Int64)
		r.Tools = &n
	}
	if digest != "" {
		var d surface.Digest
		if err := d.UnmarshalText([]byte(digest)); err != nil {
			return r, fmt.Errorf("read the digest of a result: %w", err)
		}
		r.Digest = d
	}
	return r, nil
}

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Uptime is how the scheduled checks of a monitor went in a time. Only Up, Degraded and
// Down say something of the server, and make Ratio.
type Uptime struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Ratio is (Up + Degraded) / (Up + Degraded + Down), or nil without any of them.
	Ratio *float64 `json:"ratio"`
	Counts
}

// Uptime is that of [from, to). Where raw results were dropped it counts the finest
// rollups that are kept, whole buckets, so that From may be a little earlier and To a
// little later.
func (t *Tx) Uptime(ctx context.Context, monitor int64, from, to time.Time) (Uptime, error) {
	u := Uptime{From: fromMs(ms(from)), To: fromMs(ms(to))}
	raw, err := t.mark(ctx, resultsFrom)
	if err != nil {
		return u, err
	}
	if ms(from) < raw {
		if err := t.uptimeRolled(ctx, monitor, &u, raw); err != nil {
			return u, err
		}
	}
	if ms(to) > raw {
		if err := t.uptimeRaw(ctx, monitor, &u, max(ms(from), raw), ms(to)); err != nil {
			return u, err
		}
	}
	if judged := u.Up + u.Degraded + u.Down; judged > 0 {
		ratio := float64(u.Up+u.Degraded) / float64(judged)
		u.Ratio = &ratio
	}
	return u, nil
}

func (t *Tx) uptimeRaw(ctx context.Context, monitor int64, u *Uptime, from, to int64) error {
	query := `select status, maintenance, count(*) from results
		where monitor = $1 and slot >= $2 and slot < $3 and kind = $4 group by status, maintenance`
	args := []any{monitor, from, to, string(watch.Scheduled)}
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var status string
		var maintenance bool
		var n int64
		if err := rows.Scan(&status, &maintenance, &n); err != nil {
			return err
		}
		u.add(status, maintenance, n)
		return nil
	})
	if err != nil {
		return fmt.Errorf("count results: %w", err)
	}
	return nil
}

// uptimeRolled counts what lies before raw: each part of it from the finest rollups
// that are kept there.
func (t *Tx) uptimeRolled(ctx context.Context, monitor int64, u *Uptime, raw int64) error {
	start, end := ms(u.From), min(ms(u.To), raw)
	for _, period := range periods() {
		step := period.Milliseconds()
		kept, err := t.mark(ctx, keptFrom(period))
		if err != nil {
			return err
		}
		from := max(downTo(start, step), kept)
		if from >= end {
			continue
		}
		if err := t.addRollups(ctx, monitor, step, from, end, u); err != nil {
			return err
		}
		if from <= start {
			u.From = fromMs(min(ms(u.From), from))
		}
		if last := upTo(end, step); last > ms(u.To) {
			u.To = fromMs(last)
		}
		if end = from; end <= start {
			return nil
		}
	}
	return nil
}

func (t *Tx) addRollups(ctx context.Context, monitor, step, from, to int64, u *Uptime) error {
	var c Counts
	err := t.one(ctx, `select cast(coalesce(sum(checks), 0) as bigint), cast(coalesce(sum(up), 0) as bigint),
			cast(coalesce(sum(degraded), 0) as bigint), cast(coalesce(sum(down), 0) as bigint),
			cast(coalesce(sum(misconfigured), 0) as bigint), cast(coalesce(sum(unknown), 0) as bigint),
			cast(coalesce(sum(skipped), 0) as bigint), cast(coalesce(sum(maintenance), 0) as bigint)
		from rollups where monitor = $1 and period = $2 and bucket >= $3 and bucket < $4`,
		[]any{monitor, step, from, to},
		&c.Checks, &c.Up, &c.Degraded, &c.Down, &c.Misconfigured, &c.Unknown, &c.Skipped, &c.Maintenance)
	if err != nil {
		return fmt.Errorf("count rollups: %w", err)
	}
	u.Checks += c.Checks
	u.Up += c.Up
	u.Degraded += c.Degraded
	u.Down += c.Down
	u.Misconfigured += c.Misconfigured
	u.Unknown += c.Unknown
	u.Skipped += c.Skipped
	u.Maintenance += c.Maintenance
	return nil
}

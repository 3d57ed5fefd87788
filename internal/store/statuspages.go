package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// StatusPage is a page of [watch.StatusPage] with the hash of its password, or none.
type StatusPage struct {
	watch.StatusPage
	Password string
}

// PutStatusPage inserts or replaces the page of that slug. The first CreatedAt stays.
func (t *Tx) PutStatusPage(ctx context.Context, p *StatusPage) error {
	body, err := encode(p.StatusPage)
	if err != nil {
		return err
	}
	var created int64
	err = t.one(ctx, `insert into status_pages (slug, page, password, created_at, updated_at) values ($1, $2, $3, $4, $5)
		on conflict (slug) do update set page = excluded.page, password = excluded.password, updated_at = excluded.updated_at
		returning created_at`, []any{p.Slug, body, p.Password, ms(p.CreatedAt), ms(p.UpdatedAt)}, &created)
	if err != nil {
		return fmt.Errorf("store status page %q: %w", p.Slug, err)
	}
	p.CreatedAt = fromMs(created)
	return nil
}

func (t *Tx) statusPages(ctx context.Context, rest string, args ...any) ([]StatusPage, error) {
	var out []StatusPage
	err := t.each(ctx, "select slug, page, password, created_at, updated_at from status_pages"+rest, args, func(rows *sql.Rows) error {
		var slug, body, password string
		var created, updated int64
		if err := rows.Scan(&slug, &body, &password, &created, &updated); err != nil {
			return err
		}
		p := StatusPage{Password: password}
		if err := decode(body, &p.StatusPage); err != nil {
			return err
		}
		p.Slug, p.Protected, p.CreatedAt, p.UpdatedAt = slug, password != "", fromMs(created), fromMs(updated)
		out = append(out, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read status pages: %w", err)
	}
	return out, nil
}

// StatusPage is the page of that slug, or ErrNotFound.
func (t *Tx) StatusPage(ctx context.Context, slug string) (*StatusPage, error) {
	return single(t.statusPages(ctx, " where slug = $1", slug))
}

// StatusPageMark is when the page of that slug was changed last, and the hash of its
// password; or ErrNotFound.
func (t *Tx) StatusPageMark(ctx context.Context, slug string) (changed time.Time, password string, err error) {
	var at int64
	if err := t.one(ctx, "select updated_at, password from status_pages where slug = $1", []any{slug}, &at, &password); err != nil {
		if errors.Is(err, ErrNotFound) {
			return changed, "", err
		}
		return changed, "", fmt.Errorf("read status page %q: %w", slug, err)
	}
	return fromMs(at), password, nil
}

// StatusPages are all pages by slug.
func (t *Tx) StatusPages(ctx context.Context) ([]StatusPage, error) {
	return t.statusPages(ctx, " order by slug")
}

// DeleteStatusPage removes a page, or gives ErrNotFound.
func (t *Tx) DeleteStatusPage(ctx context.Context, slug string) error {
	n, err := t.exec(ctx, "delete from status_pages where slug = $1", slug)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete status page %q: %w", slug, err)
	}
	return err
}

// Day is how the scheduled checks of a monitor went on a day, UTC.
type Day struct {
	Monitor int64
	From    time.Time
	Counts
}

// Ratio is (Up + Degraded) / (Up + Degraded + Down), or nil without any of them.
func (c *Counts) Ratio() *float64 {
	judged := c.Up + c.Degraded + c.Down
	if judged == 0 {
		return nil
	}
	ratio := float64(c.Up+c.Degraded) / float64(judged)
	return &ratio
}

// daily reads columns of the rollups that make up days of monitors from one on: those of
// days, and of today those of hours and, at its end, of five minutes.
func (t *Tx) daily(columns string, monitors []int64, from, now time.Time) (query string, args []any) {
	day, hour := downTo(ms(now), Daily.Milliseconds()), Hourly.Milliseconds()
	last := max(downTo(ms(now)-rollupGrace.Milliseconds()-time.Minute.Milliseconds(), hour), day)
	part := "select " + columns + " from rollups where " + t.in("monitor", 1) + " and period = "
	query = part + "$2 and bucket >= $3 and bucket < $4 union all " + part + "$5 and bucket >= $4 and bucket < $6 union all " +
		part + "$7 and bucket >= $6"
	return query, []any{
		list(t, monitors), Daily.Milliseconds(), downTo(ms(from), Daily.Milliseconds()), day, hour, last, FiveMinutes.Milliseconds(),
	}
}

// Days are the days of monitors from one on, by monitor and day; today is as far as it is
// summed up.
func (t *Tx) Days(ctx context.Context, monitors []int64, from, now time.Time) ([]Day, error) {
	rows, args := t.daily("monitor, bucket - bucket % 86400000 as day, checks, up, degraded, down, misconfigured, unknown, skipped, maintenance",
		monitors, from, now)
	var out []Day
	err := t.each(ctx, `select monitor, day, cast(sum(checks) as bigint), cast(sum(up) as bigint), cast(sum(degraded) as bigint),
			cast(sum(down) as bigint), cast(sum(misconfigured) as bigint), cast(sum(unknown) as bigint), cast(sum(skipped) as bigint),
			cast(sum(maintenance) as bigint)
		from (`+rows+`) as r group by monitor, day order by monitor, day`, args, func(rows *sql.Rows) error {
		var d Day
		var at int64
		err := rows.Scan(&d.Monitor, &at, &d.Checks, &d.Up, &d.Degraded, &d.Down, &d.Misconfigured, &d.Unknown, &d.Skipped, &d.Maintenance)
		d.From = fromMs(at)
		out = append(out, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return out, nil
}

// Took is how long the checks of monitors took on average since a time, in milliseconds.
// Those of which nothing is known are left out.
func (t *Tx) Took(ctx context.Context, monitors []int64, from, now time.Time) (map[int64]float64, error) {
	query, args := t.daily("monitor, up + degraded, stages", monitors, from, now)
	sums, weights := map[int64]float64{}, map[int64]float64{}
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var id, n int64
		var text string
		if err := rows.Scan(&id, &n, &text); err != nil {
			return err
		}
		var stages map[string]Stage
		if err := decode(text, &stages); err != nil {
			return err
		}
		if total, ok := stages[StageTotal]; ok && n > 0 {
			sums[id] += total.Avg * float64(n)
			weights[id] += float64(n)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read how long checks took: %w", err)
	}
	for id, weight := range weights {
		sums[id] /= weight
	}
	return sums, nil
}

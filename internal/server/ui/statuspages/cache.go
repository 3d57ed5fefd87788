package statuspages

import (
	"context"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

const (
	// freshFor is how long a page is shown without looking again. One that is dear to make
	// is shown longer, so that looking takes a small part of the time.
	freshFor  = 10 * time.Second
	dearShare = 20
	// daysFor is that of the days behind it.
	daysFor = 5 * time.Minute
)

// cache keeps pages for everybody who looks at them.
type cache struct {
	ops *ops.Ops
	now func() time.Time

	mu    sync.Mutex
	pages map[string]*kept // those that exist
}

// kept is one page. Who looks while it is made waits for that.
type kept struct {
	mu    sync.Mutex
	page  *ops.Public
	until time.Time
	past  map[int64]*past
	took  map[int64]took
}

// past is the days of a monitor, today's last.
type past struct {
	days  [ops.PublicDays]day
	until time.Time
}

// day is how many checks worked of those that say something.
type day struct {
	worked, judged uint32
}

// took is how long checks of a monitor took, in ms, by how many days.
type took struct {
	ms    map[int]float64
	until time.Time
}

func newCache(o *ops.Ops, now func() time.Time) *cache {
	return &cache{ops: o, now: now, pages: map[string]*kept{}}
}

func (c *cache) of(slug string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.pages[slug]
	if k == nil {
		k = &kept{past: map[int64]*past{}, took: map[int64]took{}}
		c.pages[slug] = k
	}
	return k
}

// drop forgets a page, as after a change of it.
func (c *cache) drop(slug string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pages, slug)
}

// page is a page as it was a moment ago.
func (c *cache) page(ctx context.Context, slug string) (*ops.Public, error) {
	k := c.of(slug)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := c.now()
	if k.page != nil && now.Before(k.until) {
		// A password, or the end of a page, counts at once, whoever set it.
		switch current, err := c.ops.Current(ctx, k.page); {
		case err != nil:
			c.drop(slug)
			return nil, err
		case current:
			return k.page, nil
		}
	}
	page, err := c.ops.Public(ctx, slug)
	if err != nil {
		c.drop(slug)
		return nil, err
	}
	done := c.now()
	k.page, k.until = page, done.Add(max(freshFor, dearShare*done.Sub(now)))
	return page, nil
}

// pasts are the days of monitors of a page.
func (c *cache) pasts(ctx context.Context, slug string, monitors []int64) (map[int64]*past, error) {
	k := c.of(slug)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := c.now()
	out := make(map[int64]*past, len(monitors))
	var missing []int64
	for _, id := range monitors {
		if p := k.past[id]; p != nil && now.Before(p.until) {
			out[id] = p
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := c.ops.Days(ctx, missing)
	if err != nil {
		return nil, err
	}
	for id, days := range found {
		p := &past{until: now.Add(daysFor)}
		for i := range days {
			p.days[i] = dayOf(&days[i])
		}
		out[id], k.past[id] = p, p
	}
	return out, nil
}

func dayOf(d *ops.Day) day {
	worked := d.Up + d.Degraded
	return day{worked: uint32(min(worked, 1<<31)), judged: uint32(min(worked+d.Down, 1<<31))} //nolint:gosec // bounded
}

// latency is how long checks of monitors of a page took, in ms; those of which nothing is
// known are left out.
func (c *cache) latency(ctx context.Context, slug string, monitors []int64, days int) (map[int64]float64, error) {
	k := c.of(slug)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := c.now()
	out := map[int64]float64{}
	var missing []int64
	for _, id := range monitors {
		t := k.took[id]
		ms, known := t.ms[days]
		switch {
		case !now.Before(t.until):
			k.took[id] = took{ms: map[int]float64{}, until: now.Add(daysFor)}
			missing = append(missing, id)
		case !known:
			missing = append(missing, id)
		case ms > 0:
			out[id] = ms
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := c.ops.Took(ctx, missing, days)
	if err != nil {
		return nil, err
	}
	for _, id := range missing {
		k.took[id].ms[days] = found[id]
		if found[id] > 0 {
			out[id] = found[id]
		}
	}
	return out, nil
}

// ratio is the part of checks that worked in the last days, or nil.
func (p *past) ratio(days int) *float64 {
	return ratioOf([]*past{p}, days)
}

func ratioOf(all []*past, days int) *float64 {
	var worked, judged uint64
	for _, p := range all {
		for _, d := range p.days[ops.PublicDays-days:] {
			worked += uint64(d.worked)
			judged += uint64(d.judged)
		}
	}
	if judged == 0 {
		return nil
	}
	ratio := float64(worked) / float64(judged)
	return &ratio
}

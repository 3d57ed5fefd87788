package monitorpage

import (
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

const day = 24 * time.Hour

// stripDays are how many days the strip shows, and freshDays how many of them may not be
// summed up yet.
const (
	stripDays = 90
	freshDays = 2
)

// uptimeTile is the uptime of a time.
type uptimeTile struct {
	Name string
	ops.Uptime
}

func (p *pages) uptimes(q *shell.Request, id int64) ([]uptimeTile, error) {
	now := q.Now()
	out := []uptimeTile{{Name: q.T("24 hours")}, {Name: q.T("7 days")}, {Name: q.T("30 days")}, {Name: q.T("90 days")}}
	for i, length := range []time.Duration{day, 7 * day, 30 * day, 90 * day} {
		up, err := p.ops.Uptime(q.Context(), q.Actor, id, now.Add(-length), now)
		if err != nil {
			return nil, err
		}
		out[i].Uptime = up
	}
	return out, nil
}

// dayBar is one day of the strip.
type dayBar struct {
	Day   time.Time
	Ratio *float64
	ops.Counts
}

// State is how the day was: up, degraded (some checks failed), down (more than one in
// twenty), or none.
func (b *dayBar) State() string {
	switch {
	case b.Ratio == nil:
		return "none"
	case *b.Ratio < 0.95:
		return "down"
	case *b.Ratio < 1:
		return "degraded"
	default:
		return "up"
	}
}

// strip is how the last days were, the oldest first.
type strip struct {
	Days []dayBar
	// Known are the days with checks that tell, Bad those of them with failures.
	Known, Bad int
}

func (p *pages) strip(q *shell.Request, m *ops.Monitor) (strip, error) {
	var s strip
	today := q.Now().Truncate(day)
	first := today.Add(-(stripDays - 1) * day)
	rollups, err := p.ops.Rollups(q.Context(), q.Actor, m.ID, day, first, today)
	if err != nil {
		return s, err
	}
	byDay := make(map[int64]*point, len(rollups.Items)+freshDays)
	for i := range rollups.Items {
		byDay[rollups.Items[i].From.Unix()] = &point{Counts: rollups.Items[i].Counts}
	}
	for i := range freshDays { // they may not be summed up yet
		at := today.Add(-time.Duration(i) * day)
		if byDay[at.Unix()] != nil {
			continue
		}
		up, err := p.ops.Uptime(q.Context(), q.Actor, m.ID, at, at.Add(day))
		if err != nil {
			return s, err
		}
		byDay[at.Unix()] = &point{Counts: up.Counts}
	}
	for i := range stripDays {
		bar := dayBar{Day: first.Add(time.Duration(i) * day)}
		if known, ok := byDay[bar.Day.Unix()]; ok {
			bar.Counts, bar.Ratio = known.Counts, known.ratio()
		}
		if bar.Ratio != nil {
			s.Known++
		}
		if bar.Down > 0 {
			s.Bad++
		}
		s.Days = append(s.Days, bar)
	}
	return s, nil
}

package monitorpage

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

const day = 24 * time.Hour

// stripDays are how many days the strip shows.
const stripDays = 90

func incidentPath(id int64) string { return "/incidents/" + strconv.FormatInt(id, 10) }

// uptimeTile is the uptime of a time.
type uptimeTile struct {
	Name string
	store.Uptime
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

// percent says a share. What is not all is never said to be 100 %.
func percent(ratio *float64) string {
	switch {
	case ratio == nil:
		return "–"
	case *ratio >= 1:
		return "100 %"
	case *ratio > 0.9999:
		return "99.99 %"
	default:
		return fmt.Sprintf("%.2f %%", *ratio*100)
	}
}

// dayBar is one day of the strip.
type dayBar struct {
	Day   time.Time
	Ratio *float64
	store.Counts
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
	ninety := spans[len(spans)-2]
	points, err := p.points(q, m, ninety)
	if err != nil {
		return strip{}, err
	}
	byDay := make(map[int64]*point, len(points))
	for i := range points {
		byDay[points[i].At.Truncate(day).Unix()] = &points[i]
	}
	var s strip
	first := q.Now().Truncate(day).Add(-(stripDays - 1) * day)
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

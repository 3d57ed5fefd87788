package statuspages

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// stateName is a state as a page says it.
func stateName(ctx context.Context, s ops.PublicState) string {
	switch s {
	case ops.PublicWorks:
		return lang.T(ctx, "Works")
	case ops.PublicDegraded:
		return lang.T(ctx, "Impaired")
	case ops.PublicOutage:
		return lang.T(ctx, "Outage")
	case ops.PublicMaintenance:
		return lang.T(ctx, "In maintenance")
	default:
		return lang.T(ctx, "Not known")
	}
}

// look is the class of a state.
func look(s ops.PublicState) string {
	switch s {
	case ops.PublicWorks:
		return "state-up"
	case ops.PublicDegraded:
		return "state-degraded"
	case ops.PublicOutage:
		return "state-down"
	case ops.PublicMaintenance:
		return "state-paused"
	default:
		return "state-unknown"
	}
}

// headline says how all of a page is.
func headline(ctx context.Context, p *ops.Public) string {
	out, bad := p.Counts[ops.PublicOutage], p.Counts[ops.PublicDegraded]
	switch {
	case len(p.Monitors) == 0:
		return lang.T(ctx, "There is nothing on this page yet.")
	case out > 0 && out == len(p.Monitors):
		return lang.T(ctx, "Nothing works right now.")
	case out > 0:
		return lang.N(ctx, out, "%d service does not work.", "%d services do not work.")
	case bad > 0:
		return lang.N(ctx, bad, "%d service is impaired.", "%d services are impaired.")
	case p.Counts[ops.PublicMaintenance] > 0:
		return lang.T(ctx, "There is maintenance.")
	case p.Counts[ops.PublicUnknown] == len(p.Monitors):
		return lang.T(ctx, "How things are is not known right now.")
	case p.Counts[ops.PublicUnknown] > 0:
		return lang.T(ctx, "All that is known works.")
	}
	return lang.T(ctx, "Everything works.")
}

// incidentText says what was wrong.
func incidentText(ctx context.Context, i *ops.PublicIncident) string {
	if i.State == ops.PublicOutage {
		return lang.T(ctx, "did not work")
	}
	return lang.T(ctx, "was impaired")
}

func approvedName(ctx context.Context, approved string) string {
	switch approved {
	case "yes":
		return lang.T(ctx, "Tools approved")
	case "no":
		return lang.T(ctx, "Tools under review")
	default:
		return lang.T(ctx, "Tools not known")
	}
}

// The bars of a page: one for each day, a few units wide.
const (
	barStep   = 5
	barWidth  = 4
	barHeight = 24
	goodDay   = 0.99999
	fairDay   = 0.98
)

// bar is the bars of one look, as the path of a picture.
type bar struct{ class, path string }

// bars are the days of a monitor. How bad a day was is in its height, too.
func (p *past) bars() []bar {
	var good, fair, bad, none strings.Builder
	for n, d := range p.days {
		to, height := &none, 4
		if d.judged > 0 {
			switch ratio := float64(d.worked) / float64(d.judged); {
			case ratio >= goodDay:
				to, height = &good, 14
			case ratio >= fairDay:
				to, height = &fair, 19
			default:
				to, height = &bad, barHeight
			}
		}
		fmt.Fprintf(to, "M%d %dh%dv%dh-%dz", n*barStep, barHeight-height, barWidth, height, barWidth)
	}
	var out []bar
	for _, b := range []struct {
		class string
		path  *strings.Builder
	}{{"day-good", &good}, {"day-fair", &fair}, {"day-bad", &bad}, {"day-none", &none}} {
		if b.path.Len() > 0 {
			out = append(out, bar{b.class, b.path.String()})
		}
	}
	return out
}

// troubled are the days on which something failed.
func (p *past) troubled() (days int) {
	for _, d := range p.days {
		if d.judged > d.worked {
			days++
		}
	}
	return days
}

// uptime says how many checks worked, if that is known.
func (p *past) uptime(ctx context.Context) string {
	ratio := p.ratio(ops.PublicDays)
	if ratio == nil {
		return lang.T(ctx, "nothing known yet")
	}
	return lang.T(ctx, "%s of checks worked", shell.Percent(ratio))
}

// words say what the bars show.
func (p *past) words(ctx context.Context) string {
	ratio := p.ratio(ops.PublicDays)
	if ratio == nil {
		return lang.T(ctx, "Nothing is known of the last 90 days.")
	}
	if n := p.troubled(); n > 0 {
		return lang.N(ctx, n, "Trouble on %d of the last 90 days.", "Trouble on %d of the last 90 days.")
	}
	return lang.T(ctx, "No trouble on the last 90 days, as far as known.")
}

func (p publicPage) link(part int) string {
	out := "?part=" + strconv.Itoa(part)
	if p.text != "" {
		out += "&q=" + url.QueryEscape(p.text)
	}
	return out
}

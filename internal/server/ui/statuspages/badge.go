package statuspages

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// mostSummed is of how many monitors a badge of a whole page is made; a larger page has
// none of uptime and latency.
const mostSummed = 500

// badge is a picture of one fact.
type badge struct{ label, value, color string }

// The colours of badges: white text can be read on all of them.
const (
	good    = "#2b7a3f"
	fair    = "#8a5a00"
	bad     = "#b3261e"
	unknown = "#5f6670"
)

// badge answers with a badge of a page, or of a monitor on it. Of a page without badges
// there is none, as of one that is not there.
func (a *area) badge(q *shell.Request) error {
	days, err := strconv.Atoi(q.URL.Query().Get("days"))
	if err != nil || days < 1 || days > ops.PublicDays {
		days = ops.PublicDays
	}
	kind, isSVG := strings.CutSuffix(q.PathValue("kind"), ".svg")
	slug := q.PathValue("slug")
	mark, _, err := a.mark(q, slug)
	if err != nil {
		return err
	}
	var page *ops.Public
	if mark.Badges && isSVG { // otherwise how long it takes would tell that there is a page
		if page, err = a.exists(q, slug); err != nil {
			return err
		}
	}
	status, b := http.StatusNotFound, badge{"mcpvigil", "not found", unknown}
	if page != nil && page.Badges {
		found, err := a.badgeOf(q, page, kind, days)
		if err != nil {
			return err
		}
		if found != nil {
			status, b = http.StatusOK, *found
		}
	}
	h := q.Writer().Header()
	h.Set("Content-Type", "image/svg+xml; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=60")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("X-Content-Type-Options", "nosniff")
	q.Writer().WriteHeader(status)
	_, _ = q.Writer().Write(b.svg())
	return nil
}

// badgeOf is a badge of the page, or of the monitor in the path; nil: there is none.
func (a *area) badgeOf(q *shell.Request, page *ops.Public, kind string, days int) (*badge, error) {
	name, state, monitors := page.Title, page.State, page.Monitors
	if one := q.PathValue("monitor"); one != "" {
		at := slices.IndexFunc(monitors, func(m ops.PublicMonitor) bool { return strconv.FormatInt(m.ID, 10) == one })
		if at < 0 {
			return nil, nil //nolint:nilnil // as of a page that is not there
		}
		monitors = monitors[at : at+1]
		name, state = monitors[0].Name, monitors[0].State
	}
	name = plain.Line(name, 40)
	switch kind {
	case "status":
		return &badge{name, string(state), map[ops.PublicState]string{
			ops.PublicWorks: good, ops.PublicDegraded: fair, ops.PublicOutage: bad,
		}[state]}, nil
	case "approved":
		if !page.Surface {
			return nil, nil //nolint:nilnil // the page does not say it either
		}
		return approvedBadge(name, monitors), nil
	case "uptime":
		return a.uptimeBadge(q, page, name, monitors, days)
	case "latency":
		return a.latencyBadge(q, page, name, monitors, days)
	}
	return nil, nil //nolint:nilnil // there is no such kind
}

func approvedBadge(name string, monitors []ops.PublicMonitor) *badge {
	b := &badge{name + " tools", "approved", good}
	if len(monitors) == 0 {
		b.value, b.color = "unknown", unknown
	}
	for i := range monitors {
		switch monitors[i].Approved {
		case "no":
			return &badge{b.label, "under review", bad}
		case "unknown":
			b.value, b.color = "unknown", unknown
		}
	}
	return b
}

func (a *area) uptimeBadge(q *shell.Request, page *ops.Public, name string, monitors []ops.PublicMonitor, days int) (*badge, error) {
	b := &badge{fmt.Sprintf("%s uptime %dd", name, days), "unknown", unknown}
	if len(monitors) > mostSummed {
		return b, nil
	}
	found, err := a.pages.pasts(q.Context(), page.Slug, idsOf(monitors))
	if err != nil {
		return nil, err
	}
	all := make([]*past, 0, len(found))
	for _, p := range found {
		all = append(all, p)
	}
	ratio := ratioOf(all, days)
	if ratio == nil {
		return b, nil
	}
	b.value, b.color = strings.ReplaceAll(shell.Percent(ratio), " ", ""), bad
	switch {
	case *ratio >= 0.999:
		b.color = good
	case *ratio >= 0.99:
		b.color = fair
	}
	return b, nil
}

func (a *area) latencyBadge(q *shell.Request, page *ops.Public, name string, monitors []ops.PublicMonitor, days int) (*badge, error) {
	b := &badge{fmt.Sprintf("%s latency %dd", name, days), "unknown", unknown}
	if len(monitors) > mostSummed {
		return b, nil
	}
	found, err := a.pages.latency(q.Context(), page.Slug, idsOf(monitors), days)
	if err != nil || len(found) == 0 {
		return b, err
	}
	var times []float64
	for _, ms := range found {
		times = append(times, ms)
	}
	slices.Sort(times)
	middle := times[(len(times)-1)/2]
	b.value, b.color = fmt.Sprintf("%.0f ms", math.Ceil(middle)), good
	switch {
	case middle > 5000:
		b.color = bad
	case middle > 1000:
		b.color = fair
	}
	return b, nil
}

// svg is the badge as a picture, whose texts fit however they are set.
func (b *badge) svg() []byte {
	color := b.color
	if color == "" {
		color = unknown
	}
	label, value := width(b.label), width(b.value)
	left, right := label+10, value+10
	all := left + right
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">`, all, xmlText(b.label), xmlText(b.value))
	fmt.Fprintf(&out, `<title>%s: %s</title>`, xmlText(b.label), xmlText(b.value))
	fmt.Fprintf(&out, `<clipPath id="r"><rect width="%d" height="20" rx="3"/></clipPath><g clip-path="url(#r)">`, all)
	fmt.Fprintf(&out, `<rect width="%d" height="20" fill="#3b4149"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`, left, left, right, color)
	out.WriteString(`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">`)
	fmt.Fprintf(&out, `<text x="%g" y="14" textLength="%d">%s</text>`, float64(left)/2, label, xmlText(b.label))
	fmt.Fprintf(&out, `<text x="%g" y="14" textLength="%d">%s</text></g></svg>`, float64(left)+float64(right)/2, value, xmlText(b.value))
	return out.Bytes()
}

func xmlText(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer takes everything
	return out.String()
}

// width is about how wide a text is, in pixels, in the font of badges.
func width(text string) int {
	sum := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijltrI.,:;'!|()[] ", r):
			sum += 4.4
		case strings.ContainsRune("mwMW%@", r):
			sum += 10.6
		case r > 0x2e80:
			sum += 11.5
		case r >= 'A' && r <= 'Z':
			sum += 7.8
		default:
			sum += 6.9
		}
	}
	return max(1, int(math.Ceil(sum)))
}

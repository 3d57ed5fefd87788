package monitorpage

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// maxIncidents and maxBands bound what is marked in charts.
	maxIncidents = 100
	maxBands     = 200
	// maxResults bounds the single checks that are read for a chart.
	maxResults = 5000
	// maxSurfaces bounds the surfaces whose size is asked for.
	maxSurfaces = 20
)

// span is how far back a chart goes.
type span struct {
	// Key is that of the address, Name the English one.
	Key, Name string
	Length    time.Duration
	// Period is that of the rollups; 0: each check is a point.
	Period time.Duration
}

var spans = [...]span{
	{"1h", "1 hour", time.Hour, 0},
	{"24h", "24 hours", day, ops.FiveMinutes},
	{"7d", "7 days", 7 * day, ops.Hourly},
	{"30d", "30 days", 30 * day, ops.Hourly},
	{"90d", "90 days", 90 * day, ops.Daily},
	{"1y", "1 year", 365 * day, ops.Daily},
}

// spanOf is the span of a key. Of a monitor that is new it is an hour unless another one
// is asked for.
func spanOf(key string, m *ops.Monitor, now time.Time) span {
	for _, s := range spans {
		if s.Key == key {
			return s
		}
	}
	if now.Sub(m.CreatedAt) < 2*time.Hour {
		return spans[0]
	}
	return spans[1]
}

// point is how the checks of a time went.
type point struct {
	At time.Time
	ops.Counts
	Stages map[string]ops.Stage
	Tools  *int64
}

// ratio is the uptime of the point, or nil when nothing in it tells.
func (p *point) ratio() *float64 {
	all := p.Up + p.Degraded + p.Down
	if all == 0 {
		return nil
	}
	ratio := float64(p.Up+p.Degraded) / float64(all)
	return &ratio
}

// points are those of a chart: what was summed up already, and what was not yet.
func (p *pages) points(q *shell.Request, m *ops.Monitor, s span) ([]point, error) {
	now := q.Now()
	from := now.Add(-s.Length)
	var out []point
	if s.Period > 0 {
		from = from.Truncate(s.Period)
		rollups, err := p.ops.Rollups(q.Context(), q.Actor, m.ID, s.Period, from, now)
		if err != nil {
			return nil, err
		}
		for i := range rollups.Items {
			r := &rollups.Items[i]
			out = append(out, point{At: r.From, Counts: r.Counts, Stages: r.Stages, Tools: r.Tools})
			from = r.From.Add(s.Period)
		}
	}
	if !from.Before(now) {
		return out, nil
	}
	results, err := p.ops.Results(q.Context(), q.Actor, ops.ResultFilter{Monitor: m.ID, From: from, To: now.Add(time.Second), Limit: maxResults})
	if err != nil {
		return nil, err
	}
	slices.Reverse(results.Items)
	return append(out, gather(results.Items, s.Period)...), nil
}

// gather sums up results, the oldest first, in buckets of a period.
func gather(results []watch.Result, period time.Duration) []point {
	var out []point
	var values map[string][]float64
	flush := func() {
		for stage, v := range values {
			out[len(out)-1].Stages[stage] = ops.Stage{P50: percentile(v, 0.5), P95: percentile(v, 0.95)}
		}
	}
	for i := range results {
		r := &results[i]
		at := r.Slot
		if period > 0 {
			at = at.Truncate(period)
		}
		if len(out) == 0 || !out[len(out)-1].At.Equal(at) {
			flush()
			values = map[string][]float64{}
			out = append(out, point{At: at, Stages: map[string]ops.Stage{}})
		}
		last := &out[len(out)-1]
		count(&last.Counts, r)
		if r.Tools != nil {
			n := int64(*r.Tools)
			last.Tools = &n
		}
		if (r.Status != "healthy" && r.Status != "degraded") || r.Maintenance {
			continue
		}
		for stage, v := range timings(&r.Timing) {
			values[stage] = append(values[stage], v)
		}
	}
	flush()
	return out
}

func count(c *ops.Counts, r *watch.Result) {
	if r.Status == "" {
		c.Skipped++
		return
	}
	c.Checks++
	switch {
	case r.Maintenance:
		c.Maintenance++
	case r.Status == "healthy":
		c.Up++
	case r.Status == "degraded":
		c.Degraded++
	case r.Status == "unhealthy":
		c.Down++
	case r.Status == "misconfigured":
		c.Misconfigured++
	default:
		c.Unknown++
	}
}

func timings(t *watch.Timing) map[string]float64 {
	out := map[string]float64{ops.StageTotal: t.Total}
	for stage, v := range map[string]*float64{
		ops.StageInit: t.Init, ops.StageList: t.List, ops.StageDNS: t.DNS,
		ops.StageTCP: t.TCP, ops.StageTLS: t.TLS, ops.StageFirstByte: t.FirstByte,
	} {
		if v != nil {
			out[stage] = *v
		}
	}
	return out
}

// percentile is the smallest value that is not below a share of all.
func percentile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[max(0, int(math.Ceil(share*float64(len(values))))-1)]
}

// stage is a line of the latency chart.
type stage struct{ Key, Name string }

// stages are those of a check, in the order in which they happen; the names are English.
func stages() []stage {
	return []stage{
		{ops.StageTotal, "Total"},
		{ops.StageDNS, "DNS"},
		{ops.StageTCP, "TCP"},
		{ops.StageTLS, "TLS"},
		{ops.StageFirstByte, "First byte"},
		{ops.StageInit, "Opening"},
		{ops.StageList, "Listing"},
	}
}

// took is what a stage took in a point, or nil.
func (p *point) took(key string, median bool) *float64 {
	s, ok := p.Stages[key]
	if !ok {
		return nil
	}
	v := s.P95
	if median {
		v = s.P50
	}
	v = math.Round(v*10) / 10
	return &v
}

// chartData is what chart.js draws.
type chartData struct {
	From    int64       `json:"from"`
	To      int64       `json:"to"`
	X       []int64     `json:"x"`
	Latency []chartLine `json:"latency"`
	Uptime  chartLine   `json:"uptime"`
	Tools   chartLine   `json:"tools"`
	Context chartCost   `json:"context"`
	Bands   []chartBand `json:"bands"`
}

type chartLine struct {
	Label  string     `json:"label"`
	Values []*float64 `json:"values"`
}

type chartCost struct {
	Label  string  `json:"label"`
	X      []int64 `json:"x"`
	Values []int   `json:"values"`
}

// chartBand marks a time: an incident, or maintenance.
type chartBand struct {
	Kind string `json:"kind"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// asked is the monitor, the time that is asked for, and what there is of it.
func (p *pages) asked(q *shell.Request) (ops.Monitor, span, []point, error) {
	m, err := p.monitor(q)
	if err != nil {
		return m, span{}, nil, err
	}
	s := spanOf(q.URL.Query().Get("range"), &m, q.Now())
	points, err := p.points(q, &m, s)
	return m, s, points, err
}

func (p *pages) chart(q *shell.Request) error {
	m, s, points, err := p.asked(q)
	if err != nil {
		return err
	}
	d := chartOf(q, spaced(points, gapOf(&m, s)), q.URL.Query().Get("p") != "95")
	d.From, d.To = beginningOf(&m, s, q.Now()).Unix(), q.Now().Unix()
	if d.Bands, err = p.bands(q, &m, points, s); err != nil {
		return err
	}
	if d.Context, err = p.costs(q, &m, q.Now().Add(-s.Length)); err != nil {
		return err
	}
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	q.Writer().Header().Set("Content-Type", "application/json")
	q.Writer().Header().Set("X-Content-Type-Options", "nosniff")
	q.Writer().WriteHeader(http.StatusOK)
	_, _ = q.Writer().Write(body)
	return nil
}

// beginningOf is where a chart begins: not long before the monitor was made.
func beginningOf(m *ops.Monitor, s span, now time.Time) time.Time {
	from := now.Add(-s.Length)
	if made := m.CreatedAt.Add(-s.Period); made.After(from) {
		from = made
	}
	if least := now.Add(-5*time.Minute - 3*s.Period); from.After(least) {
		from = least
	}
	return from
}

// gapOf is how far two points may be apart before the line between them is left out.
func gapOf(m *ops.Monitor, s span) time.Duration {
	return max(s.Period, time.Duration(m.Interval)) * 5 / 2
}

// spaced puts a point without values between points that are too far apart.
func spaced(points []point, gap time.Duration) []point {
	var out []point
	for i := range points {
		if i > 0 && points[i].At.Sub(points[i-1].At) > gap {
			out = append(out, point{At: points[i-1].At.Add(gap / 2)})
		}
		out = append(out, points[i])
	}
	return out
}

func chartOf(q *shell.Request, points []point, median bool) *chartData {
	d := &chartData{X: []int64{}, Bands: []chartBand{}}
	d.Uptime.Label, d.Tools.Label = q.T("Uptime"), q.T("Tools")
	d.Uptime.Values, d.Tools.Values = []*float64{}, []*float64{}
	for i := range points {
		one := &points[i]
		d.X = append(d.X, one.At.Unix())
		ratio := one.ratio()
		if ratio != nil {
			*ratio = math.Round(*ratio*10_000) / 100
		}
		d.Uptime.Values = append(d.Uptime.Values, ratio)
		var tools *float64
		if one.Tools != nil {
			n := float64(*one.Tools)
			tools = &n
		}
		d.Tools.Values = append(d.Tools.Values, tools)
	}
	for _, st := range stages() {
		line := chartLine{Label: q.T(st.Name), Values: []*float64{}}
		known := false
		for i := range points {
			v := points[i].took(st.Key, median)
			known = known || v != nil
			line.Values = append(line.Values, v)
		}
		if known {
			d.Latency = append(d.Latency, line)
		}
	}
	return d
}

// bands are the incidents of a span, and the times in which maintenance was.
func (p *pages) bands(q *shell.Request, m *ops.Monitor, points []point, s span) ([]chartBand, error) {
	incidents, err := p.ops.Incidents(q.Context(), q.Actor, ops.IncidentFilter{Monitor: m.ID, Limit: maxIncidents})
	if err != nil {
		return nil, err
	}
	out := []chartBand{}
	for i := range incidents.Items {
		one := &incidents.Items[i]
		end := one.ResolvedAt
		if end.IsZero() {
			end = q.Now()
		}
		if end.After(q.Now().Add(-s.Length)) {
			out = append(out, chartBand{Kind: string(one.Axis), From: one.OpenedAt.Unix(), To: end.Unix()})
		}
	}
	width := max(s.Period, time.Duration(m.Interval))
	for i := range points {
		if points[i].Maintenance == 0 || len(out) >= maxBands {
			continue
		}
		from := points[i].At.Unix()
		to := points[i].At.Add(width).Unix()
		if last := len(out) - 1; last >= 0 && out[last].Kind == "maintenance" && out[last].To >= from {
			out[last].To = to
			continue
		}
		out = append(out, chartBand{Kind: "maintenance", From: from, To: to})
	}
	return out, nil
}

// costs are what an agent had to read of the server before its first question, over the
// surfaces that were seen.
func (p *pages) costs(q *shell.Request, m *ops.Monitor, from time.Time) (chartCost, error) {
	out := chartCost{Label: q.T("Tokens, about"), X: []int64{}, Values: []int{}}
	seen, err := p.ops.Sightings(q.Context(), q.Actor, m.ID)
	if err != nil {
		return out, err
	}
	asked := map[string]bool{}
	var kept []ops.Sighting
	for _, s := range seen.Items {
		if !asked[s.Digest] && len(asked) == maxSurfaces || s.Until.Before(from) {
			continue
		}
		asked[s.Digest] = true
		kept = append(kept, s)
	}
	slices.SortStableFunc(kept, func(a, b ops.Sighting) int { return a.From.Compare(b.From) })
	for _, s := range kept {
		size, err := p.library.cost(q.Context(), p.ops, q.Actor, s.Digest)
		if err != nil {
			return out, err
		}
		out.X = append(out.X, max(s.From.Unix(), from.Unix()))
		out.Values = append(out.Values, tokens(size))
	}
	if n := len(out.X); n > 0 {
		out.X = append(out.X, q.Now().Unix())
		out.Values = append(out.Values, out.Values[n-1])
	}
	return out, nil
}

// tokens estimates how many a text takes: about one for four bytes.
func tokens(size int) int { return (size + 3) / 4 }

// numbersPart is how many rows of numbers are shown at a time.
const numbersPart = 200

// numbers shows what the charts draw as a table, the latest first.
func (p *pages) numbers(q *shell.Request) error {
	m, s, points, err := p.asked(q)
	if err != nil {
		return err
	}
	slices.Reverse(points)
	from := min(offset(q), len(points))
	part := points[from:min(from+numbersPart, len(points))]
	median := q.URL.Query().Get("p") != "95"
	more := ""
	if next := from + numbersPart; next < len(points) {
		more = chartPath(&m, "/numbers", s, median) + "&from=" + strconv.Itoa(next)
	}
	body := numbersTable(part, median, more)
	if q.Partial() {
		return q.Part(body)
	}
	return p.show(q, &m, "/numbers", numbersTab(&m, s, median, body))
}

// offset is where a part of a list starts.
func offset(q *shell.Request) int {
	n, err := strconv.Atoi(q.URL.Query().Get("from"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func chartPath(m *ops.Monitor, path string, s span, median bool) string {
	percentile := "50"
	if !median {
		percentile = "95"
	}
	return shell.MonitorPath(m.ID, path) + "?range=" + s.Key + "&p=" + percentile
}

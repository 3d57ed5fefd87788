package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/surface"
)

func definition(change func(*Definition)) *Definition {
	d := &Definition{Name: "search", URL: "https://mcp.example.com/mcp"}
	d.Normalize()
	if change != nil {
		change(d)
	}
	return d
}

func TestNormalize(t *testing.T) {
	want := &Definition{
		Name: "search", URL: "https://mcp.example.com/mcp", Transport: "streamable-http", AuthMode: "none", DriftPolicy: surface.Alert,
		Interval: Duration(10 * time.Minute), Timeout: Duration(20 * time.Second), FailureThreshold: 2, RecoveryThreshold: 1,
		Escalation: "default", Locations: []string{"local"},
	}
	got := definition(nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got.Interval, got.Locations = Duration(time.Minute), []string{"eu"}
	before := *got
	got.Normalize()
	if diff := cmp.Diff(before, *got); diff != "" {
		t.Errorf("changed what was given (-before +after)\n%s", diff)
	}
}

func many(n int, of string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", of, i))
	}
	return out
}

func TestValidate(t *testing.T) {
	headers := func(names ...string) func(*Definition) {
		return func(d *Definition) { d.AuthMode, d.Headers = AuthHeader, names }
	}
	for name, c := range map[string]struct {
		change func(*Definition)
		want   string // field of the problem; empty: none
	}{
		"as by default":       {nil, ""},
		"blanks inside":       {func(d *Definition) { d.Name = "Search of the shop" }, ""},
		"no name":             {func(d *Definition) { d.Name = "" }, "name"},
		"128 characters":      {func(d *Definition) { d.Name = strings.Repeat("ä", 128) }, ""},
		"129 characters":      {func(d *Definition) { d.Name = strings.Repeat("ä", 129) }, "name"},
		"a line end":          {func(d *Definition) { d.Name = "a\nb" }, "name"},
		"an invisible one":    {func(d *Definition) { d.Name = "a\u200bb" }, "name"},
		"a blank at the end":  {func(d *Definition) { d.Name = "a " }, "name"},
		"a group":             {func(d *Definition) { d.Group = "\x00" }, "group"},
		"a tag":               {func(d *Definition) { d.Tags = []string{"prod", ""} }, "tags[1]"},
		"a tag twice":         {func(d *Definition) { d.Tags = []string{"prod", "prod"} }, "tags"},
		"no URL":              {func(d *Definition) { d.URL = "" }, "url"},
		"another scheme":      {func(d *Definition) { d.URL = "ftp://example.com" }, "url"},
		"no host":             {func(d *Definition) { d.URL = "https:///mcp" }, "url"},
		"a password":          {func(d *Definition) { d.URL = "https://u:p@example.com/" }, "url"},
		"a long URL":          {func(d *Definition) { d.URL = "https://example.com/" + strings.Repeat("a", 4096) }, "url"},
		"SSE":                 {func(d *Definition) { d.Transport = SSE }, ""},
		"stdio":               {func(d *Definition) { d.Transport = Stdio }, "transport"},
		"another transport":   {func(d *Definition) { d.Transport = "udp" }, "transport"},
		"login":               {func(d *Definition) { d.AuthMode = AuthLogin }, "auth_mode"},
		"oauth":               {func(d *Definition) { d.AuthMode = AuthOAuth }, ""},
		"oauth over SSE":      {func(d *Definition) { d.AuthMode, d.Transport = AuthOAuth, SSE }, "auth_mode"},
		"a header":            {headers("X-API-Key"), ""},
		"ten headers":         {headers(many(10, "X-")...), ""},
		"eleven headers":      {headers(many(11, "X-")...), "headers"},
		"no header":           {headers(), "headers"},
		"a header twice":      {headers("X-Key", "x-key"), "headers"},
		"no name of a header": {headers("X Key"), "headers"},
		"a reserved one":      {headers("Host"), "headers[0]"},
		"headers, mode none":  {func(d *Definition) { d.Headers = []string{"X"} }, "headers"},
		"over plain http":     {func(d *Definition) { headers("X")(d); d.URL = "http://example.com/mcp" }, "url"},
		"over plain loopback": {func(d *Definition) { headers("X")(d); d.URL = "http://127.0.0.1:8000/mcp" }, ""},
		"a revision":          {func(d *Definition) { d.ProtocolVersion = "2025-06-18" }, ""},
		"no revision":         {func(d *Definition) { d.ProtocolVersion = "latest" }, "protocol_version"},
		"100 expected tools":  {func(d *Definition) { d.ExpectedTools = many(100, "t") }, ""},
		"101 expected tools":  {func(d *Definition) { d.ExpectedTools = many(101, "t") }, "expected_tools"},
		"an empty tool":       {func(d *Definition) { d.ExpectedTools = []string{""} }, "expected_tools[0]"},
		"10000 tools":         {func(d *Definition) { d.MaxTools = 10_000 }, ""},
		"10001 tools":         {func(d *Definition) { d.MaxTools = 10_001 }, "max_tools"},
		"negative tools":      {func(d *Definition) { d.MaxTools = -1 }, "max_tools"},
		"record":              {func(d *Definition) { d.DriftPolicy = surface.Record }, ""},
		"another policy":      {func(d *Definition) { d.DriftPolicy = "ignore" }, "drift_policy"},
		"an effect": {func(d *Definition) {
			d.DriftEffects = map[surface.Class]surface.Effect{surface.ToolAdded: surface.Event}
		}, ""},
		"an unknown class":      {func(d *Definition) { d.DriftEffects = map[surface.Class]surface.Effect{"x": surface.Event} }, "drift_effects.x"},
		"an unknown effect":     {func(d *Definition) { d.DriftEffects = map[surface.Class]surface.Effect{surface.ToolAdded: "x"} }, "drift_effects.tool-added"},
		"ten seconds":           {func(d *Definition) { d.Interval = Duration(10 * time.Second) }, ""},
		"under ten seconds":     {func(d *Definition) { d.Interval = Duration(9 * time.Second) }, "interval"},
		"over a week":           {func(d *Definition) { d.Interval = Duration(8 * 24 * time.Hour) }, "interval"},
		"no timeout":            {func(d *Definition) { d.Timeout = Duration(time.Millisecond) }, "timeout"},
		"a long timeout":        {func(d *Definition) { d.Timeout = Duration(time.Hour) }, "timeout"},
		"a failure threshold":   {func(d *Definition) { d.FailureThreshold = 101 }, "failure_threshold"},
		"a recovery threshold":  {func(d *Definition) { d.RecoveryThreshold = 0 }, "recovery_threshold"},
		"no location":           {func(d *Definition) { d.Locations = nil }, "locations"},
		"a location":            {func(d *Definition) { d.Locations = []string{"eu-west_1"} }, ""},
		"an upper-case one":     {func(d *Definition) { d.Locations = []string{"EU"} }, "locations[0]"},
		"two dashes":            {func(d *Definition) { d.Locations = []string{"a--b"} }, "locations[0]"},
		"a location twice":      {func(d *Definition) { d.Locations = []string{"a", "a"} }, "locations"},
		"a long location":       {func(d *Definition) { d.Locations = []string{strings.Repeat("a", 49)} }, "locations[0]"},
		"no escalation":         {func(d *Definition) { d.Escalation = "" }, "escalation"},
		"a dependency":          {func(d *Definition) { d.Dependencies = []Dependency{{Monitor: "db"}} }, ""},
		"itself":                {func(d *Definition) { d.Dependencies = []Dependency{{Monitor: "search"}} }, "dependencies[0].monitor"},
		"a dependency twice":    {func(d *Definition) { d.Dependencies = []Dependency{{Monitor: "a"}, {Monitor: "a"}} }, "dependencies"},
		"too many dependencies": {func(d *Definition) { d.Dependencies = make([]Dependency, 21) }, "dependencies"},
	} {
		t.Run(name, func(t *testing.T) {
			var fields []string
			for _, p := range definition(c.change).Validate(FromAPI) {
				fields = append(fields, p.Field)
				if p.Text == "" || p.Hint == "" || strings.ContainsAny(p.String(), "\n\x00\u200b") || strings.Contains(p.String(), "--") && !strings.Contains(p.Text, "a--b") {
					t.Errorf("%+v", p)
				}
			}
			if strings.Join(fields, " ") != c.want {
				t.Errorf("problems %v, want %q", fields, c.want)
			}
		})
	}
	for _, d := range []*Definition{
		definition(func(d *Definition) { d.Transport, d.URL = Stdio, "stdio://files" }),
		definition(func(d *Definition) { d.AuthMode = AuthLogin }),
	} {
		if p := d.Validate(FromFile); len(p) > 0 {
			t.Errorf("of a file: %v", p)
		}
	}
}

func TestLoosens(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(*Definition)
		headers       bool
		want          []string
	}{
		"nothing": {nil, nil, false, nil},
		"what loosens nothing": {nil, func(d *Definition) {
			d.Name, d.Tags, d.Interval, d.Timeout, d.ExpectedTools, d.MaxTools = "b", []string{"x"}, Duration(time.Minute), Duration(time.Minute), []string{"a"}, 5
			d.Locations, d.Dependencies = []string{"b", "local"}, []Dependency{{Monitor: "db", Critical: true}}
		}, false, nil},
		"another URL": {nil, func(d *Definition) { d.URL = "https://b/" }, false, []string{"url: https://mcp.example.com/mcp -> https://b/"}},
		"identity": {nil, func(d *Definition) {
			d.Transport, d.AuthMode, d.Headers, d.ProtocolVersion = SSE, AuthHeader, []string{"X"}, "2025-06-18"
		}, false, []string{"transport: streamable-http -> sse", "auth_mode: none -> header", "headers: nothing -> X", "protocol_version: nothing -> 2025-06-18"}},
		"seldom":            {nil, func(d *Definition) { d.Interval = Duration(MaxInterval) }, false, []string{"interval: 10m0s -> 168h0m0s"}},
		"from elsewhere":    {nil, func(d *Definition) { d.Locations = []string{"mars"} }, false, []string{"locations: without local"}},
		"told to others":    {nil, func(d *Definition) { d.Escalation = "quiet" }, false, []string{"escalation: default -> quiet"}},
		"values of headers": {nil, nil, true, []string{"headers: other values"}},
		"one effect": {nil, func(d *Definition) {
			d.DriftEffects = map[surface.Class]surface.Effect{surface.ToolAdded: surface.Event}
		}, false, []string{"drift_policy: tool-added fails no more"}},
		"a stricter effect": {nil, func(d *Definition) {
			d.DriftEffects = map[surface.Class]surface.Effect{surface.ToolMeta: surface.Fail}
		}, false, nil},
		"back to stricter": {func(d *Definition) { d.DriftPolicy = surface.Record }, nil, false, nil},
		"tools": {
			func(d *Definition) { d.MaxTools, d.ExpectedTools = 5, []string{"a", "b"} },
			func(d *Definition) { d.MaxTools, d.ExpectedTools = 6, []string{"b"} },
			false,
			[]string{"max_tools: 5 -> 6", "expected_tools: without a"},
		},
		"no cap": {func(d *Definition) { d.MaxTools = 5 }, nil, false, []string{"max_tools: 5 -> 0"}},
		"a lower cap": {
			func(d *Definition) { d.MaxTools = 5 }, func(d *Definition) { d.MaxTools = 4 }, false, nil,
		},
		"thresholds": {
			nil, func(d *Definition) { d.FailureThreshold, d.RecoveryThreshold = 3, 2 }, false,
			[]string{"failure_threshold: 2 -> 3", "recovery_threshold: 1 -> 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Loosens(definition(c.before), definition(c.after), c.headers)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	record := Loosens(definition(nil), definition(func(d *Definition) { d.DriftPolicy = surface.Record }), false)
	for _, want := range []string{"drift_policy: tool-added fails no more", "drift_policy: finding fails no more"} {
		if !slices.Contains(record, want) {
			t.Errorf("record: %v", record)
		}
	}
}

func TestSlots(t *testing.T) {
	interval := 10 * time.Minute
	buckets := make([]int, 10)
	for id := range int64(10_000) {
		o := Offset(id, "local", interval)
		if o < 0 || o >= interval || o != Offset(id, "local", interval) || o%time.Millisecond != 0 {
			t.Fatalf("offset %s", o)
		}
		buckets[o/(interval/10)]++
	}
	for _, n := range buckets {
		if n < 900 || n > 1100 {
			t.Errorf("not spread evenly: %v", buckets)
		}
	}
	if Offset(1, "a", interval) == Offset(1, "b", interval) || Offset(1, "a", 0) != 0 {
		t.Error("offsets of locations")
	}
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(10_000, 700_000_000).Draw(t, "interval")) * time.Millisecond
		offset := time.Duration(rapid.Int64Range(0, interval.Milliseconds()-1).Draw(t, "offset")) * time.Millisecond
		after := time.Unix(0, rapid.Int64Range(-1e18, 4e18).Draw(t, "after"))
		next := NextSlot(offset, interval, after)
		if !next.After(after) && next.UnixMilli() <= after.UnixMilli() || next.Sub(after) > interval+time.Millisecond {
			t.Fatalf("after %s comes %s", after, next)
		}
		if got := NextSlot(offset, interval, next); got.Sub(next) != interval {
			t.Fatalf("after %s comes %s", next, got)
		}
		if ((next.UnixMilli()-offset.Milliseconds())%interval.Milliseconds()) != 0 || next.Location() != time.UTC {
			t.Fatalf("%s is no slot", next)
		}
	})
}

func TestBudget(t *testing.T) {
	d := definition(nil)
	same(t, "as by default", Budget(d, 0), 25*time.Second)
	same(t, "with a start", Budget(d, time.Minute), 85*time.Second)
	d.Interval = Duration(10 * time.Second)
	same(t, "half the interval", Budget(d, 0), 10*time.Second)
	same(t, "not normalized", Budget(&Definition{}, 0), 25*time.Second)
}

//go:build unix

package bench_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// What pinning a surface may cost.
const (
	maxSurface = 5.0 // times json.Unmarshal of the same bytes
	maxGrowth  = 2.5 // times the cost of a byte in a surface of 1,000 tools, in one of 10,000
	pairs      = 31
)

// TestSurface compares a fingerprint, the comparison with another surface and the
// lint with json.Unmarshal, on a surface like the largest real one.
func TestSurface(t *testing.T) {
	if os.Getenv(enabledBy) == "" {
		t.Skip(skipReason)
	}
	measureSurface(t, large(0), large(1))
}

// measureSurface prints what each part takes for tools, compared with others, and
// judges the whole.
func measureSurface(t *testing.T, tools, others []string) {
	t.Helper()
	data := []byte(`{"tools":[` + join(tools) + `]}`)
	before, in := surface.New(listed(others)), listed(tools)
	parts := map[string][]float64{}
	timed := func(what string, f func()) float64 {
		runtime.GC() // what one part leaves behind is not for the next to clear away
		start := time.Now()
		f()
		took := float64(time.Since(start))
		parts[what] = append(parts[what], took)
		return took
	}
	var ratios []float64
	for range pairs {
		var s *surface.Surface
		all := timed("fingerprint", func() { s = surface.New(in) })
		all += timed("compare", func() {
			if n := len(surface.Compare(before, s, surface.CompareOptions{})); n < len(tools) {
				t.Fatalf("%d changes", n)
			}
		})
		all += timed("lint", func() { lint.Scan(s, lint.Options{}) })
		ratios = append(ratios, all/timed("json.Unmarshal", func() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatal(err)
			}
		}))
	}
	fmt.Printf("surface of %d tools, %d bytes:\n", len(tools), len(data))
	for _, what := range []string{"fingerprint", "compare", "lint", "json.Unmarshal"} {
		fmt.Printf("  %-16s %9.0f µs\n", what, median(parts[what])/1e3)
	}
	verdict(t, "fingerprint, compare and lint, times json.Unmarshal", median(ratios), maxSurface, "%.2f")
}

// TestSurfaceGrowth: whatever a server writes, a byte of 10,000 tools takes no longer
// than one of 1,000 does, but for what a larger heap and its caches cost. What grows
// with the square takes ten times as long.
func TestSurfaceGrowth(t *testing.T) {
	if os.Getenv(enabledBy) == "" {
		t.Skip(skipReason)
	}
	for _, c := range growing() {
		t.Run(c.name, func(t *testing.T) {
			small, large := newWork(c, 1_000), newWork(c, 10_000)
			few, many := costOfByte(t, small, 10), costOfByte(t, large, 1)
			verdict(t, fmt.Sprintf("%s (%.0f ns a byte)", c.name, many), many/few, maxGrowth, "%.2f")
		})
	}
}

// costOfByte gives the nanoseconds of CPU for a byte: the least of three, each of so
// many times.
func costOfByte(t *testing.T, w *work, times int) float64 {
	var costs []float64
	for range 3 {
		runtime.GC()
		start := spentCPU(t)
		for range times {
			w.do()
		}
		costs = append(costs, float64(spentCPU(t)-start)/float64(times*size(w.in)))
	}
	return slices.Min(costs)
}

// spentCPU is what this process has used. What else runs on the machine does not
// count.
func spentCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// work is all that is done with a surface.
type work struct {
	before *surface.Surface
	in     surface.Input
}

func newWork(c grown, n int) *work {
	return &work{surface.New(listed(c.tools(n, "old"))), listed(c.tools(n, "new"))}
}

func (w *work) do() {
	s := surface.New(w.in)
	surface.Compare(w.before, s, surface.CompareOptions{})
	lint.Scan(s, lint.Options{})
}

// TestSurfacesAreWhatTheySay keeps the generators honest.
func TestSurfacesAreWhatTheySay(t *testing.T) {
	tools := large(0)
	if n, bytes := len(tools), size(listed(tools)); n != 188 || bytes < 1_000_000 || bytes > 1_400_000 {
		t.Errorf("the large surface has %d tools and %d bytes", n, bytes)
	}
	if !slices.Equal(tools, large(0)) {
		t.Error("the large surface is another one each time")
	}
	for _, c := range growing() {
		list := c.tools(20, "new")
		for _, tool := range list {
			if !json.Valid([]byte(tool)) {
				t.Errorf("%s: not JSON: %.200s", c.name, tool)
			}
		}
		s := surface.New(listed(list))
		if len(surface.Compare(surface.New(listed(c.tools(20, "old"))), s, surface.CompareOptions{})) == 0 {
			t.Errorf("%s: nothing changed", c.name)
		}
		lint.Scan(s, lint.Options{})
	}
}

func join(tools []string) string { return strings.Join(tools, ",") }

func listed(tools []string) surface.Input {
	l := surface.List{Listed: true}
	for _, tool := range tools {
		l.Entries = append(l.Entries, json.RawMessage(tool))
	}
	empty := surface.List{Listed: true}
	return surface.Input{
		Opening:  json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1.0.0"}}`),
		Protocol: "2025-11-25", Tools: l, Resources: empty, ResourceTemplates: empty, Prompts: empty,
	}
}

func size(in surface.Input) int {
	n := 0
	for _, raw := range in.Tools.Entries {
		n += len(raw)
	}
	return n
}

// large is a surface like that of a server for a whole office suite: 188 tools, a
// few of which take an entity that is nested deeply, and all of them documented.
// Another edition has another description on each tool.
func large(edition int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	var entities []string
	for i := range 8 {
		entities = append(entities, entity(r, 2+i%4))
	}
	tools := make([]string, 188)
	for i := range tools {
		properties := []string{
			property("includeHeaders", `{"type":"boolean","description":`+quoted(sentence(r, 12))+`}`),
			property("excludeResponse", `{"type":"boolean","description":`+quoted(sentence(r, 12))+`}`),
		}
		for j := range 2 + r.IntN(6) {
			properties = append(properties, property(fmt.Sprintf("%s%d", word(r), j), leaf(r)))
		}
		if i%2 == 0 {
			properties = append(properties, property("body", entities[r.IntN(len(entities))]))
		}
		tools[i] = fmt.Sprintf(`{"name":"%s-%s-%d","title":"%s","description":%s,"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{%s},"required":["includeHeaders"],"additionalProperties":false},"annotations":{"title":"%s","readOnlyHint":%v,"destructiveHint":false,"openWorldHint":true},"execution":{"taskSupport":"forbidden"}}`,
			word(r), word(r), i, word(r), quoted(fmt.Sprintf("%s\n\n💡 TIP: %s Edition %d.", sentence(r, 20), sentence(r, 35), edition)),
			strings.Join(properties, ","), word(r), i%2 == 0)
	}
	return tools
}

var words = strings.Fields("the a of to for and in returns message folder file item user calendar event list drive site page contact mail attachment property value optional required identifier query filter select before after using when path ignore only also default server date time zone format read write update delete create system instruction token")

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

func sentence(r *rand.Rand, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = word(r)
	}
	return strings.ToUpper(out[0][:1]) + strings.Join(out, " ")[1:] + "."
}

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func property(name, schema string) string { return quoted(name) + ":" + schema }

func leaf(r *rand.Rand) string {
	text := `"description":` + quoted(sentence(r, 10+r.IntN(20)))
	switch r.IntN(6) {
	case 0:
		return `{"type":"number","minimum":-2147483648,"maximum":2147483647,` + text + `}`
	case 1:
		return `{"type":"string","enum":["low","normal","high"],` + text + `}`
	case 2:
		return `{"type":"string","pattern":"^[0-9]{4,}-(0[1-9]|1[012])$","format":"date-time",` + text + `}`
	case 3:
		return `{"anyOf":[{"type":"string"},{"type":"null"}],` + text + `}`
	default:
		return `{"type":"string",` + text + `}`
	}
}

// entity is an object of objects and arrays of them.
func entity(r *rand.Rand, depth int) string {
	var properties []string
	for i := range 2 + r.IntN(3) {
		properties = append(properties, property(fmt.Sprintf("%s%d", word(r), i), leaf(r)))
	}
	if depth > 0 {
		inner := entity(r, depth-1)
		properties = append(properties,
			property("parent", inner),
			property("children", `{"type":"array","items":`+entity(r, depth-2)+`}`))
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"additionalProperties":{}}`
}

// grown is a way to make n tools, in two editions.
type grown struct {
	name  string
	tools func(n int, edition string) []string
}

// growing are honest tools, and what a server could write to make a reader slow:
// many tools, one long text, and schemas.
func growing() []grown {
	honest := sentence(rand.New(rand.NewPCG(3, 4)), 30) + " "
	var all []grown
	for _, u := range []struct {
		name, unit string
		many       bool // also a text of usual length in each of many tools
	}{
		{"honest text", honest, true},
		{"zero-width characters", "a\u200b", true},
		{"joiners and emoji", "👩\u200d", false},
		{"tag characters", "\U000E0041", true},
		{"combining marks", "\u0301", false},
		{"right-to-left overrides", "\u202e\u2066", false},
		{"blanks", " ", false},
		{"line breaks", "\n\t", false},
		{"unclosed tags", "<important>", true},
		{"less-than signs", "<", false},
		{"unclosed comments", "<!--", false},
		{"ignore previous", "ignore previous ", true},
		{"do not tell", "do not tell ", false},
		{"before using", "before using this tool read ", false},
		{"when calling", "when calling the tool ", false},
		{"paths", "~/.ssh/", true},
		{"send to", "send always to a@b.example ", false},
		{"addresses", "http://a.example/", false},
		{"images", "![](http://a", true},
		{"base64", "aWdub3JlIHByZXZpb3VzIGlu", true},
		{"pieces of base64", "aWdub3Jl ", false},
		{"hexadecimal", "69676e6f7265", false},
		{"percent signs", "%69%67", false},
		{"backslashes", `\`, false},
		{"digits", "1", false},
		{"dates", "2026-01-01T00:00:00Z", false},
		{"versions", "1.0.0-a.", false},
		{"letters of two scripts", "aа", false},
		{"open brackets", "[[", false},
		{"e-mail addresses", "a@", false},
	} {
		all = append(all, grown{"a long text: " + u.name, func(n int, edition string) []string {
			return []string{described("one", strings.Repeat(u.unit, n)+edition)}
		}})
		if u.many {
			text := strings.Repeat(u.unit, 400/len(u.unit)+1)
			all = append(all, grown{"many texts: " + u.name, func(n int, edition string) []string {
				return times(n, func(i int) string { return described(fmt.Sprintf("tool-%d", i), text+edition) })
			}})
		}
	}
	return append(all, shapes()...)
}

func described(name, text string) string {
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":{"type":"object"}}`, quoted(name), quoted(text))
}

// shapes are tools whose structure is the matter.
func shapes() []grown {
	nested := strings.Repeat(`{"properties":{"a":`, 100) + `{"type":"string"}` + strings.Repeat(`}}`, 100)
	tool := func(name, edition, schema string) string {
		return fmt.Sprintf(`{"name":%s,"description":"The tool %s.","inputSchema":%s}`, quoted(name), edition, schema)
	}
	const plainly = `{"type":"object"}`
	return []grown{
		{"deep schemas", func(n int, edition string) []string {
			return times(n, func(i int) string { return tool(fmt.Sprintf("tool-%d", i), edition, nested) })
		}},
		{"branches of one schema", func(n int, edition string) []string {
			branches := times(n, func(i int) string { return fmt.Sprintf(`{"const":"%s%d"}`, edition, i) })
			return []string{tool("one", edition, `{"type":"object","anyOf":[`+join(branches)+`]}`)}
		}},
		{"branches that differ in text", func(n int, edition string) []string {
			branches := times(n, func(i int) string { return fmt.Sprintf(`{"type":"string","title":"%s%d"}`, edition, i) })
			return []string{tool("one", edition, `{"type":"object","oneOf":[`+join(branches)+`]}`)}
		}},
		{"nested branches", func(n int, edition string) []string {
			level := strings.Repeat(`{"allOf":[{"type":"string"},`, 60) + `{"title":"` + edition + `"}` + strings.Repeat(`]}`, 60)
			return times(n, func(i int) string { return tool(fmt.Sprintf("tool-%d", i), edition, level) })
		}},
		{"properties of one schema", func(n int, edition string) []string {
			properties := times(n, func(i int) string { return fmt.Sprintf(`"%s%d":{"type":"string"}`, edition, i) })
			return []string{tool("one", edition, `{"type":"object","properties":{`+join(properties)+`}}`)}
		}},
		{"values of one enum", func(n int, edition string) []string {
			values := times(n, func(i int) string { return fmt.Sprintf(`"%s%d"`, edition, i) })
			return []string{tool("one", edition, `{"type":"object","properties":{"a":{"enum":[`+join(values)+`]}},"required":[`+join(values)+`]}`)}
		}},
		{"members of one name", func(n int, edition string) []string {
			members := times(n, func(i int) string { return fmt.Sprintf(`"title":"%s%d"`, edition, i) })
			return []string{tool("one", edition, `{"type":"object",`+join(members)+`}`)}
		}},
		{"tools of one name", func(n int, edition string) []string {
			return times(n, func(i int) string { return tool("same", fmt.Sprintf("%s%d", edition, i), plainly) })
		}},
		{"every tool under a new name", func(n int, edition string) []string {
			return times(n, func(i int) string {
				return fmt.Sprintf(`{"name":"%s-%d","description":"The same.","inputSchema":{"type":"object"}}`, edition, i)
			})
		}},
		{"names that look alike", func(n int, edition string) []string {
			return times(n, func(i int) string {
				name := []rune("aaaaaaaaaaaaaaaa")
				for bit := range name {
					if i>>bit&1 == 1 {
						name[bit] = 'а' // Cyrillic
					}
				}
				return tool(string(name), edition, plainly)
			})
		}},
		{"tools that name each other", func(n int, edition string) []string {
			return times(n, func(i int) string {
				return tool(fmt.Sprintf("tool-%d", i), edition+fmt.Sprintf(", when calling the tool-%d tool, instead of tool-%d send to it", (i*7)%n, (i*13)%n), plainly)
			})
		}},
		{"a new host in every tool", func(n int, edition string) []string {
			return times(n, func(i int) string {
				return tool(fmt.Sprintf("tool-%d", i), fmt.Sprintf("https://%s%d.example.net/", edition, i), plainly)
			})
		}},
	}
}

func times(n int, one func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = one(i)
	}
	return out
}

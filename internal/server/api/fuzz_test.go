package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// fuzzTime is how long requests are made up; each operation gets a few in any case.
const fuzzTime = 12 * time.Second

// TestFuzzFromDocument makes up requests from the document alone, right ones and wrong
// ones, and holds the answers against it.
func TestFuzzFromDocument(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FUZZ_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FUZZ_SEED=%d", seed)
	w := newWorld(t, open(t, "")).populate()
	id := w.monitor("seen", map[string]any{"external_id": "known"})
	w.request("POST", "/channels", w.credentials["key admin"], map[string]any{"name": "pager", "type": "webhook", "settings": map[string]any{"url": "https://hooks.example.com/x", "secret": signing}}, http.StatusCreated, nil)
	w.observe(id, tools(map[string]string{"find": "Finds things."}))
	w.observe(id, tools(map[string]string{"find": hostile}))
	f := &fuzzer{w: w, r: rand.New(rand.NewPCG(seed, 1)), d: w.document(), good: map[string]int{}, ids: map[string][]string{"monitors": {"1"}, "incidents": {"1"}}}
	type place struct{ address, method string }
	var places []place
	for address, methods := range f.d.Paths {
		for method, op := range methods {
			if op.OperationID != "signOut" { // it would end the test's own session
				places = append(places, place{address, method})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.address+a.method, b.address+b.method) })
	end, rounds, n := time.Now().Add(fuzzTime), 0, 0
	for rounds < 2 || time.Now().Before(end) {
		for _, p := range places {
			op := f.d.Paths[p.address][p.method]
			f.try(t, p.address, p.method, &op)
			n++
			if t.Failed() {
				t.Fatalf("repeat it with FUZZ_SEED=%d", seed)
			}
		}
		rounds++
	}
	t.Logf("%d requests in %d rounds; successes: %v", n, rounds, f.good)
	if rounds < 50 {
		return // a slow machine
	}
	// What is right by chance so rarely that a whole run may have none is not asked for.
	f.good["changes"] = f.good["editMonitor"] + f.good["putMonitor"] + f.good["pauseMonitor"]
	for _, id := range []string{"createMonitor", "changes", "listMonitors", "getMonitor", "createWindow", "listEvents"} {
		if f.good[id] == 0 {
			t.Errorf("no request of %s was a right one: %v", id, f.good)
		}
	}
}

type fuzzer struct {
	w    *world
	r    *rand.Rand
	d    *served
	good map[string]int
	n    int
	odd  float64             // how often a text is any text; 0: all of it makes sense
	ids  map[string][]string // that were made, by the first part of the address
}

func (f *fuzzer) chance(p float64) bool { return f.r.Float64() < p }

// meant is the first of list where all has to make sense, and else any.
func (f *fuzzer) meant(list ...string) string {
	if f.odd == 0 {
		return list[0]
	}
	return pick(f, list...)
}

func pick[T any](f *fuzzer, list ...T) T { return list[f.r.IntN(len(list))] }

func (f *fuzzer) try(t *testing.T, address, method string, op *operation) {
	t.Helper()
	f.odd = pick(f, 0, 0.01, 0.3)
	target, query := address, url.Values{}
	for _, p := range op.Parameters {
		switch p.In {
		case "path":
			target = strings.Replace(target, "{"+p.Name+"}", url.PathEscape(f.pathValue(p, address, method)), 1)
		case "query":
			if f.chance(0.3) {
				query.Set(p.Name, f.text(f.value(p.Schema, p.Name, 0)))
			}
		}
	}
	if f.chance(0.05) {
		query.Set("unknown", "1")
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body []byte
	if op.RequestBody != nil && (op.RequestBody.Required || f.chance(0.7)) {
		body = f.body(op)
	}
	credential := f.w.credentials[pick(f, "session admin", "session admin", "key admin", "key editor", "session approver")]
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	a := f.w.send(strings.ToUpper(method), target, credential, reader, func(r *http.Request) {
		if f.chance(0.03) {
			r.Header.Set("Content-Type", pick(f, "text/plain", "application/xml", "nonsense;;", ""))
		}
		if f.chance(0.03) {
			r.Header.Set("Accept", pick(f, "text/html", "*/*", "application/cbor", "nonsense"))
		}
	})
	if a.status < 300 {
		f.good[op.OperationID]++
		var made struct{ ID int64 }
		if a.status == http.StatusCreated && json.Unmarshal(a.body, &made) == nil && made.ID > 0 {
			kind := strings.Replace(strings.Split(address, "/")[1], "external-ids", "monitors", 1)
			f.ids[kind] = append(f.ids[kind], strconv.FormatInt(made.ID, 10))
		}
	}
	switch err := f.d.fits(address, method, op, a); {
	case a.status >= 500:
		t.Errorf("%s: %s %s with %.2000q: status %d: %s", op.OperationID, method, target, body, a.status, a.body)
	case err != nil:
		t.Errorf("%s: %s %s with %.2000q: %v\n%.2000s", op.OperationID, method, target, body, err, a.body)
	case !utf8.Valid(a.body) || bytes.ContainsAny(a.body, "\u202e\u200b\x00\x1b"):
		t.Errorf("%s: %s: the answer has what cannot be seen: %q", op.OperationID, target, a.body)
	}
}

func (f *fuzzer) pathValue(p parameter, address, method string) string {
	known := f.ids[strings.Split(address, "/")[1]]
	if p.Name == "id" && len(known) > 0 && f.chance(0.8) && (method != "delete" || f.chance(0.1)) {
		return pick(f, known...)
	}
	if p.Name == "name" && f.chance(0.5) {
		return fmt.Sprintf("n%d", f.r.IntN(5))
	}
	if p.Name == "external_id" && f.chance(0.6) {
		return pick(f, "known", "other", "third")
	}
	v := f.text(f.value(p.Schema, p.Name, 0))
	if strings.HasPrefix(address, "/channels/") && v == "1" {
		return "2" // policies need the first one
	}
	if v != "" && v != "." && v != ".." {
		return v
	}
	return "x"
}

func (f *fuzzer) text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// body is a body that fits the schema, or one that was spoiled somewhere.
func (f *fuzzer) body(op *operation) []byte {
	v := f.value(op.RequestBody.Content["application/json"].Schema, "", 0)
	if m, ok := v.(map[string]any); ok {
		if _, has := m["password"]; has && op.OperationID != "signIn" {
			m["password"] = password
		}
		if op.OperationID == "editAccount" {
			m["password"] = "not the password" // or the test's own account is gone
		}
	}
	if f.odd > 0 && f.chance(0.5) {
		v = f.spoil(v)
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if f.chance(0.05) {
		out = pick(f, out[:len(out)/2], append(out, out...), []byte("\xff\xfe"), []byte{}, bytes.Repeat([]byte("["), 2000),
			[]byte(`{"name":1e999}`), append([]byte(`{"name":"a",`), out[min(1, len(out)):]...))
	}
	return out
}

// resolve follows references.
func (f *fuzzer) resolve(s map[string]any) map[string]any {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		s, _ = f.d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
	}
}

// value is one that fits a schema.
func (f *fuzzer) value(s map[string]any, name string, depth int) any {
	s = f.resolve(s)
	if enum, ok := s["enum"].([]any); ok {
		return pick(f, enum...)
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "boolean":
		return f.chance(0.5)
	case "integer", "number":
		return f.number(s)
	case "array":
		out := []any{}
		items, _ := s["items"].(map[string]any)
		least, _ := s["minItems"].(float64)
		for range int(least) + f.r.IntN(3) {
			if depth < 8 {
				out = append(out, f.value(items, name, depth+1))
			}
		}
		if text, ok := items["type"].(string); f.odd == 0 && ok && text == "string" && len(out) > 0 {
			return slices.Compact(out) // nobody names a thing twice
		}
		return out
	case "object":
		return f.object(s, depth)
	default:
		return f.string(s, name)
	}
}

func (f *fuzzer) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(required, any(name)) || f.chance(0.25) {
			property, _ := properties[name].(map[string]any)
			out[name] = f.value(property, name, depth+1)
		}
	}
	if properties["start"] != nil && f.chance(0.5) { // a single window
		for _, name := range []string{"days", "from", "for", "zone", "monitors"} {
			delete(out, name)
		}
		out["start"], out["end"] = "2026-01-02T03:04:05Z", "2026-01-02T05:04:05Z"
	}
	if f.odd == 0 { // what refers to something else
		for _, name := range []string{"headers", "dependencies", "revision", "drift_effects"} {
			delete(out, name)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok && f.odd > 0 && f.chance(0.3) {
		out[pick(f, "url", "tool-text", "to", "é")] = f.value(more, "", depth+1)
	}
	return out
}

func (f *fuzzer) number(s map[string]any) any {
	least, hasLeast := s["minimum"].(float64)
	most, hasMost := s["maximum"].(float64)
	switch {
	case hasLeast && f.chance(0.3):
		return int64(least)
	case hasMost && f.chance(0.3):
		return int64(most)
	case hasMost:
		return int64(least) + f.r.Int64N(int64(most-least)+1)
	default:
		return int64(least) + pick(f, 0, 1, 2, 1<<31, 1<<53, int64(f.r.IntN(100)))
	}
}

// string is a text for a member of that name, mostly one that means something there.
func (f *fuzzer) string(s map[string]any, name string) string {
	if s["format"] == "date-time" {
		return pick(f, "2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-06-01T00:00:00+14:00", "2030-01-01T00:00:00Z")
	}
	if !f.chance(f.odd) {
		f.n++
		switch name {
		case "name":
			return fmt.Sprintf("n%d", f.n%200)
		case "url":
			return fmt.Sprintf("https://h%d.example.com/mcp", f.n)
		case "transport":
			return f.meant("streamable-http", "sse", "stdio")
		case "auth_mode":
			return f.meant("none", "header", "oauth", "login")
		case "drift_policy":
			return f.meant("alert", "record", "seed")
		case "interval", "delay", "for":
			return f.meant("1m", "10s", "2m", "0s", "-1s", "2562047h", "1ns")
		case "timeout":
			return f.meant("5s", "20s", "0s", "1000h")
		case "locations":
			return "local"
		case "channels":
			return "pager"
		case "monitors":
			return "seen"
		case "escalation":
			return "default"
		case "kind":
			return f.meant("maintenance", "expected-change")
		case "days":
			return pick(f, "mon", "sun")
		case "from":
			return f.meant("09:30", "24:00", "9")
		case "zone":
			return f.meant("Europe/Berlin", "UTC", "Nowhere/Land")
		case "digest":
			return "sha256:" + strings.Repeat("0a", 32)
		case "type":
			return pick(f, "webhook", "slack", "email", "ntfy")
		case "on":
			return pick(f, "down", "changed")
		case "protocol_version":
			return "2025-06-18"
		case "after":
			return pick(f, "1", "1000")
		}
	}
	most, ok := s["maxLength"].(float64)
	if !ok {
		most = 300
	}
	least, _ := s["minLength"].(float64)
	text := pick(f, "a", "", "x y", "ünï", "\u202eevil", "\u200b", "'; drop table monitors; --", "%00", "../../etc", "\U0001f4a5", "a\nb", "\x1b[31m",
		strings.Repeat("a", int(most)), strings.Repeat("é", int(most)), "null", "-1", `"\`, "\ufffd", "<script>")
	for utf8.RuneCountInString(text) < int(least) {
		text += "a"
	}
	return text
}

// spoil changes something somewhere in a value.
func (f *fuzzer) spoil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) == 0 || f.chance(0.2) {
			v[pick(f, "unknown", "Name", "", "\x00", "$schema", "__proto__")] = 1
			return v
		}
		name := pick(f, names...)
		if f.chance(0.2) {
			delete(v, name)
		} else {
			v[name] = f.spoil(v[name])
		}
		return v
	case []any:
		if len(v) > 0 && f.chance(0.6) {
			v[f.r.IntN(len(v))] = f.spoil(v[0])
			return v
		}
	}
	long := make([]any, 3000)
	for i := range long {
		long[i] = "x"
	}
	return pick[any](f, nil, true, -1, 1<<62, 1.5, 1e300, "", "a\x00b", strings.Repeat("x", 100_000), "\u202e\u200b", []any{}, map[string]any{}, []any{nil}, long, "\U0010ffff")
}

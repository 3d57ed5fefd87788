package probe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

func value(t *testing.T, text string) rawjson.Value {
	t.Helper()
	v, _, err := rawjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// chain is a schema that doubles with every reference.
func chain(n int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"%s":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}},"allOf":[{"$ref":"#/$defs/a0"}]}`, n)
	return b.String()
}

// Whatever a schema looks like, the check is over within its budget.
func TestHostileOutputSchemas(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	for name, c := range map[string]struct{ schema, content string }{
		"allOf chain": {chain(40, "allOf"), `{}`},
		"anyOf chain": {chain(40, "anyOf"), `{}`},
		"oneOf chain": {chain(30, "oneOf"), `{}`},
		"anchor chain": {`{"$defs":{"a":{"$anchor":"x0","allOf":[{"$ref":"#x1"},{"$ref":"#x1"}]},` + func() string {
			var b strings.Builder
			for i := 1; i < 40; i++ {
				fmt.Fprintf(&b, `"b%d":{"$anchor":"x%d","allOf":[{"$ref":"#x%d"},{"$ref":"#x%d"}]},`, i, i, i+1, i+1)
			}
			return b.String()
		}() + `"z":{"$anchor":"x40","type":"object"}},"$ref":"#x0"}`, `{}`},
		"recursion that doubles": {`{"$defs":{"x":{"properties":{"n":{"allOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}}}},"$ref":"#/$defs/x"}`, strings.Repeat(`{"n":`, 60) + `{}` + strings.Repeat(`}`, 60)},
		"digits":                 {`{"properties":{"a":{"multipleOf":3}}}`, `{"a":` + strings.Repeat("7", 3_000_000) + `}`},
		"exponent":               {`{"properties":{"a":{"multipleOf":1e-300000000}}}`, `{"a":1.5}`},
		"unevaluated":            {`{"unevaluatedProperties":false,"allOf":[` + many(50_000, `{"properties":{"a":true}}`) + `]}`, `{"a":` + `[` + many(2_000, "1") + `]}`},
		"enum":                   {`{"properties":{"a":{"contains":{"enum":[` + many(30_000, "[1]") + `]}}}}`, `{"a":[` + many(60_000, "[2]") + `]}`},
		"pattern":                {`{"properties":{"a":{"pattern":"(.{0,999}x)$"}}}`, `{"a":"` + strings.Repeat("y", 3_000_000) + `"}`},
		"nested pattern":         {`{"properties":{"a":{"pattern":"((a{0,30}){0,30})$"}}}`, `{"a":"` + strings.Repeat("a", 2_000_000) + `b"}`},
		"many patterns": {`{"patternProperties":{` + func() string {
			var p []string
			for i := range 2_000 {
				p = append(p, fmt.Sprintf(`"(a|b|c){20}%d":true`, i))
			}
			return strings.Join(p, ",")
		}() + `}}`, `{"` + strings.Repeat("a", 200_000) + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start := time.Now()
			f := breaksSchema(ctx, value(t, c.schema), value(t, c.content))
			if f == nil || f.reason != reasonSchemaLimit {
				t.Errorf("the verdict is %+v, want %s", f, reasonSchemaLimit)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// Schemas that people write are validated.
func TestHonestOutputSchemas(t *testing.T) {
	t.Parallel()
	rows := strings.TrimSuffix(strings.Repeat(`{"id":12,"name":"a name","tags":["x","y"],"at":"2026-07-28T00:00:00Z"},`, 2_000), ",")
	const table = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},
		"$defs":{"row":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z ]+$"},"tags":{"type":"array","items":{"enum":["x","y","z"]}},"at":{"type":"string"}}}}}`
	const tree = `{"type":"object","properties":{"value":{"type":"number"},"left":{"$ref":"#"},"right":{"$ref":"#"}},"required":["value"]}`
	for name, c := range map[string]struct {
		schema, content string
		want            Reason
	}{
		"table":          {table, `{"rows":[` + rows + `]}`, ""},
		"broken table":   {table, `{"rows":[{"id":"12"}]}`, reasonOutputSchema},
		"tree":           {tree, `{"value":1,"left":{"value":2,"right":{"value":3.5}}}`, ""},
		"broken tree":    {tree, `{"value":1,"left":{"value":2,"right":{}}}`, reasonOutputSchema},
		"self":           {`{"$ref":"#"}`, `{}`, reasonOutputSchema}, // no validator ends on it
		"a file":         {`{"$ref":"file:///etc/passwd"}`, `{}`, reasonOutputSchema},
		"another host":   {`{"$ref":"https://schema.example/x"}`, `{}`, reasonOutputSchema},
		"no such schema": {`{"type":"strin"}`, `{}`, reasonOutputSchema},
	} {
		t.Run(name, func(t *testing.T) {
			var got Reason
			if f := breaksSchema(t.Context(), value(t, c.schema), value(t, c.content)); f != nil {
				got = f.reason
			}
			if got != c.want {
				t.Errorf("the verdict is %q, want %q", got, c.want)
			}
		})
	}
}

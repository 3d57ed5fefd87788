package surface

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// generated is a surface of tools of the shape and size that large servers have:
// many optional parameters with long descriptions, a few levels of nesting, unions.
// 188 of them are about 1 MB.
func generated(tools int) []byte {
	var b strings.Builder
	b.WriteString(`{"serverInfo":{"name":"generated","version":"1.0.0"},"capabilities":{"tools":{}},"tools":[`)
	for i := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool-%d","title":"Tool %d","description":%q,"inputSchema":{"type":"object","properties":{`, i, i, prose(60))
		for p := range 12 {
			if p > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"parameter%d":`, p)
			parameter(&b, p, 2)
		}
		b.WriteString(`},"required":["parameter0","parameter1"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"},` +
			`"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func parameter(b *strings.Builder, p, levels int) {
	switch {
	case p%4 == 0 && levels > 0:
		fmt.Fprintf(b, `{"type":"object","description":%q,"properties":{"id":`, prose(6))
		parameter(b, 1, levels-1)
		b.WriteString(`,"value":`)
		parameter(b, 4, levels-1)
		b.WriteString(`,"items":{"type":"array","items":`)
		parameter(b, 2, levels-1)
		b.WriteString(`}},"additionalProperties":{}}`)
	case p%4 == 1:
		fmt.Fprintf(b, `{"anyOf":[{"type":"string","enum":["one","two","three"]},{"type":"null"}],"description":%q,"default":null}`, prose(10))
	case p%4 == 2:
		fmt.Fprintf(b, `{"type":"integer","minimum":0,"maximum":1000,"default":10.0,"description":%q}`, prose(12))
	default:
		fmt.Fprintf(b, `{"type":"string","format":"date-time","pattern":"^\\d{4}-\\d{2}$","description":%q}`, prose(14))
	}
}

func prose(words int) string {
	return strings.TrimSpace(strings.Repeat("gives \"whole\" records as they are stored, newest first. ", 1+words/9))
}

func inputOf(tb testing.TB, file []byte) Input {
	var doc struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(file, &doc); err != nil {
		tb.Fatal(err)
	}
	return Input{Opening: file, Tools: List{Listed: true, Entries: doc.Tools}}
}

// BenchmarkUnmarshal is what the others are measured against.
func BenchmarkUnmarshal(b *testing.B) {
	file := generated(188)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(file, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, tools := range []int{188, 10_000} {
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			file := generated(tools)
			in := inputOf(b, file)
			in.Opening = nil
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if got := len(New(in).Items()); got != tools {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	file := generated(188)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := Read(file); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	file := generated(188)
	s := New(inputOf(b, file))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if len(s.Save()) < len(file)/2 {
			b.Fatal("short")
		}
	}
}

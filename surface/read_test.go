package surface

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	tool := []item{{Tool, "a", `{"name":"a"}`}}
	for _, c := range []struct {
		name, in string
		want     []item
	}{
		{"a list", `{"tools":[{"name":"a"}],"prompts":null,"package":"x"}`, tool},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}],"nextCursor":"x"}}`, tool},
		{"an opening", `{"protocolVersion":"2025-06-18","serverInfo":{"name":"s"},"capabilities":{},"instructions":"i"}`, []item{
			{Server, "", `{"name":"s"}`}, {Protocol, "", `"2025-06-18"`}, {Capabilities, "", `{}`}, {Instructions, "", `"i"`},
		}},
		{"a surface without anything", `{"surface":1}`, nil},
		{"lists of one name", `{"tools":[{"name":"a"}],"tools":[{"name":"b"}]}`, append(tool, item{Tool, "b", `{"name":"b"}`})},
		{"another file with our form in it", `{"tools":[{"canonicalBase64":"e30="}]}`, []item{{Tool, "", `{"canonicalBase64":"e30="}`}}},
		{"our form", `{"surface":1,"tools":[{"canonicalBase64":"eyJuYW1lIjogImEifQ=="}]}`, tool},
	} {
		s, err := Read([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, itemsOf(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
		if s.Unlisted() != nil {
			t.Errorf("%s: unlisted: %v", c.name, s.Unlisted())
		}
	}
}

// TestReadUnlisted: of an inventory that was not listed to its end nothing is known.
func TestReadUnlisted(t *testing.T) {
	s, err := Read([]byte(`{"surface":1,"unlisted":["prompt","tool"],"tools":[{"name":"a"}],"resources":[{"uri":"u"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Kind{Tool, Prompt}, s.Unlisted()); diff != "" {
		t.Errorf("unlisted (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]item{{Resource, "u", `{"uri":"u"}`}}, itemsOf(s)); diff != "" {
		t.Errorf("items (-want +got)\n%s", diff)
	}
}

func TestReadIsBounded(t *testing.T) {
	if s, err := Read(make([]byte, maxFile+1)); s != nil || err == nil || err.Error() != "the surface has 67108865 bytes, the limit is 67108864" {
		t.Errorf("got %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "the surface cannot be read: line 1: invalid JSON at offset 0: unexpected end of input where a value should start"},
		{"not JSON", "{\n \"tools\": [,]}", "the surface cannot be read: line 2: invalid JSON at offset 13: unexpected ',' where a value should start"},
		{"a list", `[{"name":"a"}]`, "not a surface: it is a JSON array, want an object"},
		{"something else", `{"name":"a","result":[]}`, "not a surface: no tools, prompts, resources, resourceTemplates, instructions or serverInfo in it"},
		{"tools of another type", `{"tools":{}}`, "not a surface: tools is a JSON object, want an array"},
		{"another format", `{"surface":2,"tools":[]}`, "not a surface: its format is 2, this program reads 1"},
		{"an unknown inventory", `{"surface":1,"unlisted":["tools"]}`, "not a surface: unlisted has something else in it than tool, resource, resourceTemplate and prompt"},
		{"nesting", `{"tools":` + strings.Repeat("[", 256), "the surface cannot be read: invalid JSON at offset 264: nested deeper than 256 levels"},
	} {
		s, err := Read([]byte(c.in))
		if s != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

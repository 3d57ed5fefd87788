package surface

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entries(texts ...string) List {
	l := List{Listed: true}
	for _, text := range texts {
		l.Entries = append(l.Entries, json.RawMessage(text))
	}
	return l
}

// item is what tests compare of an Item.
type item struct {
	Kind             Kind
	Name, Definition string
}

func itemsOf(s *Surface) []item {
	var all []item
	for _, i := range s.Items() {
		all = append(all, item{i.Kind, i.Name, string(i.Definition)})
	}
	return all
}

func TestNew(t *testing.T) {
	s := New(Input{
		Opening: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"",` +
			`"serverInfo":{"version":"1","name":"s","":"x"},"ttlMs":5,"_meta":{"a":1},"supportedVersions":[]}`),
		Protocol:          "2025-11-25",
		Tools:             entries(`{"name":"b"}`, `{"title":"2","name":"a"}`, `{"name":"a","title":"1"}`, `{"name":5}`, `7`, "\xff\"oops"),
		Resources:         List{Entries: []json.RawMessage{json.RawMessage(`{"uri":"x:1"}`)}},
		ResourceTemplates: entries(`{"uriTemplate":"x:{a}","name":"n"}`),
		Prompts:           entries(`{"name":"p"}`),
		Auth: &AuthMetadata{
			Resource: json.RawMessage(`{"resource":"https://a","scopes_supported":["z","a"],"order":[2,1],"jwks":{"keys":[]},"signed_metadata":"e30"}`),
			Issuer:   json.RawMessage(`{`),
		},
	})
	want := []item{
		{Server, "", `{"":"x","name":"s","version":"1"}`},
		{Protocol, "", `"2025-11-25"`},
		{Capabilities, "", `{"tools":{}}`},
		{Instructions, "", `""`},
		{Auth, "", `{"issuer":"{","resource":{"order":[2,1],"resource":"https://a","scopes_supported":["a","z"],"signed_metadata":"e30"}}`},
		{Tool, "", "\"\xff\\\"oops\""},
		{Tool, "", `7`},
		{Tool, "", `{"name":5}`},
		{Tool, "a", `{"name":"a","title":"1"}`},
		{Tool, "a", `{"name":"a","title":"2"}`},
		{Tool, "b", `{"name":"b"}`},
		{ResourceTemplate, "x:{a}", `{"name":"n","uriTemplate":"x:{a}"}`},
		{Prompt, "p", `{"name":"p"}`},
	}
	if diff := cmp.Diff(want, itemsOf(s)); diff != "" {
		t.Errorf("items (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Kind{Resource}, s.Unlisted()); diff != "" {
		t.Errorf("unlisted (-want +got)\n%s", diff)
	}
}

func TestNewTakesWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		name, opening string
		want          []item
	}{
		{"nothing", ``, nil},
		{"nulls", `{"serverInfo":null,"capabilities":null,"instructions":null}`, nil},
		{"server in _meta", `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}},"serverInfo":null}`, []item{{Server, "", `{"name":"m"}`}}},
		{
			"server in both", `{"serverInfo":{"name":"r"},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}}}`,
			[]item{{Server, "", `{"name":"m"}`}, {Server, "", `{"name":"r"}`}},
		},
		{
			"the same server in both", `{"serverInfo":{"name":"m","x":1.0},"_meta":{"io.modelcontextprotocol/serverInfo":{"x":1,"name":"m"}}}`,
			[]item{{Server, "", `{"name":"m","x":1}`}},
		},
		{"null in _meta", `{"serverInfo":{"name":"r"},"_meta":{"io.modelcontextprotocol/serverInfo":null}}`, []item{{Server, "", `{"name":"r"}`}}},
		{
			"other letter case", `{"serverInfo":{"name":"a"},"ServerInfo":{"name":"b"},"capabilities":{},"CAPABILITIES":{"tools":{}},"Instructions":"x"}`,
			[]item{{Server, "", `{"name":"a"}`}, {Server, "", `{"name":"b"}`}, {Capabilities, "", `{"tools":{}}`}, {Capabilities, "", `{}`}, {Instructions, "", `"x"`}},
		},
		{
			"_meta in other letter case", `{"_meta":{},"_Meta":{"io.modelcontextprotocol/serverinfo":{"name":"b"}}}`,
			[]item{{Server, "", `{"name":"b"}`}},
		},
		{"members twice", `{"instructions":"b","instructions":"a"}`, []item{{Instructions, "", `"a"`}, {Instructions, "", `"b"`}}},
		{"other types", `{"serverInfo":"s","instructions":[1]}`, []item{{Server, "", `"s"`}, {Instructions, "", `[1]`}}},
		{"not JSON", `{"serverInfo`, []item{{Server, "", `"{\"serverInfo"`}}},
	} {
		if diff := cmp.Diff(c.want, itemsOf(New(Input{Opening: json.RawMessage(c.opening)}))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

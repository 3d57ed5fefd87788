package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Inspect writes what a server advertises. Human output lists names with the
// first line of each description; JSON holds the objects as the server sent
// them, members, order and numbers untouched but for the secrets of the check, in
//
//	{"target", "status", "failure", "server", "opening", "tools", "resources", "resourceTemplates", "prompts"}
//
// with null for what was not listed. failure is null, or why the check did not
// pass: {"name", "status", "reason", "message", "hint"} of the step that failed. Several reports stand in a list as in
// [Reports]. Other formats are refused.
func Inspect(w io.Writer, format Format, reports []*probe.Report, o Options) error {
	var out []byte
	var err error
	switch format {
	case Human, "":
		p := &page{o: o}
		p.title("inspect")
		for _, r := range reports {
			p.inspect(r)
		}
		p.printf("\n")
		out = []byte(p.String())
	case JSON:
		out, err = inspectJSON(reports)
	default:
		err = fmt.Errorf("inspect has no format %q, only human and json", format)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

func (p *page) inspect(r *probe.Report) {
	p.head(r)
	p.printf("  Status: %s\n", p.status(r.Status))
	p.server(r)
	if !r.Passed() {
		p.steps(r, true)
	}
	inv := inventory(r)
	if inv == nil {
		p.printf("\n  Nothing was listed: the check did not get that far.\n")
		return
	}
	p.list("Tools", "name", inv.Tools)
	p.list("Resources", "uri", inv.Resources)
	p.list("Resource templates", "uriTemplate", inv.ResourceTemplates)
	p.list("Prompts", "name", inv.Prompts)
	p.instructions(inv.Opening)
}

// inventory is that of r without the secrets of the check, or nil.
func inventory(r *probe.Report) *probe.Inventory {
	if r.Inventory == nil {
		return nil
	}
	inv := *r.Inventory
	inv.Opening = redactJSON(inv.Opening, r.Redact)
	for _, list := range []*[]json.RawMessage{&inv.Tools, &inv.Resources, &inv.ResourceTemplates, &inv.Prompts} {
		clean := slices.Clone(*list)
		for i := range clean {
			clean[i] = redactJSON(clean[i], r.Redact)
		}
		*list = clean
	}
	return &inv
}

// Bounds of one line of an inventory. A longer name has a line of its own.
const (
	entryColumn      = 24
	maxEntryColumn   = 40
	entryDescription = 100
)

// list writes one inventory; key is the member that identifies an entry.
func (p *page) list(heading, key string, entries []json.RawMessage) {
	if entries == nil {
		return
	}
	p.section(fmt.Sprintf("%s (%d)", heading, len(entries)))
	width := entryColumn
	for _, raw := range entries {
		if n := utf8.RuneCountInString(name(entryOf(raw).text(key))); n <= maxEntryColumn {
			width = max(width, n)
		}
	}
	for _, raw := range entries {
		e := entryOf(raw)
		id, text := name(e.text(key)), p.colour(dim, e.flags())+e.describe(key)
		if utf8.RuneCountInString(id) > width && text != "" {
			p.printf("    %s\n", id)
			id = ""
		}
		p.printf("%s\n", strings.TrimRight(fmt.Sprintf("    %s  %s", pad(id, width), text), " "))
	}
}

// describe is the first line of what an entry says of itself, safe to show.
func (e entry) describe(key string) string {
	text := e.text("description")
	if text == "" {
		text = e.text("title")
	}
	if n := e.text("name"); key != "name" && n != "" {
		text = strings.TrimSuffix(n+" -- "+text, " -- ")
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return plain.Line(strings.TrimRight(text, "\r "), entryDescription)
}

func (p *page) instructions(opening json.RawMessage) {
	text := strings.TrimSpace(entryOf(opening).text("instructions"))
	if text == "" {
		return
	}
	p.section("Instructions")
	for l := range strings.SplitSeq(plain.Text(text, 4*maxLine), "\n") {
		p.printf("    | %s\n", l) // or it could pass for a line of ours
	}
}

// entry is one object of an inventory, read loosely: what has the wrong type is
// not there.
type entry map[string]json.RawMessage

func entryOf(raw json.RawMessage) entry {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return nil
	}
	return e
}

func (e entry) text(key string) string {
	var s string
	if json.Unmarshal(e[key], &s) != nil {
		return ""
	}
	return s
}

// flags shows what a tool's annotations declare, or nothing.
func (e entry) flags() string {
	var a struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
	}
	if json.Unmarshal(e["annotations"], &a) != nil {
		return ""
	}
	switch {
	case a.ReadOnly != nil && *a.ReadOnly:
		return "[read-only] "
	case a.Destructive != nil && *a.Destructive:
		return "[destructive] "
	}
	return ""
}

func inspectJSON(reports []*probe.Report) ([]byte, error) {
	var b bytes.Buffer
	if len(reports) != 1 {
		b.WriteString(`{"version":1,"reports":[`)
	}
	for i, r := range reports {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := inspectOne(&b, r); err != nil {
			return nil, err
		}
	}
	if len(reports) != 1 {
		b.WriteString("]}")
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("the server's inventory is not JSON: %w", err)
	}
	indented.WriteByte('\n')
	return plain.JSON(indented.Bytes()), nil
}

// inspectOne writes one document. The server's objects are copied and not
// marshalled again, so that duplicate members and long numbers survive.
func inspectOne(b *bytes.Buffer, r *probe.Report) error {
	inv := inventory(r)
	if inv == nil {
		inv = &probe.Inventory{}
	}
	var failure *cause
	if !r.Passed() {
		c := causeOf(r)
		failure = &c
	}
	for i, member := range []struct {
		name  string
		value any
	}{{"target", r.Target}, {"status", r.Status}, {"failure", failure}, {"server", r.Server}} {
		value, err := json.Marshal(member.value)
		if err != nil {
			return err
		}
		b.WriteByte("{,,,"[i])
		fmt.Fprintf(b, "%q:%s", member.name, value)
	}
	b.WriteString(`,"opening":`)
	writeRaw(b, inv.Opening)
	for _, list := range []struct {
		name    string
		entries []json.RawMessage
	}{{"tools", inv.Tools}, {"resources", inv.Resources}, {"resourceTemplates", inv.ResourceTemplates}, {"prompts", inv.Prompts}} {
		fmt.Fprintf(b, ",%q:", list.name)
		if list.entries == nil {
			b.WriteString("null")
			continue
		}
		b.WriteByte('[')
		for i, raw := range list.entries {
			if i > 0 {
				b.WriteByte(',')
			}
			writeRaw(b, raw)
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return nil
}

func writeRaw(b *bytes.Buffer, raw json.RawMessage) {
	if len(raw) == 0 {
		b.WriteString("null")
		return
	}
	b.Write(raw)
}

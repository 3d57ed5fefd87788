package changes

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/text"
	"github.com/mcpvigil/mcpvigil/lint"
)

// side says which of both texts runs are written as.
type side uint8

const (
	both side = iota
	before
	after
)

// shows tells whether a run stands on a side.
func (s side) shows(r Run) bool {
	return s == both || r.Op == diff.Same || (s == before) == (r.Op == diff.Deleted)
}

// written are runs of a text: what went and came as del and ins, what a finding is about
// in a mark with its number. It is written by hand, as not a blank may come between.
func written(i *Item, runs []Run, s side) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var out strings.Builder
		var kept []Run
		for _, r := range runs {
			if s.shows(r) {
				if s == before { // findings are in what is there now
					r.Found = nil
				}
				kept = append(kept, r)
			}
		}
		element := ""
		for n, r := range kept {
			if next := elementOf(r.Op); next != element {
				closed(&out, element)
				if element = next; element != "" {
					out.WriteString("<" + element + ">")
				}
			}
			var ends []int // findings whose last part this is
			for _, f := range r.Found {
				if n+1 == len(kept) || !slices.Contains(kept[n+1].Found, f) {
					ends = append(ends, f)
				}
			}
			writeRun(ctx, &out, i, r, ends)
		}
		closed(&out, element)
		_, err := io.WriteString(w, out.String())
		return err
	})
}

func writeRun(ctx context.Context, out *strings.Builder, i *Item, r Run, ends []int) {
	if r.Folded > 0 {
		out.WriteString(`<span class="folded">`)
		left := lang.T(ctx, "⋯ %d bytes left out ⋯", r.Folded)
		if r.Alike {
			left = lang.T(ctx, "⋯ %d bytes that are the same ⋯", r.Folded)
		}
		out.WriteString(templ.EscapeString(left))
		out.WriteString(`</span>`)
		return
	}
	writeFound(ctx, out, i, r.Text, r.Found, ends)
}

// elementOf is the element of what went or came, empty for what stayed.
func elementOf(op diff.Op) string {
	return map[diff.Op]string{diff.Deleted: "del", diff.Inserted: "ins"}[op]
}

func closed(out *strings.Builder, element string) {
	if element != "" {
		out.WriteString("</" + element + ">")
	}
}

// writeFound writes a text that findings are in, with the numbers of those that end there.
func writeFound(ctx context.Context, out *strings.Builder, i *Item, said string, found, ends []int) {
	if len(found) == 0 {
		writePieces(out, said)
		return
	}
	class := "found"
	if slices.ContainsFunc(found, func(f int) bool { return i.Findings[f].Severity == lint.Block }) {
		class = "found found-block"
	}
	out.WriteString(`<mark class="` + class + `">`)
	writePieces(out, said)
	for _, f := range ends {
		fmt.Fprintf(out, `<a class="found-number" href="#%s"><span class="visually-hidden">%s</span>%d</a>`,
			i.FindingID(f), templ.EscapeString(" "+lang.T(ctx, "finding")+" "), f+1)
	}
	out.WriteString("</mark>")
}

// named is the name of something in a definition, with the findings in it.
func named(i *Item, name string, found []int) templ.Component {
	if len(found) == 0 {
		return text.Name(name)
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var out strings.Builder
		out.WriteString(`<bdi class="untrusted name">`)
		writeFound(ctx, &out, i, clip(name, maxName), found, found)
		out.WriteString(`</bdi>`)
		_, err := io.WriteString(w, out.String())
		return err
	})
}

// maxName bounds what is shown of a name, in bytes.
const maxName = 300

// Said is a text at a place of an item as it is now, at most limit bytes of it, with what
// its findings are about marked. The numbers lead to [Item.FindingID].
func (i *Item) Said(pointer, said string, limit int) templ.Component {
	f := &fields{item: i, extent: All(), told: map[string]bool{}}
	f.extent.Fold = len(said) > limit
	runs, cut, _ := f.runs(pointer, said, said, limit)
	if cut == 0 {
		return written(i, runs, both)
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if err := written(i, runs, both).Render(ctx, w); err != nil {
			return err
		}
		_, err := io.WriteString(w, ` <span class="cut">`+templ.EscapeString(lang.T(ctx, "… and %d more bytes", cut))+`</span>`)
		return err
	})
}

// Named is a name in an item, with the findings in it: those in the name of the member at
// a place.
func (i *Item) Named(pointer, name string) templ.Component { return named(i, name, i.names(pointer)) }

// FindingID is where a finding is explained.
func (i *Item) FindingID(n int) string { return "f-" + i.ID + "-" + number(n+1) }

// Marked is a text of a server with a part that was looked for.
func Marked(before, match, after string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var out strings.Builder
		writePieces(&out, before)
		out.WriteString("<mark>")
		writePieces(&out, match)
		out.WriteString("</mark>")
		writePieces(&out, after)
		_, err := io.WriteString(w, out.String())
		return err
	})
}

func writePieces(out *strings.Builder, said string) {
	for _, p := range (Run{Text: said}).Pieces() {
		if p.Name == "" {
			out.WriteString(templ.EscapeString(p.Text))
			continue
		}
		fmt.Fprintf(out, `<span class="hidden-character" title="%s">%s</span>`, templ.EscapeString(p.Name), templ.EscapeString(p.Text))
	}
}

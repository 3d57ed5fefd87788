package changes

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
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
				kept = append(kept, r)
			}
		}
		for n, r := range kept {
			last := n+1 == len(kept) || kept[n+1].Finding != r.Finding
			writeRun(ctx, &out, i, r, last)
		}
		_, err := io.WriteString(w, out.String())
		return err
	})
}

func writeRun(ctx context.Context, out *strings.Builder, i *Item, r Run, last bool) {
	if r.Folded > 0 {
		out.WriteString(`<span class="folded">`)
		out.WriteString(templ.EscapeString(lang.T(ctx, "⋯ %d bytes that are the same ⋯", r.Folded)))
		out.WriteString(`</span>`)
		return
	}
	element := map[diff.Op]string{diff.Deleted: "del", diff.Inserted: "ins"}[r.Op]
	if element != "" {
		out.WriteString("<" + element + ">")
	}
	if r.Finding >= 0 {
		class := "found"
		if i.Findings[r.Finding].Severity == lint.Block {
			class = "found found-block"
		}
		out.WriteString(`<mark class="` + class + `">`)
	}
	writePieces(out, r.Text)
	if r.Finding >= 0 {
		if last {
			fmt.Fprintf(out, `<a class="found-number" href="#%s"><span class="visually-hidden">%s</span>%d</a>`,
				i.findingID(r.Finding), templ.EscapeString(lang.T(ctx, "finding")+" "), r.Finding+1)
		}
		out.WriteString("</mark>")
	}
	if element != "" {
		out.WriteString("</" + element + ">")
	}
}

// findingID is where a finding is explained.
func (i *Item) findingID(n int) string { return "f-" + i.ID + "-" + number(n+1) }

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

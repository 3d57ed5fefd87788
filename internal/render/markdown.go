package render

import (
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Bounds of a comment on a pull request, of which hosts take 65,536 characters.
const (
	maxMarkdown     = 60_000 // bytes
	maxMarkdownCell = 300    // runes
)

// markdown writes verifications for a comment on a pull request. Whatever a
// server chose stands in code spans, where no host finds links, mentions,
// references or HTML.
func markdown(command string, verifications []*Verification, o Options) []byte {
	var b strings.Builder
	worst := baseline.Approved
	for _, v := range verifications {
		worst = baseline.Worst(worst, v.Result.Status)
	}
	word := string(worst)
	for _, v := range verifications {
		if v.Result.Status == worst {
			word = v.word()
		}
	}
	fmt.Fprintf(&b, "### mcpvigil %s: %s\n", command, word)
	for i, v := range verifications {
		part := markdownOf(v, o)
		if b.Len()+len(part) > maxMarkdown {
			fmt.Fprintf(&b, "\n%d more are left out, since this would be too long for a comment.\n", len(verifications)-i)
			break
		}
		b.WriteString(part)
	}
	return []byte(b.String())
}

func markdownOf(v *Verification, o Options) string {
	var b strings.Builder
	r := &v.Result
	fmt.Fprintf(&b, "\n**%s** %s", v.word(), code(v.label()))
	if v.Target != nil && v.Target.Name != "" && v.Target.Name != v.Target.Endpoint {
		fmt.Fprintf(&b, ", %s", code(v.Target.Endpoint))
	}
	if v.Before != "" {
		fmt.Fprintf(&b, " against %s", code(v.Before))
	}
	b.WriteString("\n")
	if v.Message != "" {
		fmt.Fprintf(&b, "\n%s\n", words(v.Message))
		if v.Hint != "" {
			fmt.Fprintf(&b, "\n%s\n", words(v.Hint))
		}
	}
	left := 0
	if len(r.Changes) > 0 {
		b.WriteString("\n| effect | class | what | where |\n|---|---|---|---|\n")
		for _, row := range rows(r.Changes, false) {
			for _, d := range row.details {
				text := markdownChange(row, d, o.Verbose)
				if b.Len()+len(text) > maxMarkdown/2 {
					left++
					continue
				}
				b.WriteString(text)
			}
		}
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n| effect | severity | rule | where | excerpt | id |\n|---|---|---|---|---|---|\n")
		for i := range r.Findings {
			f := &r.Findings[i]
			text := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", f.Effect, f.Severity, code(f.Rule),
				code(place(f.Kind, f.Item, f.Pointer)), code(f.Excerpt), code(f.ID))
			if b.Len()+len(text) > maxMarkdown*9/10 {
				left++
				continue
			}
			b.WriteString(text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%d more are left out, since this would be too long for a comment.\n", left)
	}
	if v.Next != "" {
		fmt.Fprintf(&b, "\nNext: %s\n", words(v.Next))
	}
	return b.String()
}

// markdownChange is a row of the table, and where all is asked for, what was
// there before and is there now.
func markdownChange(r *row, d *detail, all bool) string {
	where := code(d.pointer)
	if len(d.items) > 0 {
		where = strings.TrimSuffix(fmt.Sprintf("%s: %s %s", plural(len(d.items), kindNoun(r.kind)), code(some(d.items, 120)), where), " ")
	}
	text := d.text
	if r.identity != "" {
		text += ", as " + r.identity
	}
	effect := string(r.effect)
	if !all {
		return fmt.Sprintf("| %s | %s | %s | %s |\n", effect, code(string(r.class)), words(text), where)
	}
	var edits []string
	for _, same := range sameEdits(d.changes) {
		for _, l := range unified(same[0].Before, same[0].After) {
			edits = append(edits, code(l))
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", effect, code(string(r.class)), strings.Join(append([]string{words(text)}, edits...), "<br>"), where)
}

// words is a sentence of ours, and a code span where anything in it could be more
// than a word to Markdown.
func words(s string) string {
	for _, r := range s {
		if !strings.ContainsRune(" ,;:()-", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return code(s)
		}
	}
	return s
}

// code puts text into a code span that fits into the cell of a table.
func code(s string) string {
	s = plain.Line(s, maxMarkdownCell)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	// Neither can be escaped in both a span and a cell.
	s = strings.NewReplacer("`", `\u{0060}`, "|", `\u{007C}`).Replace(s)
	return "`" + s + "`"
}

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Bounds of a comment on a pull request, of which hosts take 65,536 characters.
const (
	maxMarkdown     = 60_000  // bytes
	maxSummary      = 900_000 // likewise, where all is asked for: of a job's summary, of which hosts take 1 MiB
	maxMarkdownCell = 300     // runes
	leastEdit       = 2000    // bytes of a difference that is shown in part
	fences          = 100     // bytes around it
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
		left := markdownLimit(o) - b.Len()
		part := markdownOf(v, o, left/(len(verifications)-i))
		if len(part) > left {
			fmt.Fprintf(&b, "\n%d more are left out, since this would be too long for a comment.\n", len(verifications)-i)
			break
		}
		b.WriteString(part)
	}
	return []byte(b.String())
}

// markdownOf writes one of them in about limit bytes.
func markdownOf(v *Verification, o Options, limit int) string {
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
		for _, row := range rows(pointers(r.Changes)) {
			for _, d := range row.details {
				text := markdownChange(row, d)
				if b.Len()+len(text) > limit/4 {
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
			effect, excerpt := string(f.Effect), code(runs(line(f.Excerpt)))
			if f.Accepted != nil {
				effect, excerpt = "accepted", code(f.Accepted.Reason)
			}
			text := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", effect, f.Severity, code(f.Rule),
				code(place(f.Kind, f.Item, f.Pointer)), excerpt, code(shortID(f.ID)))
			if b.Len()+len(text) > limit/2 {
				left++
				continue
			}
			b.WriteString(text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%d more are left out, since this would be too long for a comment.\n", left)
	}
	b.WriteString(markdownTexts(r.Changes, limit*9/10-b.Len(), o.Verbose))
	for _, remark := range append(slices.Clone(v.Remarks), v.rules()...) {
		fmt.Fprintf(&b, "\n%s\n", words(remark))
	}
	if v.Next != "" {
		fmt.Fprintf(&b, "\nNext: %s\n", words(v.Next))
	}
	return b.String()
}

// markdownLimit is how long the whole may become, in bytes.
func markdownLimit(o Options) int {
	if o.Verbose {
		return maxSummary
	}
	return maxMarkdown
}

// markdownChange is a row of the table.
func markdownChange(r *row, d *detail) string {
	where := code(d.pointer)
	if len(d.items) > 0 {
		where = strings.TrimSuffix(fmt.Sprintf("%s: %s %s", plural(len(d.items), kindNoun(r.kind)), code(some(d.items, 120)), where), " ")
	}
	text := d.text
	if r.identity != "" {
		text += ", as " + r.identity
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", string(r.effect), code(string(r.class)), words(text), where)
}

// markdownTexts shows what texts said and say now, or all that changed, in at most
// limit bytes. It is folded away until it is asked for.
func markdownTexts(changes []surface.Change, limit int, all bool) string {
	const head, foot = "\n<details>\n<summary>What was said, and what is said now</summary>\n", "\n</details>\n"
	const more = "\nand 00000 more: " + tooLong + "\n"
	var b strings.Builder
	left := 0
	for _, t := range editsToShow(changes, all) {
		title := "\n" + code(placeOf(t)) + "\n\n"
		edit := append(unified(t[0].Before, t[0].After), partsOf(t[0])...)
		text := title + fenced(edit)
		used := len(head) + b.Len() + len(more) + len(foot)
		if room := limit - used - len(title) - fences; used+len(text) > limit && room > leastEdit {
			text = title + fenced(within(edit, room))
		}
		if used+len(text) > limit {
			left++
			continue
		}
		b.WriteString(text)
	}
	if left > 0 && all {
		fmt.Fprintf(&b, "\nand %d more: %s\n", left, tooLong)
	} else if left > 0 {
		fmt.Fprintf(&b, "\nand %d more; --verbose has them\n", left)
	}
	if b.Len() == 0 {
		return ""
	}
	return head + b.String() + foot
}

// editsToShow are changes that replace the same by the same: those of texts that a
// model reads, or all.
func editsToShow(changes []surface.Change, all bool) [][]*surface.Change {
	var out [][]*surface.Change
	if !all {
		for _, t := range spokenChanges(pointers(changes)) {
			out = append(out, t.changes)
		}
		return out
	}
	for _, r := range rows(pointers(changes)) {
		for _, d := range r.details {
			for _, same := range sameEdits(d.changes) {
				if same[0].Before != nil || same[0].After != nil {
					out = append(out, same)
				}
			}
		}
	}
	return out
}

// fenced is a block of code that nothing in lines ends.
func fenced(lines []string) string {
	text := strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "diff\n" + text + "\n" + fence + "\n"
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

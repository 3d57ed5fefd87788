package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// quotedBytes is how much package surface quotes of a value that is too long to be
	// in a change.
	quotedBytes = 20 << 10
	tailRunes   = 120 // of a text that is cut in a report
	tailLines   = 20  // likewise, where a difference is shown
	tooLong     = "too long to show; mcpvigil inspect --format surface has it"
)

// partial reports whether value is no more than a part of a value in canonical JSON. One
// that is as long and has no line end may be taken for one.
func partial(value json.RawMessage) bool {
	s := textOf(value)
	if value == nil || s == string(value) || strings.ContainsAny(s, "\n\t\r") {
		return false
	}
	// What could not be read became a character of three bytes, from one byte or many.
	unread := strings.Count(s, string(utf8.RuneError))
	return len(s) > quotedBytes-utf8.UTFMax && len(s) <= quotedBytes+2*unread || unread > 0 && len(s) > quotedBytes/4 && len(s) <= quotedBytes
}

// partsOf says of the values of a change that they are not whole.
func partsOf(c *surface.Change) []string {
	var out []string
	if partial(c.Before) {
		out = append(out, "[the text before goes on: "+tooLong+"]")
	}
	if partial(c.After) {
		out = append(out, "[the text now goes on: "+tooLong+"]")
	}
	return out
}

// cutEnd says of a text that an excerpt does not show to its end how long it is, and how
// it ends. Nil: the excerpt shows it.
func cutEnd(value json.RawMessage, shownAs string) []string {
	s := strings.TrimRight(textOf(value), " \n")
	if value == nil || partial(value) || !strings.HasSuffix(shownAs, "…") || strings.HasSuffix(s, "…") && len(s) < len(shownAs) {
		return nil
	}
	tail := []rune(s)
	tail = tail[max(0, len(tail)-tailRunes):]
	return []string{fmt.Sprintf("[cut: %d bytes in all; mcpvigil inspect --format surface has it; it ends:] …%s", len(s), runs(shown(string(tail), 16*tailRunes)))}
}

// within keeps of lines the first and the last that fit into limit bytes, and says how
// much is not there.
func within(lines []string, limit int) []string {
	size := func(lines []string) (n int) {
		for _, l := range lines {
			n += len(l) + 1
		}
		return n
	}
	if size(lines) <= limit {
		return lines
	}
	var tail []string
	left := limit - len("  [00000000 bytes more: ]") - len(tooLong) - 1
	room := left / 3
	for i := len(lines) - 1; i > 0 && len(tail) < tailLines && len(lines[i])+1 <= room; i-- {
		tail = append(tail, lines[i])
		room -= len(lines[i]) + 1
		left -= len(lines[i]) + 1
	}
	slices.Reverse(tail)
	rest := lines[:len(lines)-len(tail)]
	var head []string
	for len(rest) > 0 && len(rest[0])+1 <= left {
		head = append(head, rest[0])
		left -= len(rest[0]) + 1
		rest = rest[1:]
	}
	if len(tail) == 0 && left > 200 && len(rest) > 0 {
		// One long line: its beginning and its end.
		l := rest[len(rest)-1]
		if len(rest) == 1 {
			head = append(head, strings.ToValidUTF8(l[:left*2/3], ""))
			left -= left * 2 / 3
		}
		tail = append(tail, l[:min(2, len(l))]+"…"+strings.ToValidUTF8(l[max(0, len(l)-left+8):], ""))
	}
	more := size(lines) - size(head) - size(tail)
	return append(append(head, fmt.Sprintf("  [%d bytes more: %s]", more, tooLong)), tail...)
}

package lint

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Span is a stretch of a text, in bytes: from Start up to End.
type Span struct{ Start, End int }

// maxSpans bounds the places of one finding.
const maxSpans = 64

// spot is where a finding is in the text at a place of a definition.
type spot struct {
	spans []Span
	name  bool // in the name of the member that is there, not in its value
}

// spot gives the place of t.s[start:end] in the text of the definition.
func (t *text) spot(start, end int) spot {
	return spot{t.spans(start, end), t.named}
}

// spotOf gives the places of marks, those that touch as one.
func (t *text) spotOf(marks []mark) spot {
	var spans []Span
	for _, m := range marks {
		if n := len(spans); n > 0 && spans[n-1].End == m.start {
			spans[n-1].End = m.end
			continue
		}
		if len(spans) == maxSpans {
			break
		}
		spans = append(spans, Span{m.start, m.end})
	}
	if t.source != nil {
		marked := spans
		spans = nil
		for _, s := range marked {
			spans = join(spans, t.spans(s.Start, s.End))
		}
	}
	return spot{spans, t.named}
}

// whole is all of a text that is no longer at hand.
func whole(s string) spot {
	if s == "" {
		return spot{}
	}
	return spot{spans: []Span{{0, len(s)}}}
}

// join gives the places of both, in order, as far as they are kept.
func join(a, b []Span) []Span {
	ordered := true
	for _, s := range b {
		if len(a) == maxSpans {
			break
		}
		ordered = ordered && (len(a) == 0 || a[len(a)-1].End < s.Start)
		a = append(a, s)
	}
	if ordered {
		return a
	}
	slices.SortFunc(a, func(x, y Span) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
	kept := a[:0]
	for _, s := range a {
		if n := len(kept); n > 0 && s.Start <= kept[n-1].End {
			kept[n-1].End = max(kept[n-1].End, s.End)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// source says where a text comes from that was made of another.
type source struct {
	of *text
	// trace gives the steps in which it was made; nil: each byte is in its place.
	trace  func() [][]piece
	stages [][]piece
	// carrier are the places in the definition that hide it, where single bytes have
	// none.
	carrier []Span
}

// spans gives the places of t.s[start:end] in the text of the definition.
func (t *text) spans(start, end int) []Span {
	of := t.source
	switch {
	case of == nil:
		return []Span{{start, end}}
	case of.of == nil:
		return of.carrier
	case of.trace != nil && of.stages == nil:
		of.stages = of.trace()
	}
	for _, pieces := range slices.Backward(of.stages) {
		start, end = origin(pieces, start, end)
	}
	return of.of.spans(start, end)
}

// piece is a part of a text with what it was made of.
type piece struct {
	start, end int // in the text
	from, to   int // in what it was made of
	same       bool
}

// origin gives what bytes start to end were made of.
func origin(pieces []piece, start, end int) (from, to int) {
	at := func(i int) *piece {
		n, _ := slices.BinarySearchFunc(pieces, i, func(p piece, i int) int { return p.end - i - 1 })
		if n == len(pieces) {
			return nil
		}
		return &pieces[n]
	}
	first, last := at(start), at(max(start, end-1))
	if first == nil || last == nil {
		return 0, 0
	}
	if from = first.from; first.same {
		from += start - first.start
	}
	if to = last.to; last.same {
		to += end - last.end
	}
	return from, max(from, to)
}

// tracer puts a text together and keeps what its parts were made of.
type tracer struct {
	pieces []piece
	text   strings.Builder
	from   int
}

func (t *tracer) add(in, out string) {
	start, same := t.text.Len(), in == out
	t.text.WriteString(out)
	from := t.from
	t.from += len(in)
	if out == "" {
		return
	}
	if n := len(t.pieces); n > 0 && same && t.pieces[n-1].same && t.pieces[n-1].to == from {
		t.pieces[n-1].end, t.pieces[n-1].to = t.text.Len(), t.from
		return
	}
	t.pieces = append(t.pieces, piece{start, t.text.Len(), from, t.from, same})
}

// traceFold gives the steps of [fold].
func traceFold(s string, traits trait) (stages [][]piece) {
	step := func(run func(s string, add func(in, out string))) {
		var t tracer
		run(s, t.add)
		s = t.text.String()
		stages = append(stages, t.pieces)
	}
	if traits&hasNonASCII != 0 && strings.ContainsFunc(s, foldable) {
		step(func(s string, add func(in, out string)) {
			for i := 0; i < len(s); {
				r, size := utf8.DecodeRuneInString(s[i:])
				out := ""
				if r = visible(r); r >= 0 {
					out = string(r)
				}
				add(s[i:i+size], out)
				i += size
			}
		})
		step(func(s string, add func(in, out string)) {
			var it norm.Iter
			it.InitString(norm.NFKC, s)
			for !it.Done() {
				start := it.Pos()
				out := string(it.Next())
				add(s[start:it.Pos()], out)
			}
		})
		step(func(s string, add func(in, out string)) {
			eachRun(s, func(run string, word bool) { add(run, respell(run, word)) })
		})
	}
	if traits&hasSplit != 0 {
		step(mendEach)
	}
	return stages
}

// traceEntities gives the steps of reading the entities of HTML.
func traceEntities(s string) [][]piece {
	var t tracer
	for s != "" {
		n := strings.IndexByte(s[1:], '&') + 1
		if n == 0 {
			n = len(s)
		}
		in := s[:n]
		out := html.UnescapeString(in)
		tail := 0 // what follows the entity is the same
		for tail < min(len(in), len(out)) && in[len(in)-1-tail] == out[len(out)-1-tail] {
			tail++
		}
		if in == out {
			t.add(in, out)
		} else {
			t.add(in[:len(in)-tail], out[:len(out)-tail])
			t.add(in[len(in)-tail:], out[len(out)-tail:])
		}
		s = s[n:]
	}
	return [][]piece{t.pieces}
}

package lint

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// phraseGroup is phrases of one rule, as data.
type phraseGroup struct {
	rule     string
	severity Severity
	unless   exception
	// A pattern is a list of elements, with blanks between them. An element is one
	// word, several with "|" between them, or a class of words, $name, alone or
	// among them; @name stands for tokens of a form. An element "~3" lets up to
	// three other words stand before the next one. "^" before the first asks for
	// the start of a sentence. A phrase stays within one sentence, and within 64
	// words.
	//
	// "!" marks the element that is the rarest in honest texts; a text without one
	// of its words is not read at all. Without a mark it is the first.
	patterns []string
}

// exception is a set of reasons for which a phrase does not count.
type exception uint8

const (
	// unlessNegated: after not, never, without and the like.
	unlessNegated exception = 1 << iota
	// unlessCondition: after if, until, once and the like.
	unlessCondition
	// unlessForbidden: after never and the like, farther off: what must not be done
	// without a person's knowledge is no secret.
	unlessForbidden
	// unlessOptional: after whether, optionally and the like, which describe a switch.
	unlessOptional
	// unlessPurpose: before when, to, on and the like, which say what it is for.
	unlessPurpose
)

// element is one step of a compiled phrase.
type element struct {
	words []uint64 // bit set over the vocabulary
	forms form
	gap   int // other words that may stand before it
	rare  bool
}

func (e *element) matches(t *token) bool {
	return e.forms&t.form != 0 || t.word != 0 && has(e.words, t.word)
}

func has(set []uint64, n int32) bool {
	i := int(n >> 6)
	return i < len(set) && set[i]>>(n&63)&1 != 0
}

// phrase is one pattern of a group, compiled.
type phrase struct {
	rule     string
	severity Severity
	unless   exception
	start    bool // only at the start of a sentence
	elements []element
}

// phrasebook is a set of phrases, ready to be looked for together.
type phrasebook struct {
	words   vocabulary
	classes map[string][]uint64
	// first lists, by the number of a word, the phrases that begin with it.
	first [][]*phrase
	all   []*phrase
	// triggers are, by rule, the words without one of which no phrase of it can
	// match.
	triggers map[string][]string
}

// newPhrasebook compiles phrases over classes of words. Both are part of the
// program: a mistake in them panics, and a test compiles them.
func newPhrasebook(classes map[string]string, groups []phraseGroup) *phrasebook {
	b := &phrasebook{words: vocabulary{}, classes: make(map[string][]uint64, len(classes))}
	for name, list := range classes {
		var set []uint64
		for _, word := range strings.Fields(list) {
			set = with(set, b.words.add(word))
		}
		b.classes[name] = set
	}
	for i := range groups {
		for _, pattern := range groups[i].patterns {
			b.all = append(b.all, b.compile(&groups[i], pattern))
		}
	}
	b.trigger()
	b.first = make([][]*phrase, len(b.words)+1)
	for n := range b.first {
		for _, c := range b.all {
			if has(c.elements[0].words, int32(n)) { //nolint:gosec // some hundred words
				b.first[n] = append(b.first[n], c)
			}
		}
	}
	return b
}

func with(set []uint64, n int32) []uint64 {
	for len(set) <= int(n>>6) {
		set = append(set, 0)
	}
	set[n>>6] |= 1 << (n & 63)
	return set
}

func (b *phrasebook) compile(of *phraseGroup, pattern string) *phrase {
	c := &phrase{rule: of.rule, severity: of.severity, unless: of.unless}
	gap := 0
	var rest string
	rest, c.start = strings.CutPrefix(pattern, "^")
	for _, part := range strings.Fields(rest) {
		if n, ok := strings.CutPrefix(part, "~"); ok {
			if _, err := fmt.Sscan(n, &gap); err != nil {
				panic(fmt.Sprintf("lint: phrase %q: gap %q", pattern, part))
			}
			continue
		}
		e := element{gap: gap}
		gap = 0
		part, e.rare = strings.CutPrefix(part, "!")
		for alternative := range strings.SplitSeq(part, "|") {
			b.alternative(&e, alternative, pattern)
		}
		c.elements = append(c.elements, e)
	}
	if len(c.elements) == 0 || c.elements[0].forms != 0 {
		panic(fmt.Sprintf("lint: phrase %q does not begin with a word", pattern))
	}
	return c
}

// trigger fills in the words that trigger each rule.
func (b *phrasebook) trigger() {
	sets := map[string][]uint64{}
	for _, c := range b.all {
		rare := c.rarest()
		sets[c.rule] = union(sets[c.rule], rare.words)
		if rare.forms&formVariable != 0 {
			sets[c.rule] = union(sets[c.rule], b.classes["variable"])
		}
	}
	b.triggers = make(map[string][]string, len(sets))
	for rule, set := range sets {
		b.triggers[rule] = b.spell(set)
	}
}

func (c *phrase) rarest() *element {
	for i := range c.elements {
		if c.elements[i].rare {
			return &c.elements[i]
		}
	}
	return &c.elements[0]
}

// spell lists the words of a set.
func (b *phrasebook) spell(set []uint64) []string {
	var words []string
	for word, n := range b.words {
		if has(set, n) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

// union leaves a and b as they are.
func union(a, b []uint64) []uint64 {
	a = slices.Clone(a)
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for i, w := range b {
		a[i] |= w
	}
	return a
}

func (b *phrasebook) alternative(e *element, alternative, pattern string) {
	switch {
	case alternative == "":
		panic(fmt.Sprintf("lint: phrase %q: an empty alternative", pattern))
	case alternative[0] == '$':
		class, ok := b.classes[alternative[1:]]
		if !ok {
			panic(fmt.Sprintf("lint: phrase %q: no class %s", pattern, alternative))
		}
		e.words = union(e.words, class)
	case alternative == "@target":
		e.forms |= formTarget
	case alternative == "@ident":
		e.forms |= formIdent
	case alternative == "@variable":
		e.forms |= formVariable
	default:
		e.words = with(e.words, b.words.add(alternative))
	}
}

// match reports whether the phrase stands at the first of tokens, and how many
// tokens it takes at least.
//
// Where the elements so far may end is a set of positions, so that gaps cost no
// more than their length whatever the text is.
func (c *phrase) match(tokens []token) (length int, ok bool) {
	tokens = tokens[:min(len(tokens), 64)]
	at := uint64(1) // positions where what has been matched ends
	for i := 1; i < len(c.elements); i++ {
		e := &c.elements[i]
		var found uint64
		reach := at
		for range e.gap + 1 {
			reach <<= 1
			if len(tokens) < 64 {
				reach &= 1<<len(tokens) - 1
			}
			for rest := reach &^ found; rest != 0; rest &= rest - 1 {
				n := bits.TrailingZeros64(rest)
				switch {
				case tokens[n].opens:
					reach &^= 1 << n
				case e.matches(&tokens[n]):
					found |= 1 << n
				}
			}
			if reach == 0 {
				break
			}
		}
		if found == 0 {
			return 0, false
		}
		at = found
	}
	return bits.TrailingZeros64(at) + 1, true
}

// passage is what a rule found in one text: bytes start to end.
type passage struct {
	rule        string
	severity    Severity
	start, end  int
	first, last int // tokens, of a phrase
	message     string
	quoted      bool // it is only talked about
	together    bool // with another, it is more than a note
	until       int  // where what a marker speaks for ends
}

// find looks for every phrase of the book, in the order of the text.
func (b *phrasebook) find(tokens []token, found []passage) []passage {
	for i := range tokens {
		t := &tokens[i]
		if t.word == 0 {
			continue
		}
		for _, c := range b.first[t.word] {
			if c.start && !t.opens {
				continue
			}
			length, ok := c.match(tokens[i:])
			if !ok || b.excepted(c.unless, tokens, i, i+length-1) {
				continue
			}
			h := passage{rule: c.rule, severity: c.severity, start: int(t.start), end: int(tokens[i+length-1].end), first: i, last: i + length - 1}
			h.quoted, h.until = b.quotedAt(tokens, i), h.end+tagReach
			h.severity = b.soften(tokens, i, h.severity)
			if h.severity != "" {
				found = append(found, h)
			}
		}
	}
	return found
}

// excepted reports whether one of the reasons holds for tokens i to last.
func (b *phrasebook) excepted(unless exception, tokens []token, i, last int) bool {
	if unless == 0 {
		return false
	}
	return unless&unlessNegated != 0 && b.negated(tokens, i) ||
		unless&unlessCondition != 0 && b.before(tokens, i, 40, "conditional") ||
		unless&unlessForbidden != 0 && b.forbidden(tokens, i) ||
		unless&unlessOptional != 0 && b.before(tokens, i, 24, "optional") ||
		unless&unlessPurpose != 0 && last+1 < len(tokens) && !tokens[last+1].opens && b.is(tokens[last+1], "purpose")
}

// forbidden reports a never before token i that reaches as far.
func (b *phrasebook) forbidden(tokens []token, i int) bool {
	for n := i - 1; n >= 0 && !tokens[n+1].opens && int(tokens[i].start-tokens[n].end) <= 60; n-- {
		if b.is(tokens[n], "onward") {
			return false
		}
		if b.is(tokens[n], "never") {
			return true
		}
	}
	return false
}

// before reports whether a word of the class stands among the words before token
// i, within so many bytes and the same sentence.
func (b *phrasebook) before(tokens []token, i, within int, class string) bool {
	set := b.classes[class]
	if i >= len(tokens) {
		return false
	}
	for n := i - 1; n >= 0 && !tokens[n+1].opens; n-- {
		if int(tokens[i].start-tokens[n].end) > within {
			return false
		}
		if tokens[n].word != 0 && has(set, tokens[n].word) {
			return true
		}
	}
	return false
}

// after is before, in the other direction.
func (b *phrasebook) after(tokens []token, i, within int, class string) bool {
	set := b.classes[class]
	for n := i + 1; n < len(tokens) && !tokens[n].opens; n++ {
		if int(tokens[n].start-tokens[i].end) > within {
			return false
		}
		if tokens[n].word != 0 && has(set, tokens[n].word) {
			return true
		}
	}
	return false
}

// is reports whether a token is a word of the class.
func (b *phrasebook) is(k token, class string) bool {
	return k.word != 0 && has(b.classes[class], k.word)
}

// between reports whether a word of the class stands between two tokens.
func (b *phrasebook) between(tokens []token, i, k int, class string) bool {
	for n := i + 1; n < k; n++ {
		if b.is(tokens[n], class) {
			return true
		}
	}
	return false
}

func (b *phrasebook) negated(tokens []token, i int) bool {
	return b.before(tokens, i, 24, "not")
}

// quotedAt reports that what stands at token i is talked about and not said: a tool
// which looks for such texts, an example.
func (b *phrasebook) quotedAt(tokens []token, i int) bool {
	return b.before(tokens, i, 60, "talk")
}

// soften gives the severity of something at token i that may only be talked about:
// what blocks is a note then, and a note is nothing in the text of a scanner.
func (b *phrasebook) soften(tokens []token, i int, severity Severity) Severity {
	switch {
	case !b.quotedAt(tokens, i):
		return severity
	case !b.before(tokens, i, 60, "guard"):
		return Note
	case severity == Note || tokens[i].form&formQuoted != 0:
		return "" // a scanner says what it looks for
	}
	return Note
}

// distinct joins passages of a rule that overlap, with the graver severity. The
// result is in the order of the text.
func distinct(found []passage) []passage {
	slices.SortStableFunc(found, func(a, b passage) int { return a.start - b.start })
	last := map[string]int{} // of a rule, in kept
	kept := found[:0]
	for _, p := range found {
		if k, ok := last[p.rule]; ok && p.start < kept[k].end {
			kept[k].end = max(kept[k].end, p.end)
			kept[k].quoted = kept[k].quoted && p.quoted
			if p.severity == Block && kept[k].severity != Block {
				kept[k].severity, kept[k].message = Block, p.message
			}
			continue
		}
		last[p.rule] = len(kept)
		kept = append(kept, p)
	}
	return kept
}

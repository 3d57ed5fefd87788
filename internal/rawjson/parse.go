package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxDepth is the deepest nesting of arrays and objects that Parse accepts.
	MaxDepth = 256

	maxDuplicates  = 16
	maxPointerSize = 1024
)

// ErrDepth is the error for nesting deeper than MaxDepth.
var ErrDepth = errors.New("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")

// SyntaxError says where the input stops being one JSON value, and why.
type SyntaxError struct {
	Offset int // of the offending byte, or the length of the input
	Msg    string
}

// Error names no bytes of the input beyond the offending one, which it quotes.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at offset %d: %s", e.Offset, e.Msg)
}

// Flaws are the oddities of an input that Parse tolerates. Offsets count from
// the first byte of the input, byte order mark included.
type Flaws struct {
	// BOM: the input starts with a UTF-8 byte order mark.
	BOM bool
	// InvalidUTF8 counts the bytes inside strings that are not part of valid
	// UTF-8; FirstInvalid is the offset of the first (-1 without one) and
	// FirstByte the byte itself.
	InvalidUTF8  int
	FirstInvalid int
	FirstByte    byte
	// Duplicates are JSON pointers to member names that occur more than once in
	// their object: each once, the first 16, cut after 1 KiB.
	Duplicates []string
	// LoneSurrogates counts \uD800 to \uDFFF escapes outside a pair.
	LoneSurrogates int
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads exactly one JSON value, with white space around it. Its error is a
// *SyntaxError, or wraps ErrDepth. The flaws are those seen up to the error, so
// that a caller can tell, for instance, that the bytes were not UTF-8.
//
// The Value refers to data, which must not be modified afterwards.
func Parse(data []byte) (Value, Flaws, error) {
	p := parser{doc: &document{data: data}, flaws: Flaws{FirstInvalid: -1}}
	if uint64(len(data)) > math.MaxUint32/2 {
		return Value{}, p.flaws, &SyntaxError{Offset: math.MaxUint32 / 2, Msg: "input too large"}
	}
	// Most values take more bytes than this; small documents get one allocation.
	p.path = make([]step, 0, 16)
	p.doc.nodes = make([]node, 0, 8+min(len(data)/8, 4096))
	if bytes.HasPrefix(data, byteOrderMark) {
		p.flaws.BOM = true
		p.pos = len(byteOrderMark)
	}
	if err := p.document(); err != nil {
		return Value{}, p.flaws, err
	}
	return Value{doc: p.doc}, p.flaws, nil
}

// step is where the parser is inside one enclosing array or object: an element
// number, or a member name (when it is not 0: node 0 is never a name).
type step struct {
	element int
	name    uint32
}

type parser struct {
	doc   *document
	pos   int
	path  []step
	flaws Flaws
}

func (p *parser) document() error {
	p.space()
	if err := p.value(); err != nil {
		return err
	}
	p.space()
	if p.pos < len(p.doc.data) {
		return p.unexpected("after the value")
	}
	return nil
}

func (p *parser) space() {
	for p.pos < len(p.doc.data) {
		switch p.doc.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek gives the next byte, or 0 at the end, which no rule of the grammar accepts.
func (p *parser) peek() byte {
	if p.pos < len(p.doc.data) {
		return p.doc.data[p.pos]
	}
	return 0
}

func (p *parser) fail(msg string) error { return &SyntaxError{Offset: p.pos, Msg: msg} }

func (p *parser) unexpected(where string) error {
	if p.pos >= len(p.doc.data) {
		return p.fail("unexpected end of input " + where)
	}
	b := p.doc.data[p.pos]
	if b < utf8.RuneSelf {
		return p.fail("unexpected " + strconv.QuoteRune(rune(b)) + " " + where)
	}
	return p.fail(fmt.Sprintf("unexpected byte 0x%02X %s", b, where))
}

// open appends a node that starts here; close ends it with its subtree.
func (p *parser) open(kind Kind) uint32 {
	p.doc.nodes = append(p.doc.nodes, node{kind: kind, start: uint32(p.pos)})
	return uint32(len(p.doc.nodes) - 1)
}

func (p *parser) close(at uint32) {
	n := &p.doc.nodes[at]
	n.end, n.next = uint32(p.pos), uint32(len(p.doc.nodes))
}

func (p *parser) value() error {
	switch c := p.peek(); c {
	case '{':
		return p.nested(Object, p.members)
	case '[':
		return p.nested(Array, p.elements)
	case '"':
		_, err := p.text()
		return err
	case 't':
		return p.literal("true", Bool)
	case 'f':
		return p.literal("false", Bool)
	case 'n':
		return p.literal("null", Null)
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return p.number()
		}
		return p.unexpected("where a value should start")
	}
}

func (p *parser) literal(word string, kind Kind) error {
	at := p.open(kind)
	for i := range len(word) {
		if p.peek() != word[i] {
			return p.unexpected("in the literal " + word)
		}
		p.pos++
	}
	p.close(at)
	return nil
}

func (p *parser) number() error {
	at := p.open(Number)
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if err := p.digits("in a number"); err != nil {
		return err
	}
	if p.peek() == '.' {
		p.pos++
		if err := p.digits("after the decimal point"); err != nil {
			return err
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if err := p.digits("in the exponent"); err != nil {
			return err
		}
	}
	p.close(at)
	return nil
}

func (p *parser) digits(where string) error {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	if p.pos == start {
		return p.unexpected(where)
	}
	return nil
}

// nested reads an array or object: what lies between the brackets is left to
// the given function, which is called once an item is known to follow.
func (p *parser) nested(kind Kind, items func(at uint32) error) error {
	if len(p.path) >= MaxDepth {
		return fmt.Errorf("invalid JSON at offset %d: %w", p.pos, ErrDepth)
	}
	at := p.open(kind)
	p.pos++
	p.path = append(p.path, step{})
	p.space()
	if c := p.peek(); c == '}' && kind == Object || c == ']' && kind == Array {
		p.pos++
	} else if err := items(at); err != nil {
		return err
	}
	p.path = p.path[:len(p.path)-1]
	p.close(at)
	return nil
}

func (p *parser) elements(at uint32) error {
	for {
		p.path[len(p.path)-1].element = int(p.doc.nodes[at].count)
		p.doc.nodes[at].count++
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case ']':
			p.pos++
			return nil
		default:
			return p.unexpected("after an array element")
		}
	}
}

func (p *parser) members(at uint32) error {
	names := nameSet{object: at}
	for {
		if p.peek() != '"' {
			return p.unexpected("where a member name should start")
		}
		name, err := p.text()
		if err != nil {
			return err
		}
		p.path[len(p.path)-1].name = name
		if names.add(p.doc, name) {
			p.duplicate()
		}
		p.doc.nodes[at].count++
		p.space()
		if p.peek() != ':' {
			return p.unexpected("after a member name")
		}
		p.pos++
		p.space()
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case '}':
			p.pos++
			return nil
		default:
			return p.unexpected("after an object member")
		}
	}
}

// nameSet finds repeated names of one object: by comparing while there are few,
// and by the object's index, which it builds, from then on.
type nameSet struct {
	object   uint32
	few      [indexAbove]uint32
	count    int
	many     map[string]uint32
	repeated map[string]bool // those of many that were there twice
}

// add reports whether this is the second time that the name is added. Later
// times are not reported: a hostile document could hold millions of them, and
// each report costs a walk over the path.
func (s *nameSet) add(doc *document, name uint32) (second bool) {
	if s.many == nil && s.count < indexAbove {
		second = s.earlier(doc, name) == 1
		s.few[s.count] = name
		s.count++
		return second
	}
	if s.many == nil {
		s.index(doc)
	}
	text := doc.text(name)
	_, known := s.many[text]
	s.many[text] = name + 1
	if !known || s.repeated[text] {
		return false
	}
	s.repeated[text] = true
	return true
}

func (s *nameSet) earlier(doc *document, name uint32) (times int) {
	for _, other := range s.few[:s.count] {
		if doc.same(other, name) {
			times++
		}
	}
	return times
}

func (s *nameSet) index(doc *document) {
	s.many = make(map[string]uint32, 2*indexAbove)
	s.repeated = make(map[string]bool)
	for _, name := range s.few {
		text := doc.text(name)
		if _, known := s.many[text]; known {
			s.repeated[text] = true
		}
		s.many[text] = name + 1
	}
	if doc.index == nil {
		doc.index = make(map[uint32]map[string]uint32)
	}
	doc.index[s.object] = s.many
}

// duplicate records the member at the current path.
func (p *parser) duplicate() {
	if len(p.flaws.Duplicates) == maxDuplicates {
		return
	}
	tokens := make([]string, len(p.path))
	for i, s := range p.path {
		tokens[i] = strconv.Itoa(s.element)
		if s.name != 0 {
			tokens[i] = p.doc.text(s.name)
		}
	}
	pointer := Pointer(tokens...)
	if len(pointer) > maxPointerSize {
		cut := maxPointerSize
		for !utf8.RuneStart(pointer[cut]) {
			cut--
		}
		pointer = pointer[:cut]
	}
	p.flaws.Duplicates = append(p.flaws.Duplicates, pointer)
}

// text reads a string and gives its node.
func (p *parser) text() (uint32, error) {
	at := p.open(String)
	p.pos++
	exact := true
	for {
		p.plain()
		switch c := p.peek(); {
		case c == '"':
			p.pos++
			p.close(at)
			p.doc.nodes[at].exact = exact
			return at, nil
		case c == '\\':
			exact = false
			if err := p.escape(); err != nil {
				return 0, err
			}
		case c < ' ':
			if p.pos >= len(p.doc.data) {
				return 0, p.unexpected("in a string")
			}
			return 0, p.fail(fmt.Sprintf("raw control character 0x%02X in a string", c))
		default:
			r, size := utf8.DecodeRune(p.doc.data[p.pos:])
			if r == utf8.RuneError && size == 1 {
				exact = false
				p.invalid(c)
			}
			p.pos += size
		}
	}
}

// plain passes over the ASCII characters of a string that need no attention.
func (p *parser) plain() {
	data := p.doc.data
	for p.pos < len(data) {
		if c := data[p.pos]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return
		}
		p.pos++
	}
}

func (p *parser) invalid(b byte) {
	if p.flaws.InvalidUTF8 == 0 {
		p.flaws.FirstInvalid, p.flaws.FirstByte = p.pos, b
	}
	p.flaws.InvalidUTF8++
}

func (p *parser) escape() error {
	p.pos++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos++
		return nil
	case 'u':
	default:
		return p.unexpected("in an escape")
	}
	p.pos++
	unit, ok := hex4(p.doc.data[p.pos:])
	if !ok {
		for isHex(p.peek()) { // so that the offset is that of the bad digit
			p.pos++
		}
		return p.unexpected("in a \\u escape")
	}
	p.pos += 4
	if !utf16.IsSurrogate(unit) {
		return nil
	}
	if _, ok := lowHalf(unit, p.doc.data[p.pos:]); ok {
		p.pos += 6
	} else {
		p.flaws.LoneSurrogates++
	}
	return nil
}

// lowHalf completes a surrogate pair whose second escape starts rest.
func lowHalf(high rune, rest []byte) (rune, bool) {
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	low, ok := hex4(rest[2:])
	if !ok {
		return 0, false
	}
	r := utf16.DecodeRune(high, low)
	return r, r != utf8.RuneError
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

var shortEscapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes what lies between the quotes of a string that parsed.
func unescape(b []byte) string {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] != '\\' {
			r, size := utf8.DecodeRune(b)
			out = utf8.AppendRune(out, r)
			b = b[size:]
			continue
		}
		c := b[1]
		b = b[2:]
		if c != 'u' {
			if short, ok := shortEscapes[c]; ok {
				c = short
			}
			out = append(out, c)
			continue
		}
		r, _ := hex4(b)
		b = b[4:]
		if pair, ok := lowHalf(r, b); ok {
			r = pair
			b = b[6:]
		}
		out = utf8.AppendRune(out, r) // a lone surrogate becomes U+FFFD
	}
	return string(out)
}

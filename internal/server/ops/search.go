package ops

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Search is what is looked for in what servers tell agents.
type Search struct {
	Text string
	// Past: in what was shown before, too.
	Past bool
	// Limit is how many hits are given at most, 1,000 or less.
	Limit int
}

// Hit is one place where a server says what was looked for. All but monitor, digest and
// times is the server's text.
type Hit struct {
	Monitor int64     `json:"monitor"`
	Name    string    `json:"name" doc:"Of the monitor."`
	Digest  string    `json:"digest"`
	From    time.Time `json:"from" doc:"When the surface was shown first."`
	Until   time.Time `json:"until" doc:"When the surface was shown last."`
	Kind    string    `json:"kind"`
	Item    string    `json:"item"`
	Pointer string    `json:"pointer" doc:"In the item's definition."`
	// Before, Match and After are the place, with some of what is around it.
	Before string `json:"before"`
	Match  string `json:"match"`
	After  string `json:"after"`
}

// Found is the result of a search.
type Found struct {
	Hits []Hit `json:"hits" nullable:"false"`
	// More: there are more hits than were asked for, in all or of one surface.
	More bool `json:"more" doc:"There are more hits than these."`
	// Partial: time was up before everything was read.
	Partial  bool `json:"partial" doc:"Time was up before all of it was read."`
	Surfaces int  `json:"surfaces" doc:"How many different surfaces were read."`
}

const (
	searchTime = 2 * time.Second
	maxHits    = 1000
	hitsOfOne  = 20 // of one surface
	hitAround  = 80 // bytes on either side
	searchPart = 500
)

// Search looks for a text in every surface that a monitor shows now, in any case. It
// takes two seconds at most and says when that was not enough.
func (o *Ops) Search(ctx context.Context, actor people.Actor, in Search) (Found, error) {
	if err := may(actor, people.Read); err != nil {
		return Found{}, err
	}
	text := strings.TrimSpace(in.Text)
	if utf8.RuneCountInString(text) < 2 || len(text) > 800 || !utf8.ValidString(text) {
		return Found{}, invalid(watch.Problem{Field: "q", Text: "has to have two characters, and 200 at most"})
	}
	if in.Limit <= 0 || in.Limit > maxHits {
		in.Limit = maxHits
	}
	end, err := o.effort.begin(ctx, actor)
	if err != nil {
		return Found{}, err
	}
	defer end()
	s := &search{finder: finderOf(text), limit: in.Limit, until: time.Now().Add(searchTime), known: map[string][]Hit{}}
	s.found.Hits = []Hit{}
	for after := 0; !s.over(ctx); after += searchPart {
		var part []store.SurfaceOf
		err := o.view(ctx, "surface", func(t *store.Tx) (err error) {
			part, err = t.SurfacesSeen(ctx, in.Past, after, searchPart)
			return err
		})
		if err != nil {
			return Found{}, err
		}
		if err := o.searchPart(ctx, s, part); err != nil {
			return Found{}, err
		}
		if len(part) < searchPart {
			break
		}
	}
	return s.found, nil
}

// search is a search under way.
type search struct {
	finder
	limit int
	until time.Time
	known map[string][]Hit // by digest, without a monitor
	seen  map[string]bool  // monitor and digest
	found Found
}

// over tells whether it ends here: there is enough, or no time.
func (s *search) over(ctx context.Context) bool {
	if ctx.Err() != nil || time.Now().After(s.until) {
		s.found.Partial = true
	}
	return s.found.Partial || s.found.More && len(s.found.Hits) >= s.limit
}

func (o *Ops) searchPart(ctx context.Context, s *search, part []store.SurfaceOf) error {
	s.seen = map[string]bool{}
	for _, one := range part {
		if s.over(ctx) {
			return nil
		}
		hits, ok := s.known[one.Digest]
		if !ok {
			var text []byte
			err := o.store.View(ctx, func(t *store.Tx) (err error) {
				text, err = t.SurfaceText(ctx, one.Digest)
				return err
			})
			switch {
			case errors.Is(err, store.ErrNotFound): // not kept any more
			case err != nil:
				return err
			default:
				s.found.Surfaces++
				hits = s.surface(text)
			}
			s.known[one.Digest] = hits
		}
		key := one.Name + "\x00" + one.Digest
		if s.seen[key] {
			continue
		}
		s.seen[key] = true
		for _, h := range hits {
			if len(s.found.Hits) == s.limit {
				s.found.More = true
				break
			}
			h.Monitor, h.Name, h.Digest, h.From, h.Until = one.Monitor, one.Name, one.Digest, one.From, one.Until
			s.found.Hits = append(s.found.Hits, h)
		}
	}
	return nil
}

// surface are the hits in a saved surface.
func (s *search) surface(text []byte) []Hit {
	if s.plain && !bytes.Contains(text, []byte(`"canonicalBase64"`)) && s.in(text) == nil {
		return nil
	}
	read, err := surface.Read(text)
	if err != nil {
		return nil
	}
	var hits []Hit
	for _, item := range read.Items() {
		if s.plain && s.in(item.Definition) == nil {
			continue
		}
		v, _, err := rawjson.Parse(item.Definition)
		if err != nil {
			continue
		}
		s.value(v, nil, func(pointer []string, said string, at []int) bool {
			if len(hits) == hitsOfOne {
				s.found.More = true
				return false
			}
			hits = append(hits, hitOf(item, pointer, said, at))
			return true
		})
	}
	return hits
}

// value reports the first place in each string, the names of members included, until
// report says that it is enough.
func (s *search) value(v rawjson.Value, at []string, report func(pointer []string, said string, at []int) bool) bool {
	if said, ok := v.Text(); ok {
		if place := s.in([]byte(said)); place != nil {
			return report(at, said, place)
		}
		return true
	}
	for name, member := range v.Members() {
		here := append(slices.Clip(at), name)
		if place := s.in([]byte(name)); place != nil && !report(here, name, place) || !s.value(member, here, report) {
			return false
		}
	}
	for i, e := range v.Elems() {
		if !s.value(e, append(slices.Clip(at), strconv.Itoa(i)), report) {
			return false
		}
	}
	return true
}

func hitOf(item surface.Item, pointer []string, said string, at []int) Hit {
	from, to := max(0, at[0]-hitAround), min(len(said), at[1]+hitAround)
	for from > 0 && !utf8.RuneStart(said[from]) {
		from--
	}
	for to < len(said) && !utf8.RuneStart(said[to]) {
		to++
	}
	h := Hit{Kind: string(item.Kind), Item: item.Name, Pointer: rawjson.Pointer(pointer...), Before: said[from:at[0]], Match: said[at[0]:at[1]], After: said[at[1]:to]}
	if len(h.Pointer) > 1000 {
		h.Pointer = strings.ToValidUTF8(h.Pointer[:1000], "")
	}
	if from > 0 {
		h.Before = "…" + h.Before
	}
	if to < len(said) {
		h.After += "…"
	}
	return h
}

// finder finds a text in any case.
type finder struct {
	lower []byte // of ASCII alone
	// plain: the text stands in JSON as it is, so that what does not have it can be
	// passed over unread.
	plain   bool
	pattern *regexp.Regexp // of other texts
}

func finderOf(text string) finder {
	f := finder{plain: true}
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return finder{pattern: regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))}
		}
		f.lower = append(f.lower, lower(c))
		f.plain = f.plain && (lower(c) >= 'a' && lower(c) <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(" _-.,:;()", c) >= 0)
	}
	return f
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// in is where the text begins and ends in said first, or nil.
func (f *finder) in(said []byte) []int {
	if f.pattern != nil {
		return f.pattern.FindIndex(said)
	}
	first := f.lower[0]
	both := string([]byte{first, upper(first)})
	for from := 0; ; {
		i := bytes.IndexAny(said[from:], both)
		if i < 0 || from+i+len(f.lower) > len(said) {
			return nil
		}
		from += i
		n := 1
		for n < len(f.lower) && lower(said[from+n]) == f.lower[n] {
			n++
		}
		if n == len(f.lower) {
			return []int{from, from + n}
		}
		from++
	}
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// Comparison is how two surfaces differ.
type Comparison struct {
	Before, After *surface.Surface
	Changes       []surface.Change
	// Findings are those in After.
	Findings []lint.Finding
}

// Compare compares two surfaces that were seen, by their digests. All of it is the
// servers' text.
func (o *Ops) Compare(ctx context.Context, actor people.Actor, before, after string) (Comparison, error) {
	var c Comparison
	if err := may(actor, people.Read); err != nil {
		return c, err
	}
	end, err := o.effort.begin(ctx, actor)
	if err != nil {
		return c, err
	}
	defer end()
	if c.Before, err = o.Surface(ctx, actor, before); err != nil {
		return c, err
	}
	if c.After, err = o.Surface(ctx, actor, after); err != nil {
		return c, err
	}
	c.Changes = surface.Compare(c.Before, c.After, surface.CompareOptions{})
	c.Findings = lint.Scan(c.After, lint.Options{})
	return c, nil
}

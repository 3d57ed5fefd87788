package render

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Verification is a surface that was compared with another one, or read for
// traps, and what came of it.
type Verification struct {
	// Target is whose surface it is. Nil: that of the file Source.
	Target *probe.TargetInfo
	// Source says in a word where the surface comes from: a target's name or
	// address, or a file.
	Source string
	// Before says for a comparison of two surfaces what the first one is.
	Before string
	// Result has an effect for each change and finding.
	Result baseline.Result
	// Reason, Message and Hint say why the result is no better than unknown or
	// misconfigured, or are empty.
	Reason, Message, Hint string
	// Word stands in the place of the status for people; First marks all changes
	// as new, since there is nothing to compare with.
	Word  string
	First bool
	// Remarks are lines of ours about what was done.
	Remarks []string
	// Next is the next thing to do, or empty.
	Next string
	// Below is how many lines are written below all this, which has to fit on a
	// screen with them.
	Below int
	// File is the file that has, or is to have, what was compared with, for
	// programs that show results beside it. Empty: there is none.
	File string
	// Line returns the line of File that an item is on, counted from 1. Nil: nobody
	// knows.
	Line func(kind surface.Kind, item string) int
}

// label is who it is about, safe to show.
func (v *Verification) label() string {
	if v.Target != nil && v.Target.Name != "" {
		return name(v.Target.Name)
	}
	return name(v.Source)
}

// word is the status, for people.
func (v *Verification) word() string {
	if v.Word != "" {
		return v.Word
	}
	return string(v.Result.Status)
}

// Drift writes verifications under the name of a command. Silent changes and
// findings are left out unless o is verbose. JSON is, for one of them,
//
//	{"status", "target", "source", "before", "reason", "message", "hint",
//	 "changes", "findings", "unlisted", "digest", "approved"}
//
// where changes and findings are always there and the rest only if there is
// something to say, and for several {"version":1,"results":[...]}.
func Drift(w io.Writer, format Format, command string, verifications []*Verification, o Options) error {
	shown := audible(verifications, o.Verbose)
	var out []byte
	var err error
	switch format {
	case Human, "":
		out = driftPage(command, shown, o)
	case JSON:
		out, err = driftJSON(shown)
	case JUnit:
		out, err = driftJUnit(shown)
	case SARIF:
		out, err = sarif(shown, o)
	case Markdown:
		out = markdown(command, shown, o)
	default:
		err = fmt.Errorf("%s has no format %q", command, format)
	}
	if err != nil {
		return fmt.Errorf("write %s as %s: %w", command, format, err)
	}
	_, err = w.Write(out)
	return err
}

// audible copies verifications without what is silent.
func audible(verifications []*Verification, all bool) []*Verification {
	out := make([]*Verification, len(verifications))
	for i, v := range verifications {
		c := *v
		c.Result.Changes = []surface.Change{}
		for _, change := range v.Result.Changes {
			if all || change.Effect != surface.Silent {
				c.Result.Changes = append(c.Result.Changes, change)
			}
		}
		c.Result.Findings = []baseline.Verdict{}
		for _, finding := range v.Result.Findings {
			if all || finding.Effect != surface.Silent {
				c.Result.Findings = append(c.Result.Findings, finding)
			}
		}
		out[i] = &c
	}
	return out
}

// driftDocument is the JSON of one verification.
type driftDocument struct {
	Status   baseline.Status    `json:"status"`
	Target   *probe.TargetInfo  `json:"target,omitempty"`
	Source   string             `json:"source,omitempty"`
	Before   string             `json:"before,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Message  string             `json:"message,omitempty"`
	Hint     string             `json:"hint,omitempty"`
	Changes  []surface.Change   `json:"changes"`
	Findings []baseline.Verdict `json:"findings"`
	Unlisted []surface.Kind     `json:"unlisted,omitempty"`
	Digest   string             `json:"digest,omitempty"`
	Approved string             `json:"approved,omitempty"`
}

func driftJSON(verifications []*Verification) ([]byte, error) {
	documents := make([]driftDocument, len(verifications))
	for i, v := range verifications {
		r := &v.Result
		d := driftDocument{
			Status: r.Status, Target: v.Target, Before: v.Before, Reason: v.Reason, Message: v.Message, Hint: v.Hint,
			Changes: r.Changes, Findings: r.Findings, Unlisted: r.Unlisted, Digest: digest(r.Digest), Approved: digest(r.Approved),
		}
		if v.Target == nil {
			d.Source = v.Source
		}
		documents[i] = d
	}
	if len(documents) == 1 {
		return indentJSON(documents[0])
	}
	return indentJSON(struct {
		Version int             `json:"version"`
		Results []driftDocument `json:"results"`
	}{1, documents})
}

func digest(d surface.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// row is one class of changes as people read it: the same effect on some items,
// under whatever pointers.
type row struct {
	class    surface.Class
	effect   surface.Effect
	kind     surface.Kind
	identity string
	items    []string // safe to show, in order, each once
	details  []*detail

	seen   map[string]bool    // items, as they are
	places map[string]*detail // by pointer and text
}

// detail is the same change at the same place.
type detail struct {
	pointer, text string // safe to show
	items         []string
	changes       []surface.Change
}

// rows puts changes together, in the order of the classes; unless flat is set,
// what fails first.
func rows(changes []surface.Change, flat bool) []*row {
	var out []*row
	type key struct {
		class    surface.Class
		effect   surface.Effect
		identity string
	}
	known := map[key]*row{}
	for _, g := range surface.Group(changes) {
		for _, c := range g.Changes {
			k := key{c.Class, c.Effect, c.Identity}
			r := known[k]
			if r == nil {
				r = &row{class: c.Class, effect: c.Effect, kind: c.Kind, identity: name(c.Identity), seen: map[string]bool{}, places: map[string]*detail{}}
				known[k] = r
				out = append(out, r)
			}
			r.add(c)
		}
	}
	order := map[surface.Class]int{}
	for i, c := range surface.Classes() {
		order[c.Class] = i
	}
	slices.SortStableFunc(out, func(a, b *row) int {
		if !flat && a.effect != b.effect {
			return rank(a.effect) - rank(b.effect)
		}
		return order[a.class] - order[b.class]
	})
	for _, r := range out {
		slices.SortStableFunc(r.details, func(a, b *detail) int { return len(b.items) - len(a.items) })
	}
	return out
}

func (r *row) add(c surface.Change) {
	item := name(c.Item)
	if c.Renamed != "" {
		other := " (now " + name(c.Renamed) + ")"
		if c.After != nil && c.Before == nil {
			other = " (was " + name(c.Renamed) + ")"
		}
		item += other
	}
	if c.Item != "" && !r.seen[c.Item] {
		r.seen[c.Item] = true
		r.items = append(r.items, item)
	}
	pointer, text := line(c.Pointer), line(c.Detail)
	d := r.places[pointer+"\n"+text]
	if d == nil {
		d = &detail{pointer: pointer, text: text}
		r.places[pointer+"\n"+text] = d
		r.details = append(r.details, d)
	}
	d.changes = append(d.changes, c)
	if c.Item != "" {
		d.items = append(d.items, item)
	}
}

// rank orders effects from the strongest.
func rank(e surface.Effect) int {
	return slices.Index([]surface.Effect{surface.Fail, surface.Event, surface.Silent}, e)
}

// kindNoun is what one item of a kind is called. No kind is all of a surface.
func kindNoun(k surface.Kind) string {
	switch k {
	case surface.ResourceTemplate:
		return "resource template"
	case "":
		return "the whole surface"
	}
	return string(k)
}

// place names an item and a place in it, such as "tool add /description".
func place(kind surface.Kind, item, pointer string) string {
	s := kindNoun(kind)
	if item != "" {
		s += " " + name(item)
	}
	if pointer != "" {
		s += " " + line(pointer)
	}
	return s
}

// fails counts what fails.
func fails(r *baseline.Result) (changes, findings int) {
	for i := range r.Changes {
		if r.Changes[i].Effect == surface.Fail {
			changes++
		}
	}
	for i := range r.Findings {
		if r.Findings[i].Effect == surface.Fail {
			findings++
		}
	}
	return changes, findings
}

// down reports whether there is no result to speak of.
func (v *Verification) down() bool {
	return v.Result.Status == baseline.Unknown || v.Result.Status == baseline.Misconfigured
}

// Because says why there is no result: the cause of the report's verdict.
func (v *Verification) Because(r *probe.Report) {
	c := causeOf(r)
	v.Reason, v.Message, v.Hint = string(c.Reason), c.String(), c.Hint
}

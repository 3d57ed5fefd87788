package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	// Identities are the other clients that the server was listed as.
	Identities []Identity
	// Next is the next thing to do, or empty.
	Next string
	// Below is how many lines are written below all this, which has to fit on a
	// screen with them.
	Below int
	// File is the file that has, or is to have, what was compared with, for
	// programs that show results beside it. Empty: there is none.
	File string
	// Timestamp is when the surface was listed, and TotalMs how long that took. Zero:
	// it was not.
	Timestamp time.Time
	TotalMs   probe.Millis
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

// Drift writes verifications under the name of a command. Silent changes are
// left out unless o is verbose. JSON is, for one of them,
//
//	{"status", "target", "source", "before", "reason", "message", "hint",
//	 "changes", "findings", "unlisted", "identities", "digest", "approved"}
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
			if all || finding.Effect != surface.Silent || finding.Accepted != nil {
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
	// Identities are those of --as.
	Identities []Identity `json:"identities,omitempty"`
	Digest     string     `json:"digest,omitempty"`
	Approved   string     `json:"approved,omitempty"`
}

func driftJSON(verifications []*Verification) ([]byte, error) {
	documents := make([]driftDocument, len(verifications))
	for i, v := range verifications {
		r := &v.Result
		d := driftDocument{
			Status: r.Status, Target: v.Target, Before: v.Before, Reason: v.Reason, Message: v.Message, Hint: v.Hint,
			Changes: r.Changes, Findings: r.Findings, Unlisted: r.Unlisted, Identities: v.Identities, Digest: digest(r.Digest), Approved: digest(r.Approved),
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

// rank orders effects from the strongest.
func rank(e surface.Effect) int {
	return slices.Index(surface.Effects(), e)
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

// maxMask is the longest mask that is proposed to be typed.
const maxMask = 300

// rules are sentences about all changes of a kind: which mask would let a text pass,
// unless a remark says so, and what the specification says about telling clients
// different things.
func (v *Verification) rules() []string {
	var out []string
	for _, c := range v.Result.Changes {
		if c.Mask == nil || len(out) == maxMasks {
			continue
		}
		flag := baseline.FormatMask(*c.Mask)
		said := func(s string) bool { return strings.Contains(s, flag) }
		if len(flag) <= maxMask && !slices.ContainsFunc(v.Remarks, said) && !slices.ContainsFunc(out, said) {
			out = append(out, place(c.Kind, c.Item, c.Pointer)+": if that is meant: mcpvigil lock --mask "+flag)
		}
	}
	if slices.ContainsFunc(v.Result.Changes, func(c surface.Change) bool { return c.Class == surface.CloakedSurface }) {
		out = append(out, `The specification forbids that since its revision of 2026-07-28: the set of tools "MUST NOT vary per-connection or as a side effect of other requests on the connection".`)
	}
	return out
}

// maxMasks bounds how many masks are proposed.
const maxMasks = 3

package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// What a person does next, as commands that can be copied.

// commandLine is what a command was called with, of which others are made.
type commandLine struct {
	flags []string // those that say which server, as whom, and which lockfile
	point []string // the URL or file that it was pointed at
	start []string // the command after "--"
	// several: the file has more than one server.
	several bool
}

// commandLine gives that of g, without what says how to compare and to report.
func (g *given) commandLine(sel *selection, args []string) commandLine {
	c := commandLine{several: len(sel.configured) > 1, point: args}
	if g.dash >= 0 {
		c.point, c.start = args[:g.dash], maskedArgs(args[g.dash:])
	}
	c.flags = g.typed(func(f *pflag.Flag) bool {
		about := slices.Contains([]flagGroup{groupTransport, groupConnection}, groupOf(f)) || f.Name == "lockfile" || f.Name == "name"
		return about && f.Name != "target"
	})
	return c
}

// typed returns flags of the command line as they can be typed again.
func (g *given) typed(which func(*pflag.Flag) bool) []string {
	var out []string
	g.flags.Visit(func(f *pflag.Flag) {
		if !g.byFlag(f.Name) || !which(f) {
			return
		}
		values := []string{f.Value.String()}
		if l, ok := f.Value.(list); ok {
			values = *l.values
		}
		for _, v := range values {
			switch {
			case f.Value.Type() == "bool":
				out = append(out, "--"+f.Name)
				continue
			case f.Name == "header" || f.Name == "env": // whose values may be secrets
				v = v[:strings.IndexAny(v, ":=")+1] + "***"
			case f.Name == "stdio" || f.Name == "bearer-command":
				v = strings.Join(config.ShowArgs(strings.Split(v, " ")), " ")
			}
			out = append(out, "--"+f.Name, v)
		}
	})
	return out
}

// run is a command on one of the servers.
func (c commandLine) run(command string, t *target.Target, more ...string) string {
	words := slices.Concat([]string{command}, c.point, c.flags)
	if c.several {
		words = append(words, "--target", t.Label())
	}
	words = append(words, more...)
	if c.start != nil {
		words = slices.Concat(words, []string{"--"}, c.start)
	}
	return shellLine("mcpvigil", words)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-][A-Za-z0-9_@%+=:,./~#-]*$`)

// shellLine is a command with arguments, in quotes where a shell would read them
// otherwise.
func shellLine(command string, words []string) string {
	out := []string{command}
	for _, w := range words {
		if w = maskedURL(w); !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// lock is a command that approves what t says now.
func (c commandLine) lock(t *target.Target, more ...string) string { return c.run("lock", t, more...) }

// maxMask is the longest mask that is proposed to be typed.
const maxMask = 300

// masksFor are the masks under which nothing would fail of what o saw in texts that
// differ from those approved in dates, versions and integers alone. They hold what
// is masked in the same text already.
func (o *observation) masksFor() []surface.Mask {
	var proposed []surface.Mask
	for _, c := range o.result.Changes {
		var before, after string
		if c.Effect != surface.Fail || c.Identity != "" || json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil {
			continue
		}
		kinds, ok := surface.Volatile(before, after)
		if !ok || slices.ContainsFunc(o.result.Changes, func(v surface.Change) bool { return v.Mask != nil && samePlace(c, *v.Mask) }) {
			continue // with the mask that is there, it says so itself
		}
		for _, known := range o.approved.Masks {
			if samePlace(c, known) {
				kinds = append(kinds, known.Masks...)
			}
		}
		slices.Sort(kinds)
		proposed = append(proposed, surface.Mask{Kind: c.Kind, Item: c.Item, Pointer: c.Pointer, Masks: slices.Compact(kinds)})
	}
	if len(proposed) == 0 {
		return nil
	}
	left := surface.Compare(o.approved.Surface, o.seen, surface.CompareOptions{Masks: proposed})
	return slices.DeleteFunc(proposed, func(m surface.Mask) bool {
		return len(baseline.FormatMask(m)) > maxMask ||
			slices.ContainsFunc(left, func(c surface.Change) bool { return c.Effect == surface.Fail && samePlace(c, m) })
	})
}

// samePlace reports whether c is of the text that m covers.
func samePlace(c surface.Change, m surface.Mask) bool {
	return c.Kind == m.Kind && c.Item == m.Item && c.Pointer == m.Pointer
}

// maskFlags are masks as they are typed.
func maskFlags(masks []surface.Mask) []string {
	var out []string
	for _, m := range masks {
		out = append(out, "--mask", baseline.FormatMask(m))
	}
	return out
}

// maskRemark says which texts differ in nothing but what can be masked.
func (o *observation) maskRemark() string {
	masks := o.masksFor()
	if len(masks) == 0 {
		return ""
	}
	masks = masks[:min(len(masks), maxRemarks)]
	var kinds []string
	for _, m := range masks {
		for _, k := range m.Masks {
			if !slices.Contains(kinds, string(k)) {
				kinds = append(kinds, string(k))
			}
		}
	}
	what := "a text differs"
	if len(masks) > 1 {
		what = fmt.Sprintf("%d texts differ", len(masks))
	}
	return fmt.Sprintf("%s from what was approved in nothing but %s; if that may change by itself: %s",
		what, strings.Join(kinds, " and "), o.line.lock(o.target, maskFlags(masks)...))
}

// nextStep is what a person does about the result for t.
func nextStep(r *baseline.Result, t *target.Target, line commandLine) string {
	switch r.Status {
	case baseline.Changed:
		if blocks(r) {
			return "do not approve this: keep to the version from before, or take the server out; the findings say why"
		}
		return "read what changed (--verbose shows every text); if your agents are to be told that: " + line.lock(t)
	case baseline.Flagged:
		return "take the server out, unless every finding is harmless: " + line.lock(t, "--accept", "ID", "--reason", "TEXT")
	case baseline.Inconsistent:
		return "ask whoever runs the server why it does not tell everybody the same"
	}
	return ""
}

// blocks reports whether a block finding fails in r.
func blocks(r *baseline.Result) bool {
	return slices.ContainsFunc(r.Findings, func(v baseline.Verdict) bool { return v.Effect == surface.Fail && v.Severity == lint.Block })
}

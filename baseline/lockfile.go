package baseline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Lockfile is a file of baselines. No two have the same name and binding.
//
// The file is YAML in one spelling, that of [Lockfile.Encode], and made to be
// reviewed: each item stands in it with its whole definition and the digest of that.
// A text of several lines has a line of the file for each, and what cannot be seen is
// an escape. Where YAML cannot hold a definition (members of one name, lone
// surrogates, bytes that are not UTF-8), what it can show stands beside the canonical
// bytes in base64, which count.
type Lockfile struct {
	Baselines []*Baseline
}

// ErrNoBaseline is the error for a target that the lockfile has nothing about.
var ErrNoBaseline = errors.New("the lockfile has no baseline")

// BindingError is the error for a target that is approved at another endpoint, with
// another credential, or as seen by another client.
type BindingError struct {
	Name string
	// Want is what the target has now, Have the nearest that was approved.
	Want, Have Binding
}

// Error says which parts differ.
func (e *BindingError) Error() string {
	var parts []string
	want, have := e.Want.parts(), e.Have.parts()
	for i, name := range bindingParts() {
		if want[i] != have[i] {
			parts = append(parts, fmt.Sprintf("%s (%s; approved: %s)", name, orNone(want[i]), orNone(have[i])))
		}
	}
	return fmt.Sprintf("the baseline of %s is for another %s: approve this one with mcpvigil lock",
		quote(e.Name), strings.Join(parts, " and "))
}

// bindingParts names what a binding is made of, in words for a sentence.
func bindingParts() []string { return []string{"endpoint", "credential", "client", "revision"} }

func (b Binding) parts() []string {
	return []string{b.Endpoint, b.Credential, b.Client, b.Protocol}
}

func (b Binding) differences(other Binding) int {
	n := 0
	for i, part := range b.parts() {
		if part != other.parts()[i] {
			n++
		}
	}
	return n
}

const maxQuoted = 200

// quote shows a name that another party may have chosen.
func quote(s string) string { return `"` + plain.Line(s, maxQuoted) + `"` }

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return plain.Line(s, maxQuoted)
}

// Find returns the baseline of a target. Its errors are [ErrNoBaseline] and
// *[BindingError].
func (l *Lockfile) Find(name string, binding Binding) (*Baseline, error) {
	var nearest *Baseline
	for _, b := range l.Baselines {
		switch {
		case b.Name != name:
		case b.Binding == binding:
			return b, nil
		case nearest == nil || b.Binding.differences(binding) < nearest.Binding.differences(binding):
			nearest = b
		}
	}
	if nearest == nil {
		return nil, fmt.Errorf("%w of %s: approve what it says now with mcpvigil lock", ErrNoBaseline, quote(name))
	}
	return nil, &BindingError{Name: name, Want: binding, Have: nearest.Binding}
}

// Put adds b or replaces the baseline of the same name and binding; baselines of
// the same name for another endpoint are dropped.
func (l *Lockfile) Put(b *Baseline) {
	l.Baselines = slices.DeleteFunc(slices.Clone(l.Baselines), func(other *Baseline) bool {
		return other.Name == b.Name && (other.Binding == b.Binding || other.Binding.Endpoint != b.Binding.Endpoint)
	})
	l.Baselines = append(l.Baselines, b)
}

// part is where the items of a kind stand in the file.
type part struct {
	key  string
	kind surface.Kind
	list bool
}

// parts are the parts of a surface, by the names that they have on the wire.
func parts() []part {
	return []part{
		{"serverInfo", surface.Server, false},
		{"protocolVersion", surface.Protocol, false},
		{"capabilities", surface.Capabilities, false},
		{"instructions", surface.Instructions, false},
		{"auth", surface.Auth, false},
		{"tools", surface.Tool, true},
		{"resources", surface.Resource, true},
		{"resourceTemplates", surface.ResourceTemplate, true},
		{"prompts", surface.Prompt, true},
	}
}

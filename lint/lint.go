// Package lint reads a surface for text that is made for a model and hidden from a
// person, or that steers an agent.
//
// The rules are lexical and deterministic. They find known families of attack at a
// false-positive rate that was measured on servers people use; they cannot see a
// paraphrase, another language or a social tone. What changed since a person
// approved it (package surface, package baseline) is the control; the lint ranks it.
package lint

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/surface"
)

// Ruleset names the version of the rules. It changes whenever a rule finds
// something else than before.
const Ruleset = "1"

// Older reports whether a version of the rules is one that came before [Ruleset], as
// far as this program knows. There is none yet. A version that it does not know is not
// older: it may be of a newer program.
func Older(ruleset string) bool {
	return slices.Contains([]string{}, ruleset)
}

// Event names what a finding is to hosted monitors.
const Event = "mcp_poison_finding"

// Severity is what a finding does.
type Severity string

const (
	// Block fails a verification until a person accepts the finding.
	Block Severity = "block"
	// Note fails only when it is new in an item that changed.
	Note Severity = "note"
)

// Finding is one hit of a rule.
type Finding struct {
	// ID is stable for the same rule, severity, place and matched text, whatever else
	// is around it. What is matched is all that an acceptance is about: of a hidden
	// character the words on either side, of an address the whole, of a duplicate the
	// values. That a text is too large is the same up to the next power of two.
	// Accepting is per ID.
	ID string `json:"id"`
	// Event is [Event].
	Event string `json:"event,omitempty"`
	Rule  string `json:"rule"`
	// Family is the rule's name in the six families of hosted monitors:
	// hidden_unicode, instruction_marker, sensitive_path, cross_tool, encoded_blob,
	// oversized; or the rule itself.
	Family   string   `json:"family"`
	Severity Severity `json:"severity"`
	// Kind is empty for a finding about the surface as a whole.
	Kind surface.Kind `json:"kind"`
	// Item is the name of the item. Untrusted.
	Item string `json:"item"`
	// Pointer is the place in the item's definition (RFC 6901), cut after 1 KiB.
	// Untrusted in parts.
	Pointer string `json:"pointer"`
	// Message says what was found and why it matters, in the program's own words.
	Message string `json:"message"`
	// Excerpt is the matched text with some of what is around it, with hidden
	// characters spelled out; of hidden payloads, what they decode to. Safe to
	// show, untrusted to follow.
	Excerpt string `json:"excerpt"`
	// Techniques are identifiers of the SAFE-MCP catalogue.
	Techniques []string `json:"techniques,omitempty"`
	Ruleset    string   `json:"ruleset"`

	// Spans are what was matched, in the text at Pointer as its JSON string reads, in
	// order and at most 64. What is hidden in a text is where that hides it. None for
	// what is about the whole of a text, or no text.
	Spans []Span `json:"-"`
	// InName: the spans are in the name of the member at Pointer, not in its value.
	InName bool `json:"-"`
}

// Options add what one surface alone does not tell.
type Options struct {
	// Neighbours are the names of the tools of other servers that the same agents
	// use, by a name for the server. Nil: none are known.
	Neighbours map[string][]string
}

// Rule is one rule, for documentation and its own test.
type Rule struct {
	ID, Family string
	// Severities the rule can give.
	Severities []Severity
	// Text says in one sentence what the rule looks for.
	Text       string
	Techniques []string
	// True and False are examples that it does and does not hit: a tool, or a surface
	// with any of the members tools, prompts, resources, resourceTemplates,
	// instructions and serverInfo.
	True, False []string
}

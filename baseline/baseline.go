// Package baseline holds what a person approved of a server, and verifies what the
// server says now against it.
//
// A [Baseline] is an approved surface, with the lint findings that were accepted in
// it. A [Lockfile] keeps baselines in a file that is reviewed like code.
package baseline

import (
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Binding is what a baseline belongs to. Another endpoint, credential, client
// identity or pinned revision sees another surface, which needs an approval of its
// own. The revision that is negotiated without a pin is content.
type Binding struct {
	// Endpoint is the address, stdio://NAME for a stdio server that has a name, or
	// the command line of one that has none; fit to be shown.
	Endpoint string `json:"endpoint"`
	// Credential names where credentials come from, such as "env:TOKEN", never a
	// value. Empty: none.
	Credential string `json:"credential,omitempty"`
	// Client is the client identity, when it is not the default one.
	Client string `json:"client,omitempty"`
	// Protocol is the pinned revision. Empty: negotiated.
	Protocol string `json:"protocol,omitempty"`
}

// Acceptance is a finding that a person looked at and accepted.
type Acceptance struct {
	ID       string        `json:"id"`
	Rule     string        `json:"rule"`
	Ruleset  string        `json:"ruleset"`
	Severity lint.Severity `json:"severity"`
	Kind     surface.Kind  `json:"kind"`
	Item     string        `json:"item,omitempty"`
	Pointer  string        `json:"pointer,omitempty"`
	Excerpt  string        `json:"excerpt"`
	Reason   string        `json:"reason"`
}

// Baseline is an approved surface.
type Baseline struct {
	// Name is that of the target.
	Name    string
	Binding Binding
	// Surface is never nil.
	Surface *surface.Surface
	// Ruleset is that of the lint when the surface was approved.
	Ruleset  string
	Accepted []Acceptance
	// Masks are texts that change by themselves, and in which parts.
	Masks []surface.Mask
}

// Status is the outcome of a verification.
type Status string

// The outcomes, from the worst.
const (
	Changed       Status = "changed"       // a change that fails
	Flagged       Status = "flagged"       // no such change, but a finding that fails
	Inconsistent  Status = "inconsistent"  // fresh listings, or identities, differ
	Misconfigured Status = "misconfigured" // no baseline, another binding, a refused credential
	Unknown       Status = "unknown"       // could not be listed to its end
	Approved      Status = "approved"      // nothing that fails
)

// Verdict is a finding, and what it does in a verification.
type Verdict struct {
	lint.Finding
	// Effect: fail, event (a note, or found by newer rules in text that was
	// approved), or silent (accepted).
	Effect surface.Effect `json:"effect"`
	// New: not in the approved surface.
	New      bool        `json:"new"`
	Accepted *Acceptance `json:"accepted,omitempty"`
}

// Result is the outcome of a verification.
type Result struct {
	Status   Status           `json:"status"`
	Changes  []surface.Change `json:"changes"`
	Findings []Verdict        `json:"findings"`
	// Unlisted are inventories that were approved, and were not listed to their end
	// now.
	Unlisted []surface.Kind `json:"unlisted,omitempty"`
	// Digest is that of the surface seen, Approved that of the baseline.
	Digest   surface.Digest `json:"digest"`
	Approved surface.Digest `json:"approved"`
}

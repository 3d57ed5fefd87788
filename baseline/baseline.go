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

// Acceptance is a finding that a person looked at and accepted. It counts for a
// finding that is the same in everything but the ruleset.
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
	// Ruleset is that of the lint when the surface was approved. Where it is known
	// to be older than that of today, what is found in text that was approved is an
	// event. With any other one, and with none, every block finding fails until it
	// is accepted: none is for a surface that nobody judged, or that was approved
	// with block findings left open, which must not pass after an upgrade.
	Ruleset  string
	Accepted []Acceptance
	// Masks are texts that change by themselves, and in which parts.
	Masks []surface.Mask
	// Edited: [ReadLoose] read it, and it does not fit its digests, so that nobody
	// approved it as it is.
	Edited bool
}

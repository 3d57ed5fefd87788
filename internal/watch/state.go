package watch

import (
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Axis is one of the three questions about a server, or the watch itself.
type Axis string

// The axes.
const (
	Availability Axis = "availability"
	Surface      Axis = "surface"
	Posture      Axis = "posture"
	// System is for what concerns a location and no single monitor: checks that
	// cannot be run.
	System Axis = "system"
)

// The states of the axes. Unknown is a state of each.
const (
	Unknown = "unknown"

	Up            = "up"
	Degraded      = "degraded"
	Down          = "down"
	Misconfigured = "misconfigured"

	AsApproved   = "approved" // the state; Approved is an approval
	Changed      = "changed"
	Inconsistent = "inconsistent"

	Clean   = "clean"
	Flagged = "flagged"

	// Blind is the bad state of System.
	Blind = "blind"
)

// AxisState is where an axis stands.
type AxisState struct {
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason is a stable code, such as that of the report or the class of a change;
	// Text says it in one line without text of the server.
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text,omitempty"`
	// Incident is the one that is open because of it, or 0.
	Incident int64 `json:"incident,omitempty"`
}

// LocationState is what one location saw last.
type LocationState struct {
	At           time.Time `json:"at"`
	Availability string    `json:"availability"`
	Surface      string    `json:"surface"`
	Posture      string    `json:"posture"`
	Reason       string    `json:"reason,omitempty"`
	Text         string    `json:"text,omitempty"`
	// Fails and Passes count results in a row; one of them is zero.
	Fails  int `json:"fails,omitempty"`
	Passes int `json:"passes,omitempty"`
	// Downs are the last of Fails in which it was down, Slows the results in a row that
	// were degraded or worse.
	Downs int `json:"downs,omitempty"`
	Slows int `json:"slows,omitempty"`
	// Bad is down or misconfigured from when that is believed until it is over; what
	// could not tell in between does not end it.
	Bad string `json:"bad,omitempty"`
	// Recent holds the last results, the latest in the lowest bit, 1 for a failure;
	// RecentN says how many there are.
	Recent  uint32 `json:"recent,omitempty"`
	RecentN int    `json:"recent_n,omitempty"`
	// Flapping: good and bad results took turns.
	Flapping bool `json:"flapping,omitempty"`
	// Digest is that of the last surface it saw to its end.
	Digest surface.Digest `json:"digest,omitzero"`
	// SeenAt is when it saw all of what is approved, and Unseen counts the results in a
	// row since then in which the server answered.
	SeenAt time.Time `json:"seen_at,omitzero"`
	Unseen int       `json:"unseen,omitempty"`
}

// State is what a monitor remembers. It is a value: Decide returns the next one.
type State struct {
	Monitor int64 `json:"monitor"`
	// Revision is that of the monitor the state is about.
	Revision int64 `json:"revision"`
	// Target stands for the server that was checked.
	Target string `json:"target,omitempty"`
	// Approvals are those of the monitor that its surface was judged by last.
	Approvals    int64     `json:"approvals,omitempty"`
	Availability AxisState `json:"availability"`
	Surface      AxisState `json:"surface"`
	Posture      AxisState `json:"posture"`
	// Check is the single status of a monitor: pass, fail or unknown; CheckReason a
	// stable code, CheckText one line.
	Check       string `json:"check"`
	CheckReason string `json:"check_reason,omitempty"`
	CheckText   string `json:"check_text,omitempty"`

	Locations map[string]LocationState `json:"locations,omitempty"`
	Flapping  bool                     `json:"flapping,omitempty"`

	LastCheck time.Time `json:"last_check,omitzero"`
	LastUp    time.Time `json:"last_up,omitzero"`
	// Digest is the last surface that was seen to its end, DigestAt when last, and
	// Tools how many tools it has.
	Digest   surface.Digest `json:"digest,omitzero"`
	DigestAt time.Time      `json:"digest_at,omitzero"`
	Tools    *int           `json:"tools,omitempty"`
	// Timing is that of the last check that was up or degraded, at any location.
	Timing  Timing           `json:"timing,omitzero"`
	History baseline.History `json:"history,omitzero"`
	// Said are the keys of the changes and findings that stand and whose events
	// were written, so that each is written once.
	Said []string `json:"said,omitempty"`
	// Open counts changes and findings that fail until a person decides.
	OpenChanges  int `json:"open_changes,omitempty"`
	OpenFindings int `json:"open_findings,omitempty"`
	// MissingTools are expected and were not listed.
	MissingTools []string `json:"missing_tools,omitempty"`
	// ToolsOver: the last list had more tools than are allowed.
	ToolsOver bool `json:"tools_over,omitempty"`
	// Unsteady: the surface keeps changing between states that are not all approved. It
	// is inconsistent until it settles.
	Unsteady bool `json:"unsteady,omitempty"`
	// Awaiting: what was approved does not belong to the monitor any more, and a
	// person has to confirm the new surface.
	Awaiting bool `json:"awaiting,omitempty"`
	// CertificateEnds and CredentialEnds are when they end, where that is known, and
	// CertificateSaid and CredentialSaid the ends that were said to be near.
	CertificateEnds time.Time `json:"certificate_ends,omitzero"`
	CredentialEnds  time.Time `json:"credential_ends,omitzero"`
	CertificateSaid time.Time `json:"certificate_said,omitzero"`
	CredentialSaid  time.Time `json:"credential_said,omitzero"`
	Server          string    `json:"server,omitempty"`   // name and version, safe to show
	Protocol        string    `json:"protocol,omitempty"` // negotiated revision
	Era             string    `json:"era,omitempty"`
}

// The values of State.Check.
const (
	CheckPass    = "pass"
	CheckFail    = "fail"
	CheckUnknown = "unknown"
)

// Observation is one check that ran, with all that Decide needs of it.
type Observation struct {
	Result
	// Revision and Approvals are those of the monitor that it was made for.
	Revision  int64
	Approvals int64
	// Local: the check could not be run (own network, descriptors), so that nothing
	// was learnt of the server.
	Local bool
	// ChainBroken: the login chain is broken.
	ChainBroken bool
	// MissingTools: expected tools are missing.
	MissingTools []string
	// Verified is the verdict on the surface, or nil when none was seen, or when
	// nothing is approved of it yet.
	Verified *baseline.Result
	// Surface is what was seen, complete, or nil.
	Surface *surface.Surface
	// Before is the surface of State.Digest when it differs from Surface, for the
	// history; nil when that is not known.
	Before *surface.Surface
	// Baseline is what Verified compared with, or nil.
	Baseline *baseline.Baseline
	Binding  baseline.Binding
	// Findings are verdicts on the surface when nothing is approved of it.
	Findings                        []baseline.Verdict
	CertificateEnds, CredentialEnds time.Time
	Server, Protocol, Era           string
	Report                          Report
}

package watch

import (
	"encoding/hex"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
)

// The sources of approvals.
const (
	ApprovedFirst    = "first"
	ApprovedPerson   = "person"
	ApprovedLockfile = "lockfile"
)

// Approval is what was approved of a monitor, by whom. Only First, FromLockfile and
// Accept make one.
type Approval struct {
	monitor                  int64
	baseline                 *baseline.Baseline
	source, approver, reason string
	items                    []string
	expires                  time.Time
	event                    Event
}

// Monitor is the id of the monitor.
func (a Approval) Monitor() int64 { return a.monitor }

// Baseline is what is approved.
func (a Approval) Baseline() *baseline.Baseline { return a.baseline }

// Source is ApprovedFirst, ApprovedPerson or ApprovedLockfile.
func (a Approval) Source() string { return a.source }

// Approver is who did it, such as user:ann.
func (a Approval) Approver() string { return a.approver }

// Reason is what the approver wrote.
func (a Approval) Reason() string { return a.reason }

// Items are what was accepted; none for all of it.
func (a Approval) Items() []string { return a.items }

// ExpiresAt is when it ends; zero: never.
func (a Approval) ExpiresAt() time.Time { return a.expires }

// Event is what it is on the timeline.
func (a Approval) Event() Event { return a.event }

// First approves the first surface of a monitor, and no finding in it. As nobody judged
// it, its baseline has no ruleset: what a later version of the rules finds fails.
func First(m *Monitor, b baseline.Binding, s *surface.Surface, now time.Time) Approval {
	approved := baseline.New(m.Definition.Name, b, s)
	approved.Ruleset = ""
	return Approval{
		monitor: m.ID, baseline: approved, source: ApprovedFirst, approver: ApprovedFirst,
		event: Event{
			Monitor: m.ID, At: cut(now), Name: EventBaselineSet, Axis: Surface,
			Text: "the first surface that was seen is the baseline: review it",
			Data: &Facts{Digest: s.Digest().String(), Count: len(s.Items())},
		},
	}
}

// FromLockfile approves what a lockfile holds. sum is the SHA-256 of the file.
func FromLockfile(m *Monitor, b *baseline.Baseline, path string, sum [32]byte, now time.Time) Approval {
	approver := "file:" + plain.Line(path, maxURL) + "@sha256:" + hex.EncodeToString(sum[:])
	return Approval{
		monitor: m.ID, baseline: b, source: ApprovedLockfile, approver: approver, reason: "reviewed with the file",
		event: Event{
			Monitor: m.ID, At: cut(now), Name: EventBaselineAccepted, Axis: Surface, Actor: approver,
			Text: "accepted by a lockfile",
			Data: &Facts{Digest: b.Surface.Digest().String(), Approver: approver},
		},
	}
}

// Selection is what of a surface is accepted.
type Selection struct {
	All bool `json:"all,omitempty"`
	// Changes are keys of ChangeKey, Findings ids.
	Changes  []string `json:"changes,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Reason   string   `json:"reason"`
	// ExpiresAt is when it ends; zero: never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Keep: what was approved before stays approved too.
	Keep bool `json:"keep,omitempty"`
}

// Approved is an approval as it is stored.
type Approved struct {
	ID        int64          `json:"id"`
	Monitor   int64          `json:"monitor"`
	Source    string         `json:"source"`
	Approver  string         `json:"approver"`
	Reason    string         `json:"reason"`
	Digest    surface.Digest `json:"digest"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	// Baseline is nil unless it was loaded.
	Baseline *baseline.Baseline `json:"-"`
}

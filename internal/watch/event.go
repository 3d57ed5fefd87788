package watch

import "time"

// The names of events that this package adds to those of packages surface and lint.
const (
	EventBaselineSet      = "mcp_baseline_set"
	EventBaselineAccepted = "mcp_baseline_accepted"
	EventBaselineDropped  = "mcp_baseline_dropped"
	EventBaselineExpired  = "mcp_baseline_expired"
	EventProposed         = "mcp_baseline_proposed"  // by the first of two persons
	EventUnproposed       = "mcp_baseline_withdrawn" // a proposal
	EventRejected         = "mcp_surface_rejected"
	EventUp               = "monitor_up"
	EventDegraded         = "monitor_degraded"
	EventDown             = "monitor_down"
	EventMisconfigured    = "monitor_misconfigured"
	EventUnknown          = "monitor_unknown"
	EventApproved         = "surface_approved" // drift is over, without an acceptance
	EventClean            = "posture_clean"
	EventFlagged          = "posture_flagged"
	EventFlapping         = "monitor_flapping"
	EventSteady           = "monitor_steady"
	EventToolsMissing     = "expected_tools_missing"
	EventToolsOver        = "max_tools_exceeded"
	EventToolsRight       = "tools_as_expected"
	EventCertificateEnds  = "certificate_ends_soon"
	EventCredentialEnds   = "credential_ends_soon"
	EventBlind            = "checks_not_running"
	EventSighted          = "checks_running"
	EventCreated          = "monitor_created"
	EventEdited           = "monitor_edited"
	EventPaused           = "monitor_paused"
	EventResumed          = "monitor_resumed"
	EventDeleted          = "monitor_deleted"
	EventOpened           = "incident_opened"
	EventAcknowledged     = "incident_acknowledged"
	EventResolved         = "incident_resolved"
	EventAssigned         = "incident_assigned"
	EventCommented        = "incident_commented"
	EventSnoozed          = "incident_snoozed"
)

// Event is an immutable fact on the timeline. It holds names and classes, never a
// server's text.
type Event struct {
	ID      int64     `json:"id"`
	Monitor int64     `json:"monitor,omitempty"` // 0: the watch itself
	At      time.Time `json:"at"`
	Name    string    `json:"name"`
	// Axis is the one that it is about, or empty.
	Axis Axis `json:"axis,omitempty"`
	// Text says it in one line.
	Text string `json:"text"`
	// Actor is who did it, when a person or a program did: "user:ann", "key:ci",
	// "file:mcpvigil.yaml".
	Actor string `json:"actor,omitempty"`
	Data  *Facts `json:"data,omitempty"`
}

// Facts are the details of an event, a closed set.
type Facts struct {
	Kind     string `json:"kind,omitempty"`  // of the item, such as tool
	Item     string `json:"item,omitempty"`  // its name, made safe
	Class    string `json:"class,omitempty"` // of the change
	Rule     string `json:"rule,omitempty"`  // of the finding
	Effect   string `json:"effect,omitempty"`
	Reason   string `json:"reason,omitempty"` // stable code
	Digest   string `json:"digest,omitempty"`
	Approved string `json:"approved,omitempty"` // digest that was approved before
	Approver string `json:"approver,omitempty"`
	Comment  string `json:"comment,omitempty"` // what a person wrote
	Location string `json:"location,omitempty"`
	Incident int64  `json:"incident,omitempty"`
	Count    int    `json:"count,omitempty"`
	// Assignee is whose an incident is now, and Until the end of a snooze.
	Assignee string    `json:"assignee,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Incident is a bad axis that people are told of. At most one is open for a monitor
// and an axis.
type Incident struct {
	ID      int64 `json:"id"`
	Monitor int64 `json:"monitor,omitempty"` // 0 for System
	Axis    Axis  `json:"axis"`
	// Location is set for System.
	Location string `json:"location,omitempty"`
	// Key is what receivers know it by: it never changes.
	Key string `json:"key"`
	// State is the worst that the axis reached, Reason and Text the latest.
	State          string    `json:"state"`
	Reason         string    `json:"reason,omitempty"`
	Title          string    `json:"title"`
	Text           string    `json:"text"`
	Items          []string  `json:"items,omitempty"` // names and classes, at most 20
	OpenedAt       time.Time `json:"opened_at"`
	AcknowledgedAt time.Time `json:"acknowledged_at,omitzero"`
	AcknowledgedBy string    `json:"acknowledged_by,omitempty"`
	ResolvedAt     time.Time `json:"resolved_at,omitzero"`
	// Assignee is the name of the account that it is for, or empty.
	Assignee string `json:"assignee,omitempty"`
	// SnoozedUntil is until when nobody wants to hear of it, and SnoozedBy who said so.
	SnoozedUntil time.Time `json:"snoozed_until,omitzero"`
	SnoozedBy    string    `json:"snoozed_by,omitempty"`
	// Escalation is the name of its policy. Step and Round say how far it got.
	Escalation string `json:"escalation"`
	Step       int    `json:"step"`
	Round      int    `json:"round"`
	// Due is when Escalate has to look at it next; zero: not before it changes.
	Due time.Time `json:"due,omitzero"`
	// Held says why nobody is told for now: maintenance, expected-change, snoozed,
	// dependency:NAME, or empty.
	Held string `json:"held,omitempty"`
	// Told are the channels that were told that it is open, by name.
	Told []string `json:"told,omitempty"`
	// AcknowledgementTold: they were told of the acknowledgement too.
	AcknowledgementTold bool `json:"acknowledgement_told,omitempty"`
	// ResolutionTold: Escalate has seen that it is over.
	ResolutionTold bool `json:"resolution_told,omitempty"`
	// SteppedAt is when the last step was taken.
	SteppedAt time.Time `json:"stepped_at,omitzero"`
	// SeenAt is, of System, when checks could not be run last, or a little before.
	SeenAt time.Time `json:"seen_at,omitzero"`
	// Wave is how often the steps began anew, as it got worse after somebody had
	// acknowledged or snoozed it.
	Wave int `json:"wave,omitempty"`
}

// Open reports whether the incident is open.
func (i *Incident) Open() bool { return i.ResolvedAt.IsZero() }

// Phase says what a notification announces.
type Phase string

// The phases.
const (
	Triggered         Phase = "triggered"
	AcknowledgedPhase Phase = "acknowledged"
	Resolved          Phase = "resolved"
	TestPhase         Phase = "test"
)

// Notification is one message to one channel. Key is unique: the same key is the same
// message, however often it arrives.
type Notification struct {
	ID       int64     `json:"id"`
	Key      string    `json:"key"`
	Incident int64     `json:"incident"`
	Monitor  int64     `json:"monitor,omitempty"`
	Channel  string    `json:"channel"` // its name
	Phase    Phase     `json:"phase"`
	At       time.Time `json:"at"`
	// Snapshot is the incident as it was announced.
	Snapshot Incident `json:"snapshot"`
	// Status: pending, sent or failed.
	Status   string    `json:"status"`
	Attempts int       `json:"attempts"`
	SentAt   time.Time `json:"sent_at,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// The states of a notification.
const (
	Pending = "pending"
	Sent    = "sent"
	Failed  = "failed"
)

// Delivery is one attempt to deliver a notification.
type Delivery struct {
	Notification int64     `json:"notification"`
	Channel      string    `json:"channel"`
	Key          string    `json:"key"`
	Attempt      int       `json:"attempt"`
	At           time.Time `json:"at"`
	OK           bool      `json:"ok"`
	// Detail is what the receiver answered, or why it failed: safe to show, no secret.
	Detail     string  `json:"detail"`
	DurationMs float64 `json:"duration_ms"`
}

// Escalation is who is told of an incident, and when.
type Escalation struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	// On are the states that page. Empty: down, changed, inconsistent, flagged, blind.
	On    []string `json:"on,omitempty"`
	Steps []Step   `json:"steps"`
	// Repeat is how often the steps start over while nobody acknowledges.
	Repeat int `json:"repeat,omitempty"`
}

// Step is one step of an escalation: after Delay, since the step before, Channels are
// told. An acknowledged incident goes no further.
type Step struct {
	Delay    Duration `json:"delay" required:"false"`
	Channels []string `json:"channels" minItems:"1" nullable:"false"`
}

// WindowKind says what a window does.
type WindowKind string

// Maintenance leaves its time out of uptime and pages nobody about availability;
// ExpectedChange pages nobody about the surface. Neither approves anything.
const (
	Maintenance    WindowKind = "maintenance"
	ExpectedChange WindowKind = "expected-change"
)

// Window is a planned time. It repeats with Days, and is a single one with Start and End.
type Window struct {
	ID     int64      `json:"id"`
	Name   string     `json:"name"`
	Source Source     `json:"source"`
	Kind   WindowKind `json:"kind"`
	// Monitors and Tags and Groups say whom it concerns: any of them. All empty: every monitor.
	Monitors []string `json:"monitors,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	// Start and End are of a single window.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Days (mon, tue, …) with From and For (09:30, 2h) in Zone (Europe/Berlin) are of
	// a weekly one. Across a change of the clocks it starts at the time of day in Zone
	// and lasts For.
	Days []string `json:"days,omitempty"`
	From string   `json:"from,omitempty"`
	For  Duration `json:"for,omitempty"`
	Zone string   `json:"zone,omitempty"`
}

// Channel is where notifications go. Its settings are sealed in storage and never given
// out; Shown says where it goes, without secrets.
type Channel struct {
	ID        int64             `json:"id"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Source    Source            `json:"source"`
	Shown     string            `json:"shown,omitempty"`
	Settings  map[string]string `json:"-"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
}

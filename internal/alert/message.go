package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Limits of what a message says, in runes.
const (
	maxName  = 100
	maxTitle = 200
	maxText  = 500
	maxItem  = 160
	maxItems = 20
)

// Message is what one channel is told.
type Message struct {
	// Key is that of the notification: the same key is the same message.
	Key string
	// IncidentKey is what receivers know the incident by, in all its phases.
	IncidentKey string
	Phase       watch.Phase
	// At is when the notification was made.
	At       time.Time
	Incident watch.Incident
	// Monitor is the name of the monitor; empty for an incident of a location.
	Monitor string
	// Link leads a person to the incident, or is empty.
	Link string
}

// Of makes the message of a notification. The link is below publicURL, and empty
// without one.
func Of(n *watch.Notification, monitor, publicURL string) Message {
	m := Message{
		Key: n.Key, IncidentKey: n.Snapshot.Key, Phase: n.Phase, At: n.At,
		Incident: n.Snapshot, Monitor: monitor,
	}
	if publicURL != "" {
		m.Link = fmt.Sprintf("%s/incidents/%d", strings.TrimRight(publicURL, "/"), n.Incident)
	}
	return m
}

// Test makes a message that asks nobody to do anything, for the channel of this name.
func Test(channel, publicURL string, at time.Time) Message {
	key := fmt.Sprintf("test/%s/%d", channel, at.UnixMilli())
	return Message{
		Key: key, IncidentKey: key, Phase: watch.TestPhase, At: at, Link: publicURL,
		Incident: watch.Incident{
			Key: key, Title: "A message to try channel " + channel, OpenedAt: at,
			Text: "If you can read this, the channel works.",
		},
	}
}

// note is a message in words: every part is safe to show, on one line and bounded. It
// is not yet escaped for a receiver.
type note struct {
	Headline string
	Facts    []fact
	Items    []string
	Advice   string
	Link     string
}

type fact struct{ Label, Value string }

// note puts m into words.
func (m *Message) note() note {
	i := &m.Incident
	n := note{
		Headline: m.label() + ": " + m.title(),
		Advice:   m.advice(),
		Link:     m.link(),
	}
	add := func(label, value string, limit int) {
		if value != "" {
			n.Facts = append(n.Facts, fact{label, plain.Line(value, limit)})
		}
	}
	add("Monitor", m.Monitor, maxName)
	add("Location", i.Location, maxName)
	add("State", strings.TrimSpace(string(i.Axis)+" "+i.State), maxName)
	add("Reason", i.Reason, maxName)
	add("What", i.Text, maxText)
	add("Since", clock(i.OpenedAt), maxName)
	if m.Phase == watch.AcknowledgedPhase {
		add("Acknowledged", strings.TrimSpace(clock(i.AcknowledgedAt)+" by "+i.AcknowledgedBy), maxName)
	}
	if m.Phase == watch.Resolved {
		add("Resolved", clock(i.ResolvedAt)+after(i.OpenedAt, i.ResolvedAt), maxName)
	}
	n.Items = m.items()
	return n
}

// text is the note as lines of plain text.
func (n *note) text() string {
	var b strings.Builder
	b.WriteString(n.Headline + "\n\n")
	b.WriteString(n.details())
	return b.String()
}

// details is the text without its headline.
func (n *note) details() string {
	var b strings.Builder
	for _, f := range n.Facts {
		fmt.Fprintf(&b, "%s: %s\n", f.Label, f.Value)
	}
	if len(n.Items) > 0 {
		b.WriteString("Items:\n")
	}
	for _, item := range n.Items {
		fmt.Fprintf(&b, "  - %s\n", item)
	}
	if n.Advice != "" {
		fmt.Fprintf(&b, "\n%s\n", n.Advice)
	}
	if n.Link != "" {
		fmt.Fprintf(&b, "\n%s\n", n.Link)
	}
	return b.String()
}

// label is the word that a headline starts with.
func (m *Message) label() string {
	switch m.Phase {
	case watch.AcknowledgedPhase:
		return "ACKNOWLEDGED"
	case watch.Resolved:
		return "RESOLVED"
	case watch.TestPhase:
		return "TEST"
	case watch.Triggered:
	}
	if m.Incident.State == "" {
		return "ALERT"
	}
	return strings.ToUpper(plain.Line(m.Incident.State, maxName))
}

func (m *Message) title() string {
	title := m.Incident.Title
	if title == "" {
		title = strings.TrimSpace(m.Monitor + " " + m.Incident.State)
	}
	return plain.Line(title, maxTitle)
}

// items are at most maxItems; the last one says how many there are beside.
func (m *Message) items() []string {
	items := []string{}
	for at, item := range m.Incident.Items {
		if at == maxItems {
			return append(items, fmt.Sprintf("and %d more", len(m.Incident.Items)-at))
		}
		items = append(items, plain.Line(item, maxItem))
	}
	return items
}

// advice is what to do.
func (m *Message) advice() string {
	if m.Phase != watch.Triggered {
		return ""
	}
	switch m.Incident.State {
	case watch.Down:
		return "Look at the monitor's last check: it names the step that failed and what helps."
	case watch.Degraded:
		return "The server works, but is slower or smaller than its limits allow. Look at the monitor's last checks."
	case watch.Misconfigured:
		return "Correct the monitor's credential or settings; the server itself may be well."
	case watch.Changed:
		return "Review what changed before agents use it: accept it, or have the server put back what was approved."
	case watch.Inconsistent:
		return "The server answers differently from one check to the next. Compare its replicas and what is deployed on them."
	case watch.Flagged:
		return "Read the findings before agents use this server: accept them, or have them removed."
	case watch.Blind:
		return "Checks do not run here. Look at the network, the resolver and the limits of this location."
	}
	return ""
}

// link is m.Link, if it is one.
func (m *Message) link() string {
	u, err := url.Parse(m.Link)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(m.Link) > 2000 {
		return ""
	}
	return u.String()
}

// severity in the words of PagerDuty: critical, error, warning, info.
func (m *Message) severity() string {
	if m.Phase == watch.TestPhase {
		return "info"
	}
	switch m.Incident.State {
	case watch.Down:
		return "critical"
	case watch.Degraded:
		return "warning"
	}
	return "error"
}

// source is what the incident is about.
func (m *Message) source() string {
	switch {
	case m.Monitor != "":
		return plain.Line(m.Monitor, maxName)
	case m.Incident.Location != "":
		return plain.Line("location "+m.Incident.Location, maxName)
	}
	return "mcpvigil"
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func after(from, to time.Time) string {
	if from.IsZero() || to.Before(from) {
		return ""
	}
	return " after " + to.Sub(from).Round(time.Second).String()
}

// identifier gives key as receivers can take it, in a header too: visible ASCII of at
// most 200 bytes. Any other key becomes its hash.
func identifier(key string) string {
	fits := key != "" && len(key) <= 200
	for _, c := range []byte(key) {
		fits = fits && c > ' ' && c < 0x7f
	}
	if fits {
		return key
	}
	return "sha256-" + digest(key)
}

// digest is 32 hexadecimal digits that stand for key.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// cut gives s in at most limit runes.
func cut(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}

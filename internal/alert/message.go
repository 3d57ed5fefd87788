package alert

import (
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
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
func Of(_ *watch.Notification, _, _ string) Message { return Message{} }

// Test makes a message that asks nobody to do anything, for the channel of this name.
func Test(_, _ string, _ time.Time) Message { return Message{} }

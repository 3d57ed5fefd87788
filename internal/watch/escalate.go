package watch

import "time"

// Holds are why nobody is told for now.
type Holds struct {
	// Maintenance and ExpectedChange are until when such windows last; zero: none.
	Maintenance, ExpectedChange time.Time
	// Dependency is the name of a critical dependency that fails.
	Dependency string
}

// Escalate says who is to be told of an incident that is due.
func Escalate(i Incident, p *Escalation, h Holds, now time.Time) (Incident, []Notification) {
	return i, nil
}

// Acknowledge notes who looks after an incident.
func Acknowledge(i Incident, by string, now time.Time) (Incident, Event) { return i, Event{} }

// Validate says what is wrong with a policy. channels are the names of those there are.
func (e *Escalation) Validate(channels []string) []Problem { return nil }

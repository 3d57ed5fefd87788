package probe

// ReasonInfo explains one reason code.
type ReasonInfo struct {
	Reason Reason
	// Status is the verdict that goes with the reason; a note has
	// StatusHealthy.
	Status Status
	// Code is mcp-healthcheck's error code, or empty for a note.
	Code string
	// Text explains the reason in one line; Hint is what to do when the case
	// has no better advice of its own.
	Text, Hint string
}

// Reasons returns every reason code a report can carry, sorted.
func Reasons() []ReasonInfo { panic("later") }

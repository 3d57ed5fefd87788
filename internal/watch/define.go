package watch

import "time"

// Problem is one thing that is wrong with what a person wrote.
type Problem struct {
	// Field is its place, such as interval or steps[1].delay.
	Field string `json:"field"`
	// Text says what is wrong, Hint what to do; one line each.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Normalize fills in defaults.
func (d *Definition) Normalize() {}

// Validate says what is wrong with a definition from source.
func (d *Definition) Validate(source Source) []Problem { return nil }

// Loosens says what in a change of a monitor that has a baseline needs a proof.
func Loosens(before, after *Definition, headersChanged bool) []string { return nil }

// Offset is where in its interval a monitor is checked from a location.
func Offset(monitor int64, location string, interval time.Duration) time.Duration { return 0 }

// NextSlot is the first slot after a time.
func NextSlot(offset, interval time.Duration, after time.Time) time.Time {
	return after.Add(interval)
}

// Budget is how long a check may take.
func Budget(d *Definition, startup time.Duration) time.Duration {
	return time.Duration(d.Timeout) + startup + 5*time.Second
}

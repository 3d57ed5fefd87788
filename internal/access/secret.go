package access

import (
	"fmt"
	"log/slog"
)

const masked = "***"

// Secret holds a value that must not be shown; every way of printing it gives
// "***". The zero Secret is empty.
type Secret struct {
	// A pointer, so that printing a struct which holds a Secret in a field that
	// fmt cannot call methods on shows an address and not the value.
	value *string
}

// Hide makes a Secret of value. An empty value gives the zero Secret.
func Hide(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal returns the value, or "".
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether s is empty.
func (s Secret) IsZero() bool { return s.value == nil }

// String returns "***", or nothing for the zero Secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return masked
}

// Format prints as String does whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText returns "***": a Secret cannot be stored by accident.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns "***".
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

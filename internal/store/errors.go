package store

import (
	"errors"
	"fmt"
)

// ErrNotFound is the error for what is not stored.
var ErrNotFound = errors.New("not found")

// ErrConflict is the error of a change that was made to an older revision.
var ErrConflict = errors.New("it was changed by somebody else in the meantime: read it again")

// ErrBusy is the error for a check that is asked for while one is running.
var ErrBusy = errors.New("a check is running")

// ErrPaused is the error for a check that is asked for of a paused monitor.
var ErrPaused = errors.New("the monitor is paused")

// ErrIncidentOpen is the error for a second open incident of the same monitor and axis.
var ErrIncidentOpen = errors.New("an incident of this monitor and axis is open")

// ErrNoKey is the error for what needs an encryption key when there is none.
var ErrNoKey = errors.New("no encryption key is configured")

// ExistsError is the error for a value that something else has already. Its transaction
// cannot be committed any more.
type ExistsError struct {
	// Field is what has to be unique, such as name or external_id.
	Field string
}

// Error names the field.
func (e *ExistsError) Error() string { return "the " + e.Field + " is taken" }

// SchemaError is the error for a database whose schema this version cannot work with:
// that of a newer one or, where it must not be changed, of an older one.
type SchemaError struct {
	Have, Known int64
}

// Error says what to do.
func (e *SchemaError) Error() string {
	text := fmt.Sprintf("the database has schema %d and this version of mcpvigil knows %d: ", e.Have, e.Known)
	if e.Have < e.Known {
		return text + "start mcpvigil serve once, which brings it up to date"
	}
	return text + "run the newer version, or restore a backup from before it"
}

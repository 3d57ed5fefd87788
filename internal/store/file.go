package store

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// FileContent is what a configuration file owns. Sources and IDs in it do not matter.
type FileContent struct {
	// Name is that of the file, for events.
	Name        string
	Monitors    []watch.Monitor
	Channels    []watch.Channel
	Escalations []watch.Escalation
	Windows     []watch.Window
}

// FileChange says what ReplaceFile did: "monitor search", "channel pager", in order.
type FileChange struct {
	Created, Changed, Removed []string
}

// Empty reports whether nothing changed.
func (c *FileChange) Empty() bool {
	return len(c.Created) == 0 && len(c.Changed) == 0 && len(c.Removed) == 0
}

// OwnedError is the error for a name that belongs to the other source.
type OwnedError struct {
	Kind  string // monitor, channel, escalation or window
	Name  string
	Owner watch.Source
}

// Error says who owns it and what to do.
func (e *OwnedError) Error() string {
	if e.Owner == watch.FromAPI {
		return fmt.Sprintf("the %s %q was made through the API: rename it in the file, or delete it there first", e.Kind, e.Name)
	}
	return fmt.Sprintf("the %s %q belongs to the configuration file: change it there", e.Kind, e.Name)
}

// ReplaceFile makes what a file owns equal to content, and touches nothing that the API
// owns: a name that it owns is an *OwnedError, and nothing is changed then. Rows that
// are in both keep their ID, and without a change their revision and state.
func (t *Tx) ReplaceFile(ctx context.Context, content FileContent, now time.Time) (FileChange, error) {
	return FileChange{}, nil
}

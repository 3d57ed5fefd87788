package store

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PutWindow inserts a window with ID 0, and otherwise replaces the one with that ID. It
// sets ID. by is who did it.
func (t *Tx) PutWindow(ctx context.Context, w *watch.Window, by string) error { return nil }

// Window is one window, or ErrNotFound.
func (t *Tx) Window(ctx context.Context, id int64) (*watch.Window, error) { return nil, nil }

// Windows are all windows by name.
func (t *Tx) Windows(ctx context.Context) ([]watch.Window, error) { return nil, nil }

// DeleteWindow removes a window, or gives ErrNotFound.
func (t *Tx) DeleteWindow(ctx context.Context, id int64) error { return nil }

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PutWindow inserts a window with ID 0, and otherwise replaces the one with that ID. It
// sets ID. by is who did it. Errors: *ExistsError for the name, ErrNotFound, and
// *OwnedError when the stored one is of another source.
func (t *Tx) PutWindow(ctx context.Context, w *watch.Window, by string) error {
	if w.ID == 0 {
		return t.insertWindow(ctx, w, by)
	}
	before, err := t.Window(ctx, w.ID)
	if err != nil {
		return err
	}
	if before.Source != w.Source {
		return &OwnedError{Kind: "window", Name: before.Name, Owner: before.Source}
	}
	if err := t.nameFree(ctx, "windows", w.Name, w.ID); err != nil {
		return err
	}
	body, err := encode(w)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "update windows set name = $2, definition = $3, created_by = $4 where id = $1",
		w.ID, w.Name, body, by)
	if err != nil {
		return fmt.Errorf("change window %q: %w", w.Name, err)
	}
	return nil
}

func (t *Tx) insertWindow(ctx context.Context, w *watch.Window, by string) error {
	body, err := encode(w)
	if err != nil {
		return err
	}
	err = t.one(ctx, `insert into windows (name, source, definition, created_by) values ($1, $2, $3, $4)
		on conflict (name) do nothing returning id`,
		[]any{w.Name, string(w.Source), body, by}, &w.ID)
	if errors.Is(err, ErrNotFound) {
		return &ExistsError{Field: "name"}
	}
	if err != nil {
		return fmt.Errorf("store window %q: %w", w.Name, err)
	}
	return nil
}

func (t *Tx) windows(ctx context.Context, rest string, args ...any) ([]watch.Window, error) {
	var out []watch.Window
	err := t.each(ctx, "select id, name, source, definition from windows"+rest, args, func(rows *sql.Rows) error {
		var id int64
		var name, source, body string
		if err := rows.Scan(&id, &name, &source, &body); err != nil {
			return err
		}
		var w watch.Window
		if err := decode(body, &w); err != nil {
			return err
		}
		w.ID, w.Name, w.Source = id, name, watch.Source(source)
		out = append(out, w)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read windows: %w", err)
	}
	return out, nil
}

// Window is one window, or ErrNotFound.
func (t *Tx) Window(ctx context.Context, id int64) (*watch.Window, error) {
	return single(t.windows(ctx, " where id = $1", id))
}

// Windows are all windows by name.
func (t *Tx) Windows(ctx context.Context) ([]watch.Window, error) {
	return t.windows(ctx, " order by name")
}

// DeleteWindow removes a window, or gives ErrNotFound.
func (t *Tx) DeleteWindow(ctx context.Context, id int64) error {
	return t.remove(ctx, "window", "delete from windows where id = $1", id)
}

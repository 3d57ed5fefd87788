package store

import (
	"context"
	"errors"
	"fmt"
)

// Setting is a stored setting, empty when it was never set.
func (t *Tx) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := t.one(ctx, "select value from settings where name = $1", []any{name}, &value)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// SetSetting stores a setting; an empty value removes it.
func (t *Tx) SetSetting(ctx context.Context, name, value string) error {
	query, args := "insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
		[]any{name, value}
	if value == "" {
		query, args = "delete from settings where name = $1", args[:1]
	}
	if _, err := t.exec(ctx, query, args...); err != nil {
		return fmt.Errorf("store setting %s: %w", name, err)
	}
	return nil
}

package store

import "context"

// Setting is a stored setting; ok is false when there is none.
func (t *Tx) Setting(ctx context.Context, name string) (value string, ok bool, err error) {
	return "", false, nil
}

// SetSetting stores a setting.
func (t *Tx) SetSetting(ctx context.Context, name, value string) error { return nil }

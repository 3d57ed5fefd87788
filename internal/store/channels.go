package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// channelPlace is where the settings of a channel are sealed for.
func channelPlace(name string) string { return "channels/settings/" + name }

// sealSettings is settings as they are stored.
func (t *Tx) sealSettings(c *watch.Channel) ([]byte, error) {
	if t.store.sealer == nil {
		return nil, ErrNoKey
	}
	settings := c.Settings
	if settings == nil {
		settings = map[string]string{}
	}
	plain, err := encode(settings)
	if err != nil {
		return nil, err
	}
	sealed, err := t.store.sealer.Seal([]byte(plain), channelPlace(c.Name))
	if err != nil {
		return nil, fmt.Errorf("seal the settings of channel %q: %w", c.Name, err)
	}
	return sealed, nil
}

func (t *Tx) openSettings(name string, sealed []byte) (map[string]string, error) {
	if t.store.sealer == nil {
		return nil, ErrNoKey
	}
	plain, err := t.store.sealer.Open(sealed, channelPlace(name))
	if err != nil {
		return nil, fmt.Errorf("open the settings of channel %q: %w", name, err)
	}
	var settings map[string]string
	if err := decode(string(plain), &settings); err != nil {
		return nil, err
	}
	return settings, nil
}

// PutChannel inserts a channel with ID 0, and otherwise replaces the one with that ID,
// which keeps its CreatedAt. Nil Settings of a replaced one keep those that are stored.
// It sets ID. Errors: *ExistsError for the name, ErrNotFound, ErrNoKey, and
// *OwnedError when the stored one is of another source.
func (t *Tx) PutChannel(ctx context.Context, c *watch.Channel) error {
	if c.ID == 0 {
		return t.insertChannel(ctx, c)
	}
	before, err := t.Channel(ctx, c.ID)
	if err != nil {
		return err
	}
	if before.Source != c.Source {
		return &OwnedError{Kind: "channel", Name: before.Name, Owner: before.Source}
	}
	if err := t.nameFree(ctx, "channels", c.Name, c.ID); err != nil {
		return err
	}
	if c.Settings == nil {
		c.Settings = before.Settings
	}
	sealed, err := t.sealSettings(c)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `update channels set name = $2, type = $3, shown = $4, settings = $5, updated_at = $6
		where id = $1`, c.ID, c.Name, c.Type, c.Shown, sealed, ms(c.UpdatedAt))
	if err != nil {
		return fmt.Errorf("change channel %q: %w", c.Name, err)
	}
	return nil
}

func (t *Tx) insertChannel(ctx context.Context, c *watch.Channel) error {
	sealed, err := t.sealSettings(c)
	if err != nil {
		return err
	}
	err = t.one(ctx, `insert into channels (name, type, source, shown, settings, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (name) do nothing returning id`,
		[]any{c.Name, c.Type, string(c.Source), c.Shown, sealed, ms(c.CreatedAt), ms(c.UpdatedAt)}, &c.ID)
	if errors.Is(err, ErrNotFound) {
		return &ExistsError{Field: "name"}
	}
	if err != nil {
		return fmt.Errorf("store channel %q: %w", c.Name, err)
	}
	return nil
}

// nameFree is an *ExistsError when another row of table than id has the name.
func (t *Tx) nameFree(ctx context.Context, table, name string, id int64) error {
	var other int64
	err := t.one(ctx, "select id from "+table+" where name = $1 and id <> $2", []any{name, id}, &other)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the name %q: %w", name, err)
	}
	return &ExistsError{Field: "name"}
}

const channelColumns = "select id, name, type, source, shown, created_at, updated_at, settings from channels"

func (t *Tx) channels(ctx context.Context, rest string, args []any, open bool) ([]watch.Channel, error) {
	var out []watch.Channel
	err := t.each(ctx, channelColumns+rest, args, func(rows *sql.Rows) error {
		var c watch.Channel
		var created, updated int64
		var sealed []byte
		err := rows.Scan(&c.ID, &c.Name, &c.Type, &c.Source, &c.Shown, &created, &updated, &sealed)
		if err != nil {
			return err
		}
		c.CreatedAt, c.UpdatedAt = fromMs(created), fromMs(updated)
		if open {
			if c.Settings, err = t.openSettings(c.Name, sealed); err != nil {
				return err
			}
		}
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read channels: %w", err)
	}
	return out, nil
}

func single[T any](rows []T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return &rows[0], nil
}

// Channel is a channel with its settings. Errors: ErrNotFound, ErrNoKey.
func (t *Tx) Channel(ctx context.Context, id int64) (*watch.Channel, error) {
	return single(t.channels(ctx, " where id = $1", []any{id}, true))
}

// ChannelByName is a channel with its settings. Errors: ErrNotFound, ErrNoKey.
func (t *Tx) ChannelByName(ctx context.Context, name string) (*watch.Channel, error) {
	return single(t.channels(ctx, " where name = $1", []any{name}, true))
}

// Channels are all channels by name, without their settings.
func (t *Tx) Channels(ctx context.Context) ([]watch.Channel, error) {
	return t.channels(ctx, " order by name", nil, false)
}

// DeleteChannel removes a channel, or gives ErrNotFound.
func (t *Tx) DeleteChannel(ctx context.Context, id int64) error {
	return t.remove(ctx, "channel", "delete from channels where id = $1", id)
}

// remove runs a statement that has to touch a row.
func (t *Tx) remove(ctx context.Context, kind, query string, key any) error {
	n, err := t.exec(ctx, query, key)
	if err != nil {
		return fmt.Errorf("remove %s %v: %w", kind, key, err)
	}
	if n == 0 {
		return ErrNotFound
	}
	return nil
}

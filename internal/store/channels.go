package store

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PutChannel inserts a channel with ID 0, and otherwise replaces the one with that ID.
// Nil Settings of a replaced one keep those that are stored. It sets ID.
func (t *Tx) PutChannel(ctx context.Context, c *watch.Channel) error { return nil }

// Channel is a channel with its settings, or ErrNotFound.
func (t *Tx) Channel(ctx context.Context, id int64) (*watch.Channel, error) { return nil, nil }

// ChannelByName is a channel with its settings, or ErrNotFound.
func (t *Tx) ChannelByName(ctx context.Context, name string) (*watch.Channel, error) { return nil, nil }

// Channels are all channels by name, without their settings.
func (t *Tx) Channels(ctx context.Context) ([]watch.Channel, error) { return nil, nil }

// DeleteChannel removes a channel, or gives ErrNotFound.
func (t *Tx) DeleteChannel(ctx context.Context, id int64) error { return nil }

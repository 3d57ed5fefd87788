package ops

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/target"
)

// Export writes what was made through the API as a configuration file. Secrets are not
// in it: it refers to variables of the environment in their place.
func (o *Ops) Export(ctx context.Context, actor people.Actor) ([]byte, error) {
	if err := may(actor, people.Administer); err != nil {
		return nil, err
	}
	var e config.Exported
	err := o.view(ctx, "monitor", func(t *store.Tx) (err error) {
		e, err = Exported(ctx, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(e.Monitors) == 0 {
		return nil, refuse(NotFound, "", "no monitor was made through the API")
	}
	out, err := config.Export(e)
	if err != nil {
		return nil, refuse(Conflict, "", "%s", err.Error())
	}
	return out, nil
}

// Exported is what was made through the API, with references in place of secrets.
func Exported(ctx context.Context, t *store.Tx) (e config.Exported, err error) {
	monitors, err := t.AllMonitors(ctx)
	if err != nil {
		return e, err
	}
	for _, m := range monitors {
		if m.Source == watch.FromAPI {
			e.Monitors = append(e.Monitors, m)
		}
	}
	channels, err := t.Channels(ctx)
	if err != nil {
		return e, err
	}
	for _, c := range channels {
		if c.Source != watch.FromAPI {
			continue
		}
		full, err := t.Channel(ctx, c.ID)
		if err != nil {
			return e, err
		}
		e.Channels = append(e.Channels, exportedChannel(full))
	}
	escalations, err := t.Escalations(ctx)
	if err != nil {
		return e, err
	}
	for _, x := range escalations {
		if x.Source == watch.FromAPI {
			e.Escalations = append(e.Escalations, x)
		}
	}
	windows, err := t.Windows(ctx)
	for _, w := range windows {
		if w.Source == watch.FromAPI {
			e.Windows = append(e.Windows, w)
		}
	}
	return e, err
}

// exportedChannel is a channel with references in place of its secrets.
func exportedChannel(c *watch.Channel) config.Channel {
	out := config.Channel{Name: c.Name, Type: c.Type, Settings: map[string]config.Setting{}}
	open := map[string]bool{}
	for _, typ := range alert.Types() {
		for _, f := range typ.Fields {
			if typ.Name == c.Type && !f.Secret {
				open[f.Name] = true
			}
		}
	}
	for name, value := range c.Settings {
		if open[name] {
			out.Settings[name] = config.Setting{Text: value}
		} else {
			out.Settings[name] = config.Setting{Secret: target.Literal("of " + name)}
		}
	}
	return out
}

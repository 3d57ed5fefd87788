package ops

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

var errUnproven = errors.New("a person has to mean it")

// paging runs f, which changes who is told of what, in a transaction. f asks prove before
// it does what tells somebody less; it is run once more when there is a proof for that.
func (o *Ops) paging(ctx context.Context, actor people.Actor, p Proof, noun string,
	f func(t *store.Tx, prove func(items []string) error) error,
) error {
	var proven people.Proof
	for range 2 {
		st := people.Statement{Action: people.ActionPaging}
		err := o.change(ctx, noun, func(t *store.Tx) error {
			return f(t, func(items []string) error {
				if st.Items = items; len(items) == 0 || fits(proven, st) {
					return nil
				}
				return errUnproven
			})
		})
		if !errors.Is(err, errUnproven) {
			return err
		}
		if proven.Valid() {
			break
		}
		if proven, err = o.prove(ctx, actor, p, "to tell less ("+strings.Join(st.Items, ", ")+")", st); err != nil {
			return err
		}
	}
	return told(noun, store.ErrConflict)
}

// kept are the settings of a change: secrets of the same type that are left blank stay,
// unless the channel goes to another place: who can change where it goes must not have
// them sent there.
func kept(in ChannelInput, stored *watch.Channel) (out map[string]string, problems []watch.Problem) {
	out = map[string]string{}
	for name, value := range in.Settings {
		if value != "" {
			out[name] = value
		}
	}
	if stored.Type != in.Type {
		return out, nil
	}
	if url := stored.Settings["url"]; out["url"] == "" && secretSetting(in.Type, "url") && url != "" {
		out["url"] = url
	}
	moved := destination(out) != destination(stored.Settings)
	for name, value := range stored.Settings {
		if out[name] != "" || value == "" || !secretSetting(in.Type, name) {
			continue
		}
		if moved {
			problems = append(problems, watch.Problem{Field: "settings." + name, Text: "is missing", Hint: "the channel goes to another place now: give it again"})
			continue
		}
		out[name] = value
	}
	slices.SortFunc(problems, func(a, b watch.Problem) int { return strings.Compare(a.Field, b.Field) })
	return out, problems
}

func secretSetting(kind, name string) bool {
	for _, t := range alert.Types() {
		for _, f := range t.Fields {
			if t.Name == kind && f.Name == name {
				return f.Secret
			}
		}
	}
	return false
}

// destination is whom a channel with these settings hands its secrets to.
func destination(settings map[string]string) string {
	u, err := url.Parse(strings.TrimSpace(settings["url"]))
	if err != nil {
		return settings["url"]
	}
	return strings.ToLower(u.Scheme + "://" + u.Host + " " + strings.TrimSpace(settings["host"]) + " " + strings.TrimSpace(settings["port"]))
}

// diverts is what in a change of a channel has those not told whom a policy tells.
func diverts(ctx context.Context, t *store.Tx, stored *watch.Channel, kind string, settings map[string]string) ([]string, error) {
	if stored.ID == 0 || stored.Type == kind && maps.Equal(stored.Settings, settings) {
		return nil, nil
	}
	err := unused(ctx, t, stored.Name)
	if is(err, InUse) {
		return []string{"channel " + stored.Name}, nil
	}
	return nil, err
}

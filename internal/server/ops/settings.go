package ops

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// ChannelSettings are what a form to change a channel begins with.
type ChannelSettings struct {
	watch.Channel
	// Open are the settings that are no secrets; Kept are the names of the secrets that
	// are stored.
	Open map[string]string
	Kept []string
}

// ChannelSettings are those of a channel that are no secrets, for who may change them.
func (o *Ops) ChannelSettings(ctx context.Context, actor people.Actor, id int64) (ChannelSettings, error) {
	if err := may(actor, people.Administer); err != nil {
		return ChannelSettings{}, err
	}
	out := ChannelSettings{Open: map[string]string{}}
	err := o.view(ctx, "channel", func(t *store.Tx) error {
		c, err := t.Channel(ctx, id)
		if err != nil {
			return err
		}
		out.Channel = *c
		out.Settings = nil
		for name, value := range c.Settings {
			switch known, secret := setting(c.Type, name); {
			case known && !secret:
				out.Open[name] = value
			case value != "":
				out.Kept = append(out.Kept, name)
			}
		}
		slices.Sort(out.Kept)
		return nil
	})
	return out, err
}

// setting tells whether a type of channels has a setting, and whether it is a secret.
func setting(kind, name string) (known, secret bool) {
	for _, t := range alert.Types() {
		for _, f := range t.Fields {
			if t.Name == kind && f.Name == name {
				return true, f.Secret
			}
		}
	}
	return false, false
}

// Reach is whom policies and windows are for.
type Reach struct{ monitors []watch.Monitor }

// Reach reads which monitors there are.
func (o *Ops) Reach(ctx context.Context, actor people.Actor) (Reach, error) {
	if err := may(actor, people.Read); err != nil {
		return Reach{}, err
	}
	var out Reach
	err := o.view(ctx, "monitor", func(t *store.Tx) (err error) {
		out.monitors, err = t.AllMonitors(ctx)
		return err
	})
	return out, err
}

// Followers are the monitors that follow a policy. Those that name none follow the one
// called default.
func (r Reach) Followers(policy string) []watch.Monitor {
	return r.of(func(m *watch.Monitor) bool {
		name := m.Definition.Escalation
		return name == policy || name == "" && policy == watch.DefaultEscalation
	})
}

// Concerned are the monitors that a window is for.
func (r Reach) Concerned(w *watch.Window) []watch.Monitor { return r.of(w.Concerns) }

func (r Reach) of(is func(*watch.Monitor) bool) []watch.Monitor {
	var out []watch.Monitor
	for i := range r.monitors {
		if is(&r.monitors[i]) {
			out = append(out, r.monitors[i])
		}
	}
	return out
}

// Location is where checks run from, and how it does.
type Location struct {
	store.Location
	LagMs int64 `json:"lag_ms" doc:"How long the check waits that is due first."`
	// Incident is the open one of checks that do not run.
	Incident *watch.Incident `json:"incident,omitempty" doc:"The open incident of checks that do not run there."`
}

// Locations are all locations that monitors are checked from.
func (o *Ops) Locations(ctx context.Context, actor people.Actor) (Page[Location], error) {
	return list(ctx, o, actor, "location", func(t *store.Tx) ([]Location, string, error) {
		rows, err := t.Locations(ctx, o.now())
		if err != nil {
			return nil, "", err
		}
		var out []Location
		for _, row := range rows {
			l := Location{Location: row, LagMs: row.Lag.Milliseconds()}
			l.Incident, err = t.SystemIncident(ctx, row.Name)
			if err != nil {
				return nil, "", err
			}
			out = append(out, l)
		}
		return out, "", nil
	})
}

// Data is what is stored.
type Data struct {
	Database string            `json:"database" doc:"sqlite or postgres"`
	Bytes    int64             `json:"bytes"`
	Rows     []store.TableRows `json:"rows" nullable:"false"`
}

// countTo is where counting rows ends.
const countTo = 1_000_000

// Data tells how much is stored.
func (o *Ops) Data(ctx context.Context, actor people.Actor) (Data, error) {
	if err := may(actor, people.Read); err != nil {
		return Data{}, err
	}
	out := Data{Database: o.store.Dialect()}
	err := o.view(ctx, "database", func(t *store.Tx) error {
		stats, err := t.Stats(ctx, o.now())
		if err != nil {
			return err
		}
		out.Bytes = stats.Bytes
		out.Rows, err = t.TableRows(ctx, countTo)
		return err
	})
	return out, err
}

// Backup is a copy of the database. It has to be closed.
type Backup struct {
	io.ReadCloser
	Size int64
	At   time.Time
	end  func()
}

// Close removes the copy; after it, another may be made.
func (b *Backup) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// Backup makes a copy of a SQLite database, one at a time, for a person who administers
// and proves it. Secrets in it are sealed; the key is not in it.
func (o *Ops) Backup(ctx context.Context, actor people.Actor, p Proof) (*Backup, error) {
	if err := may(actor, people.Administer); err != nil {
		return nil, err
	}
	if o.store.Dialect() == store.Postgres {
		return nil, refuse(Conflict, "use pg_dump --format=custom, and pg_restore into an empty database", "a PostgreSQL database is not backed up from here")
	}
	if _, err := o.prove(ctx, actor, p, "a backup", people.Statement{Action: people.ActionBackup}); err != nil {
		return nil, err
	}
	if !o.copying.TryLock() {
		return nil, refuse(Busy, "wait until it was sent", "another backup is being made")
	}
	out, err := o.backup(ctx, actor)
	if err != nil {
		o.copying.Unlock()
		return nil, err
	}
	return out, nil
}

func (o *Ops) backup(ctx context.Context, actor people.Actor) (*Backup, error) {
	// It is noted before it is made: who has it, has it, also when noting it fails.
	err := o.change(ctx, "database", func(t *store.Tx) error { return o.audit(ctx, t, actor, "backup", "database", "") })
	if err != nil {
		return nil, err
	}
	made, err := o.store.Copy(ctx)
	if err != nil {
		return nil, err
	}
	info, err := made.Stat()
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return &Backup{ReadCloser: made, Size: info.Size(), At: o.now(), end: o.copying.Unlock}, nil
}

// FileName is what a browser calls the copy.
func (b *Backup) FileName() string { return "mcpvigil-" + b.At.Format("20060102-150405") + ".db" }

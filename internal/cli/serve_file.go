package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/target"
)

// fileLook is how often the files are looked at.
const fileLook = 5 * time.Second

// servedFile is the configuration file of a monitor: what it owns in the database, and
// the targets that the engine checks.
type servedFile struct {
	path  string // empty: there is none
	text  []byte // in place of a file, for the demo
	store *store.Store
	// single: no other process shares the database, so that what it owns of a file
	// which is gone is gone, too.
	single bool
	now    func() time.Time
	// current is what was applied last.
	current atomic.Pointer[config.File]
	// seen are the files as they were when they were applied, or refused.
	seen string
	// failed: the file was right, and could not be stored.
	failed bool
}

// target is that of the monitor called name, or nil.
func (f *servedFile) target(name string) *target.Target {
	if c := f.current.Load(); c != nil {
		return c.FileTarget(name)
	}
	return nil
}

// applied is what became different when the file was applied.
type applied struct {
	store.FileChange
	approved []string // monitors whose baseline is now that of the lockfile
}

// apply reads the file and makes the database equal to it. When there is a mistake in
// it, everything stays as it was.
func (f *servedFile) apply(ctx context.Context) (applied, error) {
	f.failed = false
	loaded, content, err := f.load(ctx)
	if err != nil {
		return applied{}, err
	}
	if loaded == nil && !f.single {
		return applied{}, nil // another process may have one
	}
	lockfile, err := readApproved(loaded)
	if err != nil {
		return applied{}, err
	}
	// The targets first: a check of a new one that is taken for the old definition is
	// dropped, an old one for the new definition would count.
	before := f.current.Swap(loaded)
	var change applied
	err = f.store.InTx(ctx, func(t *store.Tx) error {
		var err error
		if change.FileChange, err = t.ReplaceFile(ctx, content, f.now()); err != nil {
			return err
		}
		change.approved, err = f.approve(ctx, t, loaded, lockfile)
		return err
	})
	owned := (*store.OwnedError)(nil)
	f.failed = err != nil && !errors.As(err, &owned)
	if err != nil {
		f.current.Store(before)
		return applied{}, explainOwned(err)
	}
	return change, nil
}

func explainOwned(err error) error {
	if owned := (*store.OwnedError)(nil); errors.As(err, &owned) {
		return fmt.Errorf("configuration: %w", err)
	}
	return fmt.Errorf("store the configuration: %w", err)
}

// load reads the file as a monitor needs it.
func (f *servedFile) load(ctx context.Context) (*config.File, store.FileContent, error) {
	var loaded *config.File
	var err error
	switch {
	case f.text != nil:
		loaded, err = config.Parse("demo.yaml", f.text, config.Options{})
	case f.path != "":
		loaded, err = config.Load(f.path)
	default:
		return nil, store.FileContent{}, nil
	}
	if err == nil {
		err = loaded.Served()
	}
	if err == nil && f.single {
		err = onlyLocal(loaded)
	}
	if err != nil {
		return nil, store.FileContent{}, explainFile(f.path, err)
	}
	content := store.FileContent{Name: filepath.Base(loaded.Name), Escalations: loaded.Escalations, Windows: loaded.Windows}
	for i := range loaded.Monitors {
		m := &loaded.Monitors[i]
		content.Monitors = append(content.Monitors, watch.Monitor{Source: watch.FromFile, Definition: m.Definition(), Paused: m.Paused})
	}
	content.Channels, err = channelsOf(loaded, func(t alert.Field, s config.Setting) (string, error) { return valueOf(ctx, t, s) })
	return loaded, content, err
}

// onlyLocal refuses monitors that no process would check.
func onlyLocal(f *config.File) error {
	var wrong []config.Error
	for i := range f.Monitors {
		for _, l := range f.Monitors[i].Locations {
			if l != watch.DefaultLocation {
				wrong = append(wrong, f.Monitors[i].Wrong("nothing checks from the location "+l,
					"a database in a file has the location local only; use PostgreSQL and mcpvigil serve --location "+l))
			}
		}
	}
	if wrong == nil {
		return nil
	}
	return f.Refuse(wrong...)
}

// reveal gives the value of a setting that is a reference. The field is the zero one for
// a setting that the type does not have.
type reveal func(alert.Field, config.Setting) (string, error)

func valueOf(ctx context.Context, f alert.Field, s config.Setting) (string, error) {
	if f.Long {
		return s.Secret.RevealText(ctx)
	}
	return s.Secret.Reveal(ctx)
}

// exampleOf stands for a value where none is to be read.
func exampleOf(f alert.Field, _ config.Setting) (string, error) { return f.Example, nil }

// channelsOf reads the settings of channels, and refuses what their types do not take.
func channelsOf(f *config.File, read reveal) ([]watch.Channel, error) {
	types := map[string]alert.Type{}
	for _, t := range alert.Types() {
		types[t.Name] = t
	}
	var out []watch.Channel
	var wrong []config.Error
	for i := range f.Channels {
		c := &f.Channels[i]
		settings := map[string]string{}
		bad := false
		for name, s := range c.Settings {
			value, problem := settingOf(c, types[c.Type], name, s, read)
			if problem != nil {
				bad, wrong = true, append(wrong, *problem)
				continue
			}
			settings[name] = value
		}
		if !bad {
			for _, p := range alert.Validate(c.Type, settings) {
				wrong = append(wrong, c.Wrong(p.Field, p.Text, p.Hint))
			}
		}
		out = append(out, watch.Channel{Name: c.Name, Type: c.Type, Source: watch.FromFile, Settings: settings, Shown: alert.Shown(c.Type, settings)})
	}
	if wrong != nil {
		return nil, f.Refuse(wrong...)
	}
	return out, nil
}

func settingOf(c *config.Channel, t alert.Type, name string, s config.Setting, read reveal) (string, *config.Error) {
	var field alert.Field
	if i := slices.IndexFunc(t.Fields, func(f alert.Field) bool { return f.Name == name }); i >= 0 {
		field = t.Fields[i]
	}
	switch {
	case field.Secret && !s.Reference():
		e := c.Wrong(name, name+" is a secret, which is never written into this file", "write "+name+"_env: VARIABLE, "+name+"_file: PATH or "+name+"_command: [PROGRAM]")
		return "", &e
	case !s.Reference():
		return s.Text, nil
	}
	value, err := read(field, s)
	if err != nil {
		e := c.Wrong(name, name+" cannot be read: "+plain.Line(err.Error(), maxShown), "")
		return "", &e
	}
	return value, nil
}

// approvedFile is a lockfile with the sum of its bytes.
type approvedFile struct {
	*baseline.Lockfile
	path string
	sum  [sha256.Size]byte
}

// readApproved reads the lockfile that the configuration names; nil: it names none.
func readApproved(f *config.File) (*approvedFile, error) {
	if f == nil || f.Lockfile == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	data, err := readUpTo(f.Lockfile, baseline.MaxBytes)
	if err != nil {
		return nil, explainFile(f.Lockfile, err)
	}
	l, err := baseline.Read(data)
	if err != nil {
		return nil, hinted(fmt.Errorf("%s: %w", plain.Line(f.Lockfile, maxShown), err), "take the last good one from version control")
	}
	return &approvedFile{Lockfile: l, path: f.Lockfile, sum: sha256.Sum256(data)}, nil
}

func readUpTo(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case config.Pipe(path), !info.Mode().IsRegular():
		return nil, errors.New("not a file")
	case info.Size() > limit:
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return os.ReadFile(path)
}

// approve takes what the lockfile holds of the monitors of the file as approved, once:
// what a person accepted or withdrew since then stays when it is read again. It names
// the monitors that this concerned.
func (f *servedFile) approve(ctx context.Context, t *store.Tx, loaded *config.File, l *approvedFile) (names []string, err error) {
	if l == nil {
		return nil, nil
	}
	for _, tt := range loaded.Targets {
		b, err := l.Find(tt.Label(), baseline.BindingOf(tt, ""))
		if err != nil {
			continue // nothing, or something else, is approved of it
		}
		m, err := t.MonitorByName(ctx, tt.Name)
		if err != nil {
			return nil, err
		}
		fresh, err := f.approveOne(ctx, t, m, b, l)
		if err != nil {
			return nil, err
		}
		if fresh {
			names = append(names, tt.Name)
		}
	}
	return names, nil
}

// approveOne reports whether it was not applied before.
func (f *servedFile) approveOne(ctx context.Context, t *store.Tx, m *watch.Monitor, b *baseline.Baseline, l *approvedFile) (bool, error) {
	name := "lockfile/" + strconv.FormatInt(m.ID, 10)
	alone := baseline.Lockfile{Baselines: []*baseline.Baseline{b}}
	sum := sha256.Sum256(alone.Encode())
	applied, err := t.Setting(ctx, name)
	if err != nil {
		return false, err
	}
	var of string
	var revision int64
	// What was never applied does not scan.
	_, _ = fmt.Sscanf(applied, "%s %d", &of, &revision)
	if of == hex.EncodeToString(sum[:]) {
		stored, err := t.Approvals(ctx, m.ID, f.now(), false)
		if err != nil || revision == m.Revision || len(stored) > 0 {
			return false, err
		}
	}
	approval := watch.FromLockfile(m, b, l.path, l.sum, f.now())
	if _, err := t.Approve(ctx, approval, false); err != nil {
		return false, err
	}
	if err := t.InsertEvents(ctx, []watch.Event{approval.Event()}); err != nil {
		return false, err
	}
	return true, t.SetSetting(ctx, name, fmt.Sprintf("%x %d", sum, m.Revision))
}

// follow applies the file again when it or its lockfile changes, and for every value of
// hangups, until ctx ends. A file with mistakes is logged once; one that could not be
// stored is tried again.
func (f *servedFile) follow(ctx context.Context, hangups <-chan struct{}, log *slog.Logger) {
	if f.path == "" {
		return
	}
	ticker := time.NewTicker(fileLook)
	defer ticker.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			asked = true
		case <-ticker.C:
		}
		// Looked at before it is read: what changes meanwhile is read the next time.
		if f.changed() || asked || f.failed {
			f.reload(ctx, log)
		}
	}
}

func (f *servedFile) reload(ctx context.Context, log *slog.Logger) {
	again := f.failed
	change, err := f.apply(ctx)
	switch {
	case err != nil && ctx.Err() != nil, f.failed && again:
	case f.failed:
		log.ErrorContext(ctx, "the configuration could not be stored; it is tried again", "file", f.path, "error", err)
	case err != nil:
		log.ErrorContext(ctx, "the configuration has mistakes and was not applied; the one before stays", "file", f.path, "error", err)
	case change.Empty() && len(change.approved) == 0:
		log.InfoContext(ctx, "the configuration was read again, and nothing changed", "file", f.path)
	default:
		log.InfoContext(ctx, "the configuration was applied", "file", f.path, "created", some(change.Created), "changed", some(change.Changed), "removed", some(change.Removed), "approved_by_lockfile", some(change.approved))
	}
}

// some is a list for the log, which a file of thousands does not fill.
func some(names []string) []string {
	const most = 20
	if len(names) <= most {
		return names
	}
	return append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
}

// changed reports whether one of the files is another than when this was asked last.
func (f *servedFile) changed() bool {
	if f.path == "" {
		return false
	}
	files := []string{f.path}
	if c := f.current.Load(); c != nil && c.Lockfile != "" {
		files = append(files, c.Lockfile)
	}
	var now string
	for _, path := range files {
		// Kubernetes swaps a link on the way to a file.
		place, err := filepath.EvalSymlinks(path)
		var at time.Time
		var size int64
		if info, stat := os.Stat(path); stat == nil {
			at, size = info.ModTime(), info.Size()
		}
		now += fmt.Sprintf("%q %v %d %d\n", place, err, at.UnixNano(), size)
	}
	was := f.seen
	f.seen = now
	return was != now
}

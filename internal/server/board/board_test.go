package board_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

type world struct {
	*testing.T
	store *store.Store
	board *board.Board
	now   time.Time
}

func both(t *testing.T, f func(*world)) {
	for name, options := range map[string]func() store.Options{
		store.SQLite:   func() store.Options { return store.Options{Path: filepath.Join(t.TempDir(), "watch.db")} },
		store.Postgres: func() store.Options { return store.Options{URL: storetest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Sealer = seal.Generate()
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			w := &world{T: t, store: s, now: time.Now().UTC().Truncate(time.Millisecond)}
			w.board = board.New(board.Options{Store: s, Now: func() time.Time { return w.now }})
			f(w)
		})
	}
}

func (w *world) in(f func(context.Context, *store.Tx) error) {
	w.Helper()
	if err := w.store.InTx(w.Context(), func(t *store.Tx) error { return f(w.Context(), t) }); err != nil {
		w.Fatal(err)
	}
}

// insert makes monitors that were just made; edit may be nil.
func (w *world) insert(n int, edit func(int, *watch.Monitor)) []watch.Monitor {
	w.Helper()
	return storetest.Insert(w, w.store, n, func(i int, m *watch.Monitor) {
		m.CreatedAt, m.UpdatedAt = w.now, w.now
		if edit != nil {
			edit(i, m)
		}
	})
}

// save has a monitor stand as an observation of the status leaves it, with changes.
func (w *world) save(m *watch.Monitor, status string, change func(*watch.State)) {
	w.Helper()
	w.in(func(ctx context.Context, t *store.Tx) error {
		return t.SaveStates(ctx, []watch.State{stateOf(m, status, w.now, change)})
	})
}

// stateOf is what Decide says after as many results as are believed.
func stateOf(m *watch.Monitor, status string, now time.Time, change func(*watch.State)) watch.State {
	st := watch.State{Monitor: m.ID}
	for range 3 {
		o := &watch.Observation{Result: watch.Result{
			Monitor: m.ID, Slot: now, Started: now, Location: watch.DefaultLocation, Kind: watch.Manual, Status: status, Timing: watch.Timing{Total: 12.5},
		}, Revision: m.Revision}
		st = watch.Decide(m, st, nil, o, watch.Context{Now: now}).State
	}
	if change != nil {
		change(&st)
	}
	return st
}

func (w *world) refresh() {
	w.Helper()
	if err := w.board.Refresh(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) names(f board.Filter) (names []string) {
	w.Helper()
	w.refresh()
	for _, r := range w.board.List(f, 0, 1000).Rows {
		names = append(names, r.Name)
	}
	return names
}

func (w *world) want(f board.Filter, names ...string) {
	w.Helper()
	if got := w.names(f); !slices.Equal(got, names) {
		w.Errorf("%+v: %q, want %q", f, got, names)
	}
}

func TestOrderAndFilters(t *testing.T) {
	both(t, func(w *world) {
		names := []string{"zeta", "Beta", "alpha", "late", "down", "changed", "odd", "flagged", "paused"}
		ms := w.insert(len(names), func(i int, m *watch.Monitor) {
			m.Definition.Name, m.Definition.URL = names[i], "https://"+names[i]+".example/mcp"
			m.Definition.Tags, m.Definition.Group = []string{"tag-" + names[i], "all"}, map[bool]string{true: "first", false: "rest"}[i < 3]
			m.Paused = names[i] == "paused"
		})
		m := map[string]*watch.Monitor{}
		for i := range ms {
			m[names[i]] = &ms[i]
		}
		for _, name := range []string{"zeta", "alpha", "paused"} {
			w.save(m[name], "healthy", nil)
		}
		w.save(m["down"], "unhealthy", nil)
		w.save(m["changed"], "healthy", func(st *watch.State) { st.Surface.State, st.OpenChanges = watch.Changed, 2 })
		w.save(m["odd"], "misconfigured", nil)
		w.save(m["flagged"], "healthy", func(st *watch.State) { st.Posture.State, st.OpenFindings = watch.Flagged, 1 })
		w.save(m["late"], "healthy", func(st *watch.State) { st.LastCheck = w.now.Add(-time.Hour) })

		w.want(board.Filter{}, "down", "flagged", "changed", "odd", "late", "alpha", "Beta", "paused", "zeta")
		w.want(board.Filter{State: board.NeedsPerson}, "down", "flagged", "changed", "odd", "late")
		w.want(board.Filter{State: watch.Down}, "down")
		w.want(board.Filter{State: watch.Changed}, "changed")
		w.want(board.Filter{State: watch.Flagged}, "flagged")
		w.want(board.Filter{State: watch.Misconfigured}, "odd")
		w.want(board.Filter{State: board.PausedState}, "paused")
		w.want(board.Filter{State: board.StaleState}, "late")
		w.want(board.Filter{State: watch.Unknown}, "late", "Beta", "paused")
		w.want(board.Filter{Group: "first"}, "alpha", "Beta", "zeta")
		w.want(board.Filter{Tag: "tag-odd"}, "odd")
		w.want(board.Filter{Text: "BET"}, "Beta")
		w.want(board.Filter{Text: "FLAGGED.example/"}, "flagged")
		w.want(board.Filter{Text: "100%"})

		all := w.board.List(board.Filter{}, 2, 3)
		if len(all.Rows) != 3 || all.Rows[0].Name != "changed" || all.Total != 9 || all.Needs != 5 {
			t.Errorf("a part of it: %d rows from %q, of %d, %d of which need somebody", len(all.Rows), all.Rows[0].Name, all.Total, all.Needs)
		}
		for state, want := range map[string]int{board.NeedsPerson: 5, watch.Down: 1, watch.Unknown: 3, board.PausedState: 1, watch.Changed: 1} {
			if got := w.board.Count(board.Filter{State: watch.Up}).State[state]; got != want {
				t.Errorf("%d are %s, want %d", got, state, want)
			}
		}
		if r, ok := w.board.Row(m["changed"].ID); !ok || r.OpenChanges != 2 || r.Total != 12.5 || r.Need != board.ToReview {
			t.Errorf("the row is %+v", r)
		}
		if got := w.board.Groups(); !slices.Equal(got, []string{"first", "rest"}) || len(w.board.Tags()) != 10 {
			t.Errorf("groups %q, tags %q", got, w.board.Tags())
		}
		// A row says what is said everywhere.
		st := stateOf(m["down"], "unhealthy", w.now, nil)
		if r, _ := w.board.Row(m["down"].ID); r.View != watch.Current(m["down"], &st, w.now) {
			t.Errorf("%+v", r.View)
		}
	})
}

// TestWhatOthersStore: another process, here another connection, stores what it likes.
func TestWhatOthersStore(t *testing.T) {
	both(t, func(w *world) {
		ms := w.insert(3, nil)
		w.want(board.Filter{}, "monitor-0001", "monitor-0002", "monitor-0003")
		for i := range 3 { // in the same millisecond, perhaps
			w.save(&ms[0], "healthy", func(st *watch.State) { st.OpenChanges = i + 1 })
			w.refresh()
			if r, _ := w.board.Row(ms[0].ID); r.OpenChanges != i+1 {
				t.Fatalf("%d changes are open, want %d", r.OpenChanges, i+1)
			}
		}
		// One goes and one comes between two looks.
		w.in(func(ctx context.Context, t *store.Tx) error {
			if err := t.DeleteMonitor(ctx, ms[1].ID); err != nil {
				return err
			}
			m := storetest.NewMonitor("another")
			m.CreatedAt, m.UpdatedAt = w.now, w.now
			return t.InsertMonitor(ctx, &m)
		})
		w.want(board.Filter{State: watch.Unknown}, "another", "monitor-0003")
		// A clock that is an hour late makes a monitor, and changes it.
		late := storetest.NewMonitor("late")
		late.CreatedAt, late.UpdatedAt = w.now.Add(-time.Hour), w.now.Add(-time.Hour)
		w.in(func(ctx context.Context, t *store.Tx) error { return t.InsertMonitor(ctx, &late) })
		w.want(board.Filter{Text: "late"}, "late")
		late.Definition.Group = "moved"
		w.in(func(ctx context.Context, t *store.Tx) error { return t.UpdateMonitor(ctx, &late, late.Revision) })
		w.now = w.now.Add(2 * time.Minute)
		w.want(board.Filter{Group: "moved"}, "late")
		// One is paused.
		ms[0].Paused, ms[0].UpdatedAt = true, w.now
		w.in(func(ctx context.Context, t *store.Tx) error { return t.UpdateMonitor(ctx, &ms[0], ms[0].Revision) })
		w.want(board.Filter{State: board.PausedState}, "monitor-0001")
	})
}

func TestSubscribe(t *testing.T) {
	both(t, func(w *world) {
		ms := w.insert(1100, nil)
		w.refresh()
		one, all := w.board.Subscribe(board.Filter{Text: "Monitor-0007"}), w.board.Subscribe(board.Filter{})
		down := w.board.Subscribe(board.Filter{State: watch.Down})
		defer one.Close()
		defer all.Close()
		defer down.Close()
		told := func(s *board.Subscription) ([]int64, bool) {
			select {
			case <-s.Ready():
			default:
				return nil, false
			}
			return s.Take()
		}
		for range 3 {
			w.save(&ms[6], "healthy", nil)
			w.save(&ms[7], "healthy", nil)
			w.refresh()
		}
		if got, reload := told(one); !slices.Equal(got, []int64{ms[6].ID}) || reload {
			t.Errorf("of one: %v, %v", got, reload)
		}
		if got, reload := told(all); !slices.Equal(got, []int64{ms[6].ID, ms[7].ID}) || reload {
			t.Errorf("of all: %v, %v", got, reload)
		}
		if got, _ := told(down); got != nil {
			t.Errorf("none is down: %v", got)
		}
		w.save(&ms[6], "unhealthy", nil)
		w.refresh()
		if got, _ := told(down); !slices.Equal(got, []int64{ms[6].ID}) {
			t.Errorf("one went down: %v", got)
		}
		w.save(&ms[6], "healthy", nil)
		w.refresh()
		if got, _ := told(down); !slices.Equal(got, []int64{ms[6].ID}) {
			t.Errorf("one is down no more: %v", got)
		}
		told(all)
		// Nobody takes what is told.
		w.in(func(ctx context.Context, tx *store.Tx) error {
			var states []watch.State
			for i := range ms {
				states = append(states, stateOf(&ms[i], "healthy", w.now, nil))
			}
			return tx.SaveStates(ctx, states)
		})
		w.refresh()
		if got, reload := told(all); len(got) != 0 || !reload {
			t.Errorf("too many changes: %d, %v", len(got), reload)
		}
		told(one)
		// What is not checked any more becomes stale by itself.
		w.now = w.now.Add(time.Hour)
		w.refresh()
		if got, _ := told(one); !slices.Equal(got, []int64{ms[6].ID}) {
			t.Errorf("one became stale: %v", got)
		}
		w.in(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteMonitor(ctx, ms[6].ID) })
		w.refresh()
		if got, _ := told(one); !slices.Equal(got, []int64{ms[6].ID}) {
			t.Errorf("one was deleted: %v", got)
		}
	})
}

func TestSince(t *testing.T) {
	both(t, func(w *world) {
		ms := w.insert(3, nil)
		w.save(&ms[0], "healthy", nil)
		w.refresh()
		mark, ids := w.board.List(board.Filter{}, 0, 10).Mark, []int64{ms[0].ID, ms[1].ID, ms[2].ID}
		if got, next, ok := w.board.Since(mark, ids); len(got) != 0 || !ok || next != mark {
			t.Errorf("%v since just now, %v", got, ok)
		}
		w.save(&ms[1], "healthy", nil)
		w.in(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteMonitor(ctx, ms[2].ID) })
		w.refresh()
		got, next, ok := w.board.Since(mark, ids)
		if !slices.Equal(got, []int64{ms[1].ID, ms[2].ID}) || !ok {
			t.Errorf("%v since then, %v", got, ok)
		}
		w.now = w.now.Add(time.Hour)
		if got, _, _ := w.board.Since(next, ids[:2]); !slices.Equal(got, ids[:2]) {
			t.Errorf("%v became stale", got)
		}
		for _, other := range []string{"", "x", "other.1.1"} {
			if _, _, ok := w.board.Since(other, ids); ok {
				t.Errorf("%q is a mark", other)
			}
		}
	})
}

func TestRunEnds(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "watch.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := board.New(board.Options{Store: s})
	ctx, cancel := context.WithCancel(t.Context())
	go b.Run(ctx)
	m := storetest.NewMonitor("one")
	if err := s.InTx(ctx, func(t *store.Tx) error { return t.InsertMonitor(ctx, &m) }); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, ok := b.Row(m.ID); ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is not seen")
		}
	}
	cancel()
	select {
	case <-b.Done():
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

// fill is a board of 10,000 monitors that were checked, a tenth of which need somebody.
func fill(b *testing.B) (full *board.Board, megabytes float64) {
	s, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "watch.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	now := time.Now().UTC()
	ms := storetest.Insert(b, s, 10_000, func(i int, m *watch.Monitor) {
		m.Definition.Tags = []string{"prod", fmt.Sprintf("team-%d", i%50)}
		m.UpdatedAt = now
	})
	up, down := stateOf(&ms[0], "healthy", now, nil), stateOf(&ms[0], "unhealthy", now, nil)
	err = s.InTx(b.Context(), func(t *store.Tx) error {
		var states []watch.State
		for i := range ms {
			st := up
			if i%10 == 0 {
				st = down
			}
			st.Target = stateOf(&ms[i], "healthy", now, nil).Target
			st.Monitor = ms[i].ID
			states = append(states, st)
		}
		return t.SaveStates(b.Context(), states)
	})
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	out := board.New(board.Options{Store: s})
	if err := out.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return out, float64(after.HeapAlloc-before.HeapAlloc) / 1e6
}

// One operation is a page of 200 of 10,000 monitors.
func BenchmarkList(b *testing.B) {
	for name, f := range map[string]board.Filter{
		"all": {}, "text": {Text: "tor-77"}, "tag": {Tag: "team-7"}, "down": {State: watch.Down},
	} {
		b.Run(name, func(b *testing.B) {
			board, memory := fill(b)
			for b.Loop() {
				board.List(f, 0, 200)
			}
			b.ReportMetric(memory, "MB")
		})
	}
}

// One operation is a look at 10,000 monitors, none of which changed.
func BenchmarkRefresh(b *testing.B) {
	board, _ := fill(b)
	for b.Loop() {
		if err := board.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRefreshWaits: who waits for a refresh that does not end goes on when told to.
func TestRefreshWaits(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{URL: storetest.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := board.New(board.Options{Store: s})
	// Whoever reads the monitors waits for the transaction that holds the table.
	held, end := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 2)
	go func() {
		ended <- s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(t.Context(), "lock table monitors in access exclusive mode")
			close(held)
			<-end
			return err
		})
	}()
	<-held
	go func() { ended <- b.Refresh(t.Context()) }()
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := b.Refresh(ctx); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("it ended after %s: %v", time.Since(began), err)
	}
	if b.Age() < time.Minute {
		t.Errorf("what was never read is %s old", b.Age())
	}
	close(end)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := b.Refresh(t.Context()); err != nil || b.Age() > time.Minute {
		t.Errorf("it is %s old: %v", b.Age(), err)
	}
}

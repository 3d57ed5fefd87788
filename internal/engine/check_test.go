package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestChecks(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.after(time.Minute)
		st := b.state(id)
		if st.Availability.State != watch.Up || st.Surface.State != watch.AsApproved || st.Check != watch.CheckPass {
			t.Errorf("after the first check: %+v", st)
		}
		results := b.results(id)
		if len(results) != 1 || results[0].Status != "healthy" || results[0].Digest.IsZero() || *results[0].Tools != 1 {
			t.Errorf("results: %+v", results)
		}
		before := b.events(id)

		b.server.says("search", func() *probe.Report { return healthy("search", "fetch") })
		b.after(time.Minute)
		if st = b.state(id); st.Availability.State != watch.Up || st.Surface.State != watch.Changed {
			t.Errorf("after a tool was added: %+v", st)
		}
		if n := b.server.count("search"); n != 3 { // the first, the change, and a fresh listing
			t.Errorf("%d listings", n)
		}
		for range 3 {
			b.after(time.Minute)
		}
		if n := b.server.count("search"); n != 6 {
			t.Errorf("%d listings: a change that stands is listed once a check", n)
		}
		said := b.events(id)[len(before):]
		if diff := cmp.Diff([]string{"mcp_tool_added", watch.EventOpened}, said); diff != "" {
			t.Errorf("events of the change (-want +got):\n%s", diff)
		}

		b.server.says("search", func() *probe.Report { return healthy("search") })
		b.after(time.Minute)
		if st = b.state(id); st.Surface.State != watch.AsApproved || st.Surface.Incident != 0 {
			t.Errorf("after it was taken back: %+v", st)
		}
		if i := b.incidents(id); len(i) != 1 || i[0].Open() {
			t.Errorf("incidents: %+v", i)
		}
	})
}

func TestChangeThatStandsIsNotConfirmedAfterARestart(t *testing.T) {
	s := openStore(t, store.SQLite)
	b := newBench(t, s)
	id := b.add("search")
	b.after(time.Minute)
	b.server.says("search", func() *probe.Report { return healthy("search", "fetch") })
	b.after(time.Minute)
	n, events := b.server.count("search"), b.events(id)
	b.stop()
	b.run(b.o)
	b.after(time.Minute)
	if got := b.server.count("search") - n; got != 1 {
		t.Errorf("%d listings after the restart", got)
	}
	if diff := cmp.Diff(events, b.events(id)); diff != "" {
		t.Errorf("events after the restart (-before +after):\n%s", diff)
	}
	if st := b.state(id); st.Surface.State != watch.Changed || st.Surface.Incident == 0 {
		t.Errorf("state: %+v", st)
	}
}

func TestDuplicateIsDropped(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.after(time.Minute)
		events, results := b.events(id), b.results(id)
		m, err := b.roster.load(t.Context(), id, b.clock.now())
		if err != nil {
			t.Fatal(err)
		}
		o := &watch.Observation{Result: results[0], Revision: m.Revision, Approvals: m.Approvals}
		o.Status = "unhealthy"
		if err := b.sink.put(t.Context(), &item{o: o, m: m}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(results, b.results(id)); diff != "" {
			t.Errorf("results (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(events, b.events(id)); diff != "" {
			t.Errorf("events (-before +after):\n%s", diff)
		}
	})
}

// A row that cannot be stored keeps nothing else from being stored, leaves nothing of
// its own, and is stored by the next try.
func TestSinkIsAtomic(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		ids := b.addMany(20)
		bad := ids[7]
		refuse(t, s, bad)
		b.clock.add(time.Minute)
		if err := b.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.eventually("the others are stored", func() bool {
			n := 0
			for _, id := range ids {
				n += len(b.results(id))
			}
			return n == 19
		})
		b.eventually("the bad one was tried", func() bool { return b.Metrics().StoreFailures > 0 })
		if r := b.results(bad); len(r) != 0 {
			t.Errorf("results of what could not be stored: %+v", r)
		}
		if e := b.events(bad); len(e) != 0 {
			t.Errorf("events of what could not be stored: %q", e)
		}
		allow(t, s)
		b.eventually("it is stored by the next try", func() bool { return len(b.results(bad)) == 1 })
		if st := b.state(bad); st.Surface.State != watch.AsApproved {
			t.Errorf("state: %+v", st)
		}
		if diff := cmp.Diff(b.events(ids[0]), b.events(bad)); diff != "" {
			t.Errorf("events of a good and of the bad one:\n%s", diff)
		}
	})
}

// refuse has the database refuse states of a monitor, which are stored late.
func refuse(t *testing.T, s *store.Store, id int64) {
	t.Helper()
	statements := []string{`create trigger refuse before insert on states when new.monitor = ` + itoa(id) + ` begin select raise(abort, 'refused'); end`}
	if s.Dialect() == store.Postgres {
		statements = []string{
			`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
			`create trigger refuse before insert on states for each row when (new.monitor = ` + itoa(id) + `) execute function refuse()`,
		}
	}
	for _, statement := range statements {
		if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func allow(t *testing.T, s *store.Store) {
	t.Helper()
	statement := "drop trigger refuse"
	if s.Dialect() == store.Postgres {
		statement += " on states"
	}
	if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// hang has the checks of a monitor wait until release is called.
func (b *bench) hang(name string) (release func()) {
	free := make(chan struct{})
	b.server.on(name, func(ctx context.Context, _ *target.Target, _ probe.Options) *probe.Report {
		select {
		case <-free:
			return healthy("search")
		case <-ctx.Done():
			return failed(probe.StatusUnhealthy, "aborted")
		}
	})
	return func() { close(free) }
}

func TestSlowTargetDelaysNobodyAndDoesNotOverlap(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		slow, fast := b.add("slow"), b.add("fast")
		for i := range stdioWorkers + 1 {
			name := "stdio-" + itoa(int64(i))
			b.add(name, func(d *watch.Definition) { d.Transport = watch.Stdio })
			b.hang(name)
		}
		release := b.hang("slow")
		for i := range 3 {
			b.clock.add(time.Minute)
			if err := b.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.eventually("the fast one is checked", func() bool { return len(b.results(fast)) == i+1 })
		}
		if n := b.server.count("slow"); n != 1 {
			t.Errorf("the slow one was asked %d times while it had not answered", n)
		}
		release()
		b.eventually("the slow one is stored", func() bool { return len(b.results(slow)) == 1 })
		if err := b.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.eventually("the slow one runs again", func() bool { return len(b.results(slow)) == 2 })
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		if b.server.most["slow"] != 1 {
			t.Errorf("%d checks of it ran at the same time", b.server.most["slow"])
		}
	})
}

func TestMissedSlotsRunOnce(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.after(time.Minute)
		b.after(time.Hour)
		results := b.results(id)
		if len(results) != 2 {
			t.Fatalf("%d results after a pause of an hour", len(results))
		}
		if n := b.Metrics().Skipped; n != 59 {
			t.Errorf("%d slots count as such in which no check ran", n)
		}
		if late := b.clock.now().Sub(results[0].Slot); late < 0 || late >= time.Minute {
			t.Errorf("it ran in the slot of %s ago", late)
		}
		b.after(time.Minute)
		if n := len(b.results(id)); n != 3 {
			t.Errorf("%d results after the next slot", n)
		}
	})
}

func TestJobThatIsTooOldIsSkipped(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite), func(o *Options) { o.Workers = 1 })
	first, second := b.add("a"), b.add("b")
	release := []func(){b.hang("a"), b.hang("b")}
	b.clock.add(time.Minute)
	if err := b.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.eventually("one of them runs", func() bool { return b.server.count("a")+b.server.count("b") == 1 })
	b.clock.add(61 * time.Second)
	release[0]()
	release[1]()
	b.eventually("both are stored", func() bool { return len(b.results(first)) > 0 && len(b.results(second)) > 0 })
	earliest := func(id int64) string { r := b.results(id); return r[len(r)-1].Status }
	got := []string{earliest(first), earliest(second)}
	if diff := cmp.Diff([]string{"healthy", ""}, got); diff != "" && !cmp.Equal([]string{"", "healthy"}, got) {
		t.Errorf("statuses: %q", got)
	}
}

func TestFunctionalCallIsNotMadeTwice(t *testing.T) {
	calling := &target.Target{Name: "calls", Endpoint: "http://127.0.0.1:1/", Call: &target.Call{Tool: "ping", Safe: true}}
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s, func(o *Options) { o.FileTarget = func(string) *target.Target { return calling } })
		m := watch.Monitor{Source: watch.FromFile, Revision: 1, Definition: definition("calls"), CreatedAt: b.clock.now()}
		b.tx(func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) })
		b.hang("calls")
		b.clock.add(time.Minute)
		if err := b.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.eventually("it runs", func() bool { return b.server.count("calls") == 1 })
		b.stop()
		if r := b.results(m.ID); len(r) != 0 {
			t.Errorf("an interrupted check left %+v", r)
		}
		b.run(b.o)
		b.eventually("the other attempt is stored", func() bool { return len(b.results(m.ID)) == 1 })
		if r := b.results(m.ID)[0]; r.Status != "unknown" || r.Reason != "call-interrupted" {
			t.Errorf("result: %+v", r)
		}
		if n := b.server.count("calls"); n != 1 {
			t.Errorf("it was checked %d times", n)
		}
	})
}

func TestStopInTheMiddle(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.hang("search")
		b.clock.add(time.Minute)
		if err := b.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.eventually("it runs", func() bool { return b.server.count("search") == 1 })
		b.stop()
		if r := b.results(id); len(r) != 0 {
			t.Errorf("an interrupted check left %+v", r)
		}
		b.server.says("search", func() *probe.Report { return healthy("search") })
		b.run(b.o)
		b.eventually("it is run again", func() bool { return len(b.results(id)) == 1 })
		if r := b.results(id)[0]; r.Status != "healthy" {
			t.Errorf("result: %+v", r)
		}
	})
}

// A failed call is not made again to confirm the failure: the next slot does.
func TestFunctionalCallIsNotMadeToConfirm(t *testing.T) {
	calling := &target.Target{Name: "calls", Endpoint: "http://127.0.0.1:1/", Call: &target.Call{Tool: "ping", Safe: true}}
	b := newBench(t, openStore(t, store.SQLite), func(o *Options) { o.FileTarget = func(string) *target.Target { return calling } })
	m := watch.Monitor{Source: watch.FromFile, Revision: 1, Definition: definition("calls"), CreatedAt: b.clock.now()}
	b.tx(func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) })
	b.server.says("calls", sayDown)
	b.after(time.Minute)
	for range 4 {
		b.after(10 * time.Second)
	}
	if results := b.results(m.ID); len(results) > 2 || results[0].Kind != watch.Scheduled {
		t.Errorf("%d results, the last %+v", len(results), results[0])
	}
	for range 3 {
		b.after(time.Minute)
	}
	if st := b.state(m.ID); st.Availability.State != watch.Down {
		t.Errorf("state: %+v", st.Availability)
	}
	for _, o := range []struct {
		kind     watch.Kind
		location string
		want     bool
	}{{watch.Scheduled, "a", true}, {watch.Scheduled, "b", false}, {watch.Manual, "a", true}, {watch.Confirm, "a", false}} {
		e := &entry{Monitor: watch.Monitor{Definition: watch.Definition{Locations: []string{"a", "b"}}}}
		if got := mayCall(&watch.Observation{Result: watch.Result{Kind: o.kind, Location: o.location}}, e); got != o.want {
			t.Errorf("%s at %s may call: %t", o.kind, o.location, got)
		}
	}
}

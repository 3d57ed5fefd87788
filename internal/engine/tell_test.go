package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// receiver is a web hook that takes what it is sent, after it failed some times.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	failures int
	keys     []string
	bodies   []string
}

func newReceiver(t *testing.T, failures int) *receiver {
	r := &receiver{failures: failures}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.keys = append(r.keys, q.Header.Get("Webhook-Id"))
		r.bodies = append(r.bodies, string(body))
		if r.failures > 0 {
			r.failures--
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.keys...)
}

// tells makes a channel of each receiver, by name, and a default policy of steps.
func (b *bench) tells(receivers map[string]*receiver, steps ...watch.Step) {
	b.t.Helper()
	b.tx(func(tx *store.Tx) error {
		for name, r := range receivers {
			c := watch.Channel{Name: name, Type: "webhook", Source: watch.FromFile, Settings: map[string]string{"url": r.URL}, CreatedAt: b.clock.now(), UpdatedAt: b.clock.now()}
			if err := tx.PutChannel(b.t.Context(), &c); err != nil {
				return err
			}
		}
		return tx.PutEscalation(b.t.Context(), &watch.Escalation{Name: watch.DefaultEscalation, Source: watch.FromAPI, Steps: steps})
	})
}

func sayDown() *probe.Report { return down() }

func TestDeliveryIsTriedAgainUnderTheSameKey(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		r := newReceiver(t, 1)
		b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
		b.add("search")
		b.server.says("search", sayDown)
		for range 3 {
			b.after(time.Minute)
		}
		b.eventually("it is sent", func() bool { n := b.notifications(); return len(n) == 1 && n[0].Status == watch.Sent })
		keys := r.got()
		n := b.notifications()[0]
		if len(keys) != 2 || keys[0] != keys[1] || n.Attempts != 2 {
			t.Errorf("keys %q, notification %+v", keys, n)
		}
		b.view(func(tx *store.Tx) error {
			d, _, err := tx.Deliveries(t.Context(), "hook", 0, 10)
			if len(d) != 2 || !d[0].OK || d[1].OK {
				t.Errorf("deliveries: %+v", d)
			}
			return err
		})
	})
}

func TestEscalationSteps(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		first, second := newReceiver(t, 0), newReceiver(t, 0)
		b.tells(map[string]*receiver{"first": first, "second": second},
			watch.Step{Channels: []string{"first"}}, watch.Step{Delay: watch.Duration(15 * time.Minute), Channels: []string{"second"}})
		id := b.add("search")
		b.server.says("search", sayDown)
		for range 3 {
			b.after(time.Minute)
		}
		if a, c := len(first.got()), len(second.got()); a != 1 || c != 0 {
			t.Fatalf("at first %d and %d messages", a, c)
		}
		for range 15 {
			b.after(time.Minute)
		}
		if a, c := len(first.got()), len(second.got()); a != 1 || c != 1 {
			t.Fatalf("after a quarter of an hour %d and %d messages", a, c)
		}
		b.server.says("search", func() *probe.Report { return healthy("search") })
		b.after(time.Minute)
		if a, c := len(first.got()), len(second.got()); a != 2 || c != 2 {
			t.Errorf("after the end %d and %d messages", a, c)
		}
		for range 3 {
			b.after(time.Minute)
		}
		if n := b.notifications(); len(n) != 4 {
			t.Errorf("%d notifications", len(n))
		}
		if i := b.incidents(id); len(i) != 1 || i[0].Open() {
			t.Errorf("incidents: %+v", i)
		}
	})
}

func TestMaintenanceHoldsBack(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite))
	r := newReceiver(t, 0)
	b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
	id := b.add("search")
	now := b.clock.now()
	b.tx(func(tx *store.Tx) error {
		w := watch.Window{Name: "work", Source: watch.FromAPI, Kind: watch.Maintenance, Start: now, End: now.Add(10 * time.Minute)}
		return tx.PutWindow(t.Context(), &w, "user:ann")
	})
	b.server.says("search", sayDown)
	for range 5 {
		b.after(time.Minute)
	}
	if n := len(r.got()); n != 0 {
		t.Errorf("%d messages in a maintenance window", n)
	}
	if results := b.results(id); len(results) == 0 || !results[0].Maintenance {
		t.Errorf("results: %+v", results)
	}
	for range 6 {
		b.after(time.Minute)
	}
	if n := len(r.got()); n != 1 {
		t.Errorf("%d messages after it", n)
	}
}

func TestBlindLocationTellsOnce(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		r := newReceiver(t, 0)
		b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
		ids := b.addMany(30)
		b.after(time.Minute)
		for _, id := range ids {
			b.server.says("m"+itoa(id-ids[0]), func() *probe.Report { return failed(probe.StatusUnknown, "network-unreachable") })
		}
		for range 4 {
			b.after(time.Minute)
		}
		open := 0
		var system watch.Incident
		for _, i := range b.incidents(0) {
			if i.Open() {
				open++
				system = i
			}
		}
		if open != 1 || system.Axis != watch.System || system.State != watch.Blind {
			t.Fatalf("%d open incidents, the last %+v", open, system)
		}
		if n := len(r.got()); n != 1 {
			t.Errorf("%d messages", n)
		}
		for _, id := range ids {
			b.server.says("m"+itoa(id-ids[0]), func() *probe.Report { return healthy("search") })
		}
		for range 2 {
			b.after(time.Minute)
		}
		if n := len(r.got()); n != 2 {
			t.Errorf("%d messages in the end", n)
		}
		var names []string
		for _, name := range b.events(0) {
			if name == watch.EventBlind || name == watch.EventSighted {
				names = append(names, name)
			}
		}
		if diff := cmp.Diff([]string{watch.EventBlind, watch.EventSighted}, names); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// The end of an incident is not told before its beginning, which would open it again.
func TestNotificationsKeepTheirOrder(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite))
	r := newReceiver(t, 1)
	b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
	b.add("search")
	b.server.says("search", sayDown)
	for range 2 {
		b.after(time.Minute)
	}
	b.server.says("search", func() *probe.Report { return healthy("search") })
	b.after(time.Minute) // while the first message waits for its second try
	b.eventually("both are sent", func() bool {
		n := b.notifications()
		return len(n) == 2 && n[0].Status == watch.Sent && n[1].Status == watch.Sent
	})
	n, keys := b.notifications(), r.got() // the latest first
	if want := []string{n[1].Key, n[1].Key, n[0].Key}; !cmp.Equal(want, keys) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

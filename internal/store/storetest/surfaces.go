package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

func surfaceTests() []test {
	return []test{
		{"a surface is stored once", storedSurface},
		{"sightings of one surface are one", longerSightings},
		{"an approval is what was approved", storedApproval},
		{"an approval ends the others, or keeps them", endedApprovals},
		{"approvals end with their time", expiredApprovals},
	}
}

// sample is a surface with one tool.
func sample(tool string) *surface.Surface {
	listed := surface.List{Listed: true}
	tools := listed
	tools.Entries = []json.RawMessage{json.RawMessage(`{"name":"` + tool + `","description":"ü\n","inputSchema":{"type":"object"}}`)}
	return surface.New(surface.Input{
		Opening:  json.RawMessage(`{"serverInfo":{"name":"server","version":"1"},"capabilities":{"tools":{}}}`),
		Protocol: "2025-11-25", Tools: tools, Resources: listed, ResourceTemplates: listed, Prompts: listed,
	})
}

func approval(m *watch.Monitor, s *surface.Surface, at time.Time) watch.Approval {
	return watch.First(m, baseline.Binding{Endpoint: m.Definition.URL}, s, at)
}

func storedSurface(t *testing.T, s *store.Store) {
	one := sample("one")
	for range 2 {
		in(t, s, func(tx *store.Tx) error { return tx.PutSurface(t.Context(), one) })
	}
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Surface(t.Context(), one.Digest())
		if err == nil && (got.Digest() != one.Digest() || len(surface.Compare(one, got, surface.CompareOptions{})) != 0) {
			t.Error("another surface is read than was stored")
		}
		if _, err := tx.Surface(t.Context(), surface.Digest{1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a surface that was never seen: got error %v", err)
		}
		return err
	})
}

func longerSightings(t *testing.T, s *store.Store) {
	Insert(t, s, 2, nil)
	a, b := surface.Digest{1}, surface.Digest{2}
	at := func(minute int) time.Time { return epoch().Add(time.Duration(minute) * time.Minute) }
	saw := func(monitor int64, location string, d surface.Digest, minute int) store.Sighting {
		return store.Sighting{Monitor: monitor, Location: location, Digest: d, At: at(minute)}
	}
	for _, sightings := range [][]store.Sighting{
		{saw(1, "local", a, 0), saw(2, "local", b, 0), saw(1, "paris", b, 1)},
		{saw(1, "local", a, 5), saw(1, "local", a, 3)},                        // longer, in any order
		{saw(1, "local", b, 7), saw(1, "local", a, 6), saw(1, "local", b, 8)}, // changed within one call
		{saw(1, "local", a, 9), saw(1, "local", a, 10)},                       // and back
	} {
		in(t, s, func(tx *store.Tx) error { return tx.Saw(t.Context(), sightings) })
	}
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Sightings(t.Context(), 1)
		want := []store.Seen{
			{Sighting: saw(1, "local", a, 9), Until: at(10)},
			{Sighting: saw(1, "local", b, 7), Until: at(8)},
			{Sighting: saw(1, "paris", b, 1), Until: at(1)},
			{Sighting: saw(1, "local", a, 0), Until: at(6)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for minute, want := range map[int]surface.Digest{0: a, 1: b, 6: b, 7: b, 8: b, 9: a, 100: a} {
			if got, err := tx.SurfaceAt(t.Context(), 1, at(minute)); err != nil || got != want {
				t.Errorf("minute %d: got %v, error %v", minute, got, err)
			}
		}
		if got, err := tx.SurfaceAt(t.Context(), 1, at(-1)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("before the first: got %v, error %v", got, err)
		}
		return err
	})
}

func approvalsOf(t *testing.T, s *store.Store, m *watch.Monitor, now time.Time, load bool) []watch.Approved {
	t.Helper()
	var out []watch.Approved
	view(t, s, func(tx *store.Tx) (err error) {
		out, err = tx.Approvals(t.Context(), m.ID, now, load)
		return err
	})
	return out
}

func approvalCount(t *testing.T, s *store.Store, id int64) int64 {
	t.Helper()
	var n int64
	view(t, s, func(tx *store.Tx) error {
		m, err := tx.Monitor(t.Context(), id)
		if err == nil {
			n = m.Approvals
		}
		return err
	})
	return n
}

func storedApproval(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, nil)[0]
	seen := sample("one")
	var id int64
	in(t, s, func(tx *store.Tx) (err error) {
		if _, err := tx.Approve(t.Context(), watch.Approval{}, false); err == nil {
			t.Error("an approval of nothing was stored")
		}
		gone := m
		gone.ID++
		if _, err := tx.Approve(t.Context(), approval(&gone, seen, epoch()), false); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of no monitor: got error %v", err)
		}
		id, err = tx.Approve(t.Context(), approval(&m, seen, epoch()), false)
		return err
	})
	got := approvalsOf(t, s, &m, epoch(), true)
	if len(got) != 1 || got[0].Baseline == nil || got[0].Baseline.Surface.Digest() != seen.Digest() ||
		got[0].Baseline.Binding.Endpoint != m.Definition.URL {
		t.Fatalf("got %+v", got)
	}
	view(t, s, func(tx *store.Tx) error {
		read, err := tx.Baselines(t.Context(), []int64{id, id + 1})
		if len(read) != 1 || read[id] == nil || read[id].Surface.Digest() != seen.Digest() {
			t.Errorf("the baselines are %v", read)
		}
		return err
	})
	got[0].Baseline = nil
	want := []watch.Approved{{
		ID: id, Monitor: m.ID, Source: watch.ApprovedFirst, Approver: approval(&m, seen, epoch()).Approver(), Digest: seen.Digest(), CreatedAt: epoch(),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, approvalsOf(t, s, &m, epoch(), false)); diff != "" {
		t.Errorf("not loaded (-want +got)\n%s", diff)
	}
	if n := approvalCount(t, s, m.ID); n != 1 {
		t.Errorf("the monitor counts %d changes of what is approved", n)
	}
	view(t, s, func(tx *store.Tx) error {
		_, err := tx.Surface(t.Context(), seen.Digest())
		return err
	})
}

func endedApprovals(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, nil)[0]
	a, b, c := sample("a"), sample("b"), sample("c")
	digests := func() []surface.Digest {
		var out []surface.Digest
		for _, x := range approvalsOf(t, s, &m, epoch(), false) {
			out = append(out, x.Digest)
		}
		return out
	}
	for i, step := range []struct {
		s    *surface.Surface
		keep bool
		want []surface.Digest
	}{
		{a, false, []surface.Digest{a.Digest()}},
		{b, true, []surface.Digest{b.Digest(), a.Digest()}},
		{c, false, []surface.Digest{c.Digest()}},
		{a, true, []surface.Digest{a.Digest(), c.Digest()}},
	} {
		in(t, s, func(tx *store.Tx) error {
			_, err := tx.Approve(t.Context(), approval(&m, step.s, epoch()), step.keep)
			return err
		})
		if diff := cmp.Diff(step.want, digests()); diff != "" {
			t.Errorf("step %d (-want +got)\n%s", i, diff)
		}
	}
	for range 2 { // the second time there is nothing to end
		in(t, s, func(tx *store.Tx) error { return tx.EndApprovals(t.Context(), m.ID, "user:ann", epoch()) })
	}
	if got, n := digests(), approvalCount(t, s, m.ID); got != nil || n != 5 {
		t.Errorf("still approved: %v, %d changes", got, n)
	}
}

func expiredApprovals(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, nil)[0]
	now := epoch().Add(time.Hour)
	in(t, s, func(tx *store.Tx) error {
		for _, name := range []string{"a", "b", "c"} {
			if _, err := tx.Approve(t.Context(), approval(&m, sample(name), epoch()), true); err != nil {
				return err
			}
		}
		_, err := tx.SQL().ExecContext(t.Context(), "update approvals set expires_at = $1 where digest = $2", now.UnixMilli(), sample("a").Digest().String())
		_, err2 := tx.SQL().ExecContext(t.Context(), "update approvals set expires_at = $1 where digest = $2", now.UnixMilli()+1, sample("b").Digest().String())
		return errors.Join(err, err2)
	})
	if got := approvalsOf(t, s, &m, now.Add(-time.Millisecond), false); len(got) != 3 {
		t.Errorf("%d approvals before", len(got))
	}
	if got := approvalsOf(t, s, &m, now, false); len(got) != 2 {
		t.Errorf("%d approvals then", len(got))
	}
	for _, want := range []int{1, 0} {
		in(t, s, func(tx *store.Tx) error {
			got, err := tx.ExpireApprovals(t.Context(), now)
			if len(got) != want || want == 1 && (got[0].Digest != sample("a").Digest() || !got[0].ExpiresAt.Equal(now)) {
				t.Errorf("expired: %+v, want %d", got, want)
			}
			return err
		})
	}
	if n := approvalCount(t, s, m.ID); n != 4 {
		t.Errorf("%d changes of what is approved", n)
	}
}

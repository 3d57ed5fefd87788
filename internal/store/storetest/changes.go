package storetest

import (
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func changeTests() []test {
	return []test{{"what was stored again has other marks", changedMarks}}
}

func changedMarks(t *testing.T, s *store.Store) {
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	monitors := Insert(t, s, 3, func(_ int, m *watch.Monitor) { m.UpdatedAt = now.Add(-time.Hour) })
	old, seen, gone := monitors[0].ID, &monitors[1], monitors[2].ID
	save := func() {
		in(t, s, func(tx *store.Tx) error {
			states, err := tx.States(ctx, []int64{seen.ID}, true)
			if err != nil {
				return err
			}
			st := states[seen.ID]
			st.Monitor, st.LastCheck = seen.ID, now
			return tx.SaveStates(ctx, []watch.State{st})
		})
	}
	marks := func(all bool) (m store.Marks) {
		view(t, s, func(tx *store.Tx) (err error) {
			m, err = tx.Changes(ctx, all)
			return err
		})
		return m
	}
	if lately := marks(false); len(lately.Revisions) != 0 || len(lately.Saved) != 0 || lately.Monitors != 3 {
		t.Errorf("nothing was stored lately: %+v", lately)
	}
	save()
	before := marks(false).Saved[seen.ID]
	if at := time.UnixMilli(before); time.Since(at).Abs() > time.Minute {
		t.Errorf("the mark is of %s", at)
	}
	for range 5 { // within a millisecond, perhaps
		save()
		if after := marks(false).Saved[seen.ID]; after <= before {
			t.Fatalf("the mark is %d after %d", after, before)
		} else {
			before = after
		}
	}
	in(t, s, func(tx *store.Tx) error {
		seen.Definition.Group, seen.UpdatedAt = "other", now
		if err := tx.DeleteMonitor(ctx, gone); err != nil {
			return err
		}
		return tx.UpdateMonitor(ctx, seen, seen.Revision)
	})
	if m := marks(false); len(m.Revisions) != 1 || m.Revisions[seen.ID] != 2 || m.Monitors != 2 {
		t.Errorf("one was edited, one deleted: %+v", m)
	}
	if m := marks(true); len(m.Revisions) != 2 || m.Revisions[old] != 1 || len(m.Saved) != 1 || m.Monitors != 2 {
		t.Errorf("all: %+v", m)
	}
	view(t, s, func(tx *store.Tx) error {
		rows, err := tx.RowsOf(ctx, []int64{old, seen.ID, gone})
		if err != nil || len(rows) != 2 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		for _, r := range rows {
			if r.ID == seen.ID && (r.State == nil || r.Saved != before || r.Definition.Group != "other") || r.ID == old && r.State != nil {
				t.Errorf("%+v", r)
			}
		}
		return err
	})
}

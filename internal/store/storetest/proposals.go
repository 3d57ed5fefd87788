package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func proposalTests() []test {
	return []test{
		{"a proposal waits until it is dropped", storedProposal},
		{"a rejection is of one surface", storedRejection},
		{"who shows which surface", surfacesSeen},
	}
}

func storedProposal(t *testing.T, s *store.Store) {
	m := Insert(t, s, 2, nil)
	p := watch.Proposal{
		Monitor: m[0].ID, Account: "ann", Digest: sample("one").Digest(), Revision: 1, Approvals: 2, CreatedAt: epoch(),
		Selection: watch.Selection{Changes: []string{"c.1"}, Findings: []string{"f"}, Reason: "ü", ExpiresAt: epoch().Add(time.Hour), Keep: true},
	}
	in(t, s, func(tx *store.Tx) error { return tx.Propose(t.Context(), &p) })
	var got []watch.Proposal
	all := func(monitor int64) []watch.Proposal {
		view(t, s, func(tx *store.Tx) (err error) {
			got, err = tx.Proposals(t.Context(), monitor)
			return err
		})
		return got
	}
	if d := cmp.Diff([]watch.Proposal{p}, all(m[0].ID)); d != "" {
		t.Error(d)
	}
	if got := all(m[1].ID); len(got) != 0 {
		t.Errorf("of another monitor: %v", got)
	}
	err := s.InTx(t.Context(), func(tx *store.Tx) error { return tx.DropProposal(t.Context(), m[1].ID, p.ID) })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped for another monitor: %v", err)
	}
	for range 25 {
		in(t, s, func(tx *store.Tx) error { return tx.Propose(t.Context(), &p) })
	}
	if got := all(m[0].ID); len(got) != 20 || got[0].ID != p.ID {
		t.Errorf("%d proposals are kept", len(got))
	}
	in(t, s, func(tx *store.Tx) error { return tx.DropProposal(t.Context(), m[0].ID, p.ID) })
	in(t, s, func(tx *store.Tx) error { return tx.DropProposals(t.Context(), m[0].ID) })
	if got := all(m[0].ID); len(got) != 0 {
		t.Errorf("dropped, and there: %v", got)
	}
}

func storedRejection(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, nil)[0]
	one, two := sample("one").Digest(), sample("two").Digest()
	r := watch.Rejection{Monitor: m.ID, Account: "ann", Digest: one, Changes: []string{"c.1", "c.2"}, Reason: "it steers", CreatedAt: epoch()}
	in(t, s, func(tx *store.Tx) error { return tx.Reject(t.Context(), &r) })
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Rejections(t.Context(), m.ID, one.String())
		if d := cmp.Diff([]watch.Rejection{r}, got); d != "" {
			t.Error(d)
		}
		if other, err := tx.Rejections(t.Context(), m.ID, two.String()); err != nil || len(other) != 0 {
			t.Errorf("of another surface: %v %v", other, err)
		}
		return err
	})
	for range 110 {
		in(t, s, func(tx *store.Tx) error { return tx.Reject(t.Context(), &r) })
	}
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Rejections(t.Context(), m.ID, one.String())
		if len(got) != 100 {
			t.Errorf("%d rejections are kept", len(got))
		}
		return err
	})
}

func surfacesSeen(t *testing.T, s *store.Store) {
	m := Insert(t, s, 2, nil)
	one, two := sample("one"), sample("two")
	for i, what := range []store.Sighting{
		{Monitor: m[1].ID, Location: "local", Digest: one.Digest(), At: epoch()},
		{Monitor: m[0].ID, Location: "local", Digest: one.Digest(), At: epoch()},
		{Monitor: m[0].ID, Location: "local", Digest: two.Digest(), At: epoch().Add(time.Hour)},
	} {
		in(t, s, func(tx *store.Tx) error { return tx.Saw(t.Context(), []store.Sighting{what}) })
		if i == 0 {
			in(t, s, func(tx *store.Tx) error { return tx.PutSurface(t.Context(), one) })
		}
	}
	view(t, s, func(tx *store.Tx) error {
		now, err := tx.SurfacesSeen(t.Context(), false, 0, 10)
		if err != nil {
			return err
		}
		if len(now) != 2 || now[0].Digest != two.Digest().String() || now[0].Name != m[0].Definition.Name || !now[0].From.Equal(epoch().Add(time.Hour)) || now[1].Monitor != m[1].ID {
			t.Errorf("now: %+v", now)
		}
		past, err := tx.SurfacesSeen(t.Context(), true, 1, 1)
		if err != nil {
			return err
		}
		if len(past) != 1 || past[0].Digest != one.Digest().String() || past[0].Monitor != m[0].ID {
			t.Errorf("past: %+v", past)
		}
		text, err := tx.SurfaceText(t.Context(), one.Digest().String())
		if string(text) != string(one.Save()) {
			t.Errorf("another text: %s", text)
		}
		if _, err := tx.SurfaceText(t.Context(), two.Digest().String()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one that is not stored: %v", err)
		}
		return err
	})
}

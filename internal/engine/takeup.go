package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// takeUp gives free what the last process was in the middle of, where no other can be
// running: its checks are due again at once. Of those that may have made their functional
// call nothing is known, and the call is not made again. On PostgreSQL, where others run,
// claims end with their time. Deliveries are tried again at once, too: their key tells
// receivers of one that is repeated.
func (e *Engine) takeUp(ctx context.Context) error {
	if e.o.Store.Dialect() != store.SQLite {
		return nil
	}
	now := e.now()
	return e.o.Store.InTx(ctx, func(tx *store.Tx) error {
		untouched, err := dropJobs(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.SQL().ExecContext(ctx, "update river_job set state = 'available' where kind = $1 and state = 'running'", deliverArgs{}.Kind()); err != nil {
			return fmt.Errorf("give deliveries free: %w", err)
		}
		busy, err := tx.Busy(ctx)
		if err != nil || len(busy) == 0 {
			return err
		}
		var free []store.Due
		lost := &commit{engine: e, now: now}
		for _, d := range busy {
			m, err := e.calls(ctx, tx, d)
			if err != nil {
				return err
			}
			if m == nil || untouched[keyOf(d)] {
				free = append(free, d)
				continue
			}
			o := &watch.Observation{
				Result:   watch.Result{Monitor: d.Monitor, Location: d.Location, Slot: d.Slot, Kind: d.Kind, Started: now},
				Revision: d.Version.Revision, Approvals: d.Version.Approvals,
			}
			interrupted(o)
			lost.batch = append(lost.batch, &item{o: o, m: m, due: d, calls: true})
		}
		if err := tx.GiveBack(ctx, free); err != nil || len(lost.batch) == 0 {
			return err
		}
		return lost.run(ctx, tx)
	})
}

// calls returns the monitor of a check that makes a functional call, or nil. Only files
// have such calls.
func (e *Engine) calls(ctx context.Context, tx *store.Tx, d store.Due) (*entry, error) {
	if e.o.FileTarget == nil || d.Kind == watch.Confirm {
		return nil, nil
	}
	m, err := tx.Monitor(ctx, d.Monitor)
	if err != nil {
		return nil, err
	}
	it := &entry{Monitor: *m}
	o := &watch.Observation{Result: watch.Result{Kind: d.Kind, Location: d.Location}}
	if m.Source != watch.FromFile || e.targetOf(it).Call == nil || !mayCall(o, it) {
		return nil, nil
	}
	it.approved, err = tx.Approvals(ctx, d.Monitor, e.now(), false)
	return it, err
}

// claimKey is a claim.
type claimKey struct {
	place
	slot int64
	kind watch.Kind
}

func keyOf(d store.Due) claimKey {
	return claimKey{place{d.Monitor, d.Location}, d.Slot.UnixMilli(), d.Kind}
}

// dropJobs removes the jobs of checks, and returns the claims of those that nobody began.
func dropJobs(ctx context.Context, tx *store.Tx) (map[claimKey]bool, error) {
	rows, err := tx.SQL().QueryContext(ctx, `delete from river_job where kind = $1 and finalized_at is null
		returning json(args), attempt = 0 and attempted_by is null`, kindChecks)
	if err != nil {
		return nil, fmt.Errorf("remove jobs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	out := map[claimKey]bool{}
	for rows.Next() {
		var text []byte
		var untouched bool
		if err := rows.Scan(&text, &untouched); err != nil {
			return nil, fmt.Errorf("remove jobs: %w", err)
		}
		var a checksArgs
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, fmt.Errorf("read a job: %w", err)
		}
		for _, d := range a.dues() {
			known, twice := out[keyOf(d)]
			out[keyOf(d)] = untouched && (known || !twice)
		}
	}
	return out, rows.Err()
}

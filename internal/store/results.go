package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// StoredReport is the last report of a monitor from a location.
type StoredReport struct {
	Monitor  int64        `json:"monitor"`
	Location string       `json:"location"`
	At       time.Time    `json:"at"`
	Report   watch.Report `json:"report"`
}

// resultKey is what makes a result one of its own.
type resultKey struct {
	monitor, slot  int64
	location, kind string
}

// InsertResults stores results, and says of each whether it is new: one whose key is
// stored already, or stands earlier in the list, is left out.
func (t *Tx) InsertResults(ctx context.Context, results []watch.Result) (fresh []bool, err error) {
	b := batch{columns: "monitor bigint, slot bigint, location text, kind text, started bigint, status text, reason text, " +
		"step text, message text, total_ms float8, init_ms float8, list_ms float8, dns_ms float8, tcp_ms float8, tls_ms float8, " +
		"first_byte_ms float8, tools integer, digest text, maintenance boolean"}
	for _, i := range inOrder(results) {
		r := &results[i]
		digest := ""
		if !r.Digest.IsZero() {
			digest = r.Digest.String()
		}
		b.add(r.Monitor, ms(r.Slot), r.Location, string(r.Kind), ms(r.Started), r.Status, r.Reason, r.Step, r.Message,
			r.Timing.Total, r.Timing.Init, r.Timing.List, r.Timing.DNS, r.Timing.TCP, r.Timing.TLS, r.Timing.FirstByte,
			r.Tools, digest, r.Maintenance)
	}
	added := make(map[resultKey]bool, len(results))
	err = t.queryBatch(ctx, `insert into results (monitor, slot, location, kind, started, status, reason, step, message,
		total_ms, init_ms, list_ms, dns_ms, tcp_ms, tls_ms, first_byte_ms, tools, digest, maintenance)
		select * from $ROWS where true on conflict do nothing returning monitor, slot, location, kind`, &b,
		func(rows *sql.Rows) error {
			var k resultKey
			err := rows.Scan(&k.monitor, &k.slot, &k.location, &k.kind)
			added[k] = true
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("store results: %w", err)
	}
	fresh = make([]bool, len(results))
	for i := range results {
		r := &results[i]
		k := resultKey{r.Monitor, ms(r.Slot), r.Location, string(r.Kind)}
		fresh[i] = added[k]
		delete(added, k)
	}
	return fresh, nil
}

// inOrder are the places of results in the order of their keys: two nodes that store
// the same ones would wait for each other if each had its own.
func inOrder(results []watch.Result) []int {
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &results[i], &results[j]
		return cmp.Or(cmp.Compare(a.Monitor, b.Monitor), a.Slot.Compare(b.Slot),
			cmp.Compare(a.Location, b.Location), cmp.Compare(a.Kind, b.Kind))
	})
	return order
}

// States returns the states of monitors, without those that have none. With lock, the
// monitors stay as they are until the transaction ends; that comes before anything
// else is written in it.
func (t *Tx) States(ctx context.Context, ids []int64, lock bool) (map[int64]watch.State, error) {
	if lock {
		if err := t.lockMonitors(ctx, ids); err != nil {
			return nil, fmt.Errorf("lock monitors: %w", err)
		}
	}
	out := make(map[int64]watch.State, len(ids))
	read := make(map[int64]axes, len(ids))
	err := t.each(ctx, "select monitor, state, availability, surface, posture from states where "+t.in("monitor", 1), []any{list(t, ids)}, func(rows *sql.Rows) error {
		var id int64
		var text []byte
		var a axes
		if err := rows.Scan(&id, &text, &a.availability, &a.surface, &a.posture); err != nil {
			return err
		}
		var state watch.State
		err := decode(text, &state)
		out[id], read[id] = state, a
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read states: %w", err)
	}
	if lock {
		t.axes = read
	}
	return out, nil
}

// axes are the states of the axes, which are in indexes.
type axes struct{ availability, surface, posture string }

func axesOf(s *watch.State) axes {
	return axes{s.Availability.State, s.Surface.State, s.Posture.State}
}

// SaveStates stores states; those of monitors that are gone are left out. Those that were
// read with lock in this transaction, and are in no other index now, take less. Each
// gets a new mark: see [Tx.Changes].
func (t *Tx) SaveStates(ctx context.Context, states []watch.State) error {
	same := batch{columns: "monitor bigint, state text, check_status text, last_check bigint"}
	b := batch{columns: "monitor bigint, state text, availability text, surface text, posture text, check_status text, last_check bigint"}
	for i := range states {
		s := &states[i]
		text, err := encode(s)
		if err != nil {
			return err
		}
		if read, ok := t.axes[s.Monitor]; ok && read == axesOf(s) {
			same.add(s.Monitor, text, s.Check, ms(s.LastCheck))
			continue
		}
		delete(t.axes, s.Monitor)
		b.add(s.Monitor, text, s.Availability.State, s.Surface.State, s.Posture.State, s.Check, ms(s.LastCheck))
	}
	same.last(1)
	b.last(1)
	err := t.execBatch(ctx, `update states set state = r.state, check_status = r.check_status, last_check = r.last_check, saved_at = `+t.later()+`
		from $ROWS where states.monitor = r.monitor`, &same)
	if err != nil {
		return fmt.Errorf("store states: %w", err)
	}
	err = t.execBatch(ctx, `insert into states (monitor, state, availability, surface, posture, check_status, last_check, saved_at)
		select r.*, `+t.clock()+` from $ROWS where exists (select 1 from monitors m where m.id = r.monitor)
		on conflict (monitor) do update set state = excluded.state, availability = excluded.availability,
			surface = excluded.surface, posture = excluded.posture, check_status = excluded.check_status, last_check = excluded.last_check,
			saved_at = `+t.later(), &b)
	if err != nil {
		return fmt.Errorf("store states: %w", err)
	}
	return nil
}

// SaveReports stores reports in place of those before; those of monitors that are gone
// are left out.
func (t *Tx) SaveReports(ctx context.Context, reports []StoredReport) error {
	b := batch{columns: "monitor bigint, location text, at bigint, report bytea"}
	for i := range reports {
		r := &reports[i]
		b.add(r.Monitor, r.Location, ms(r.At), t.store.pack(r.Report))
	}
	b.last(2)
	err := t.execBatch(ctx, `insert into reports (monitor, location, at, report)
		select r.* from $ROWS where exists (select 1 from monitors m where m.id = r.monitor)
		on conflict (monitor, location) do update set at = excluded.at, report = excluded.report`, &b)
	if err != nil {
		return fmt.Errorf("store reports: %w", err)
	}
	return nil
}

// Reports returns the last report from each location.
func (t *Tx) Reports(ctx context.Context, monitor int64) ([]StoredReport, error) {
	var out []StoredReport
	err := t.each(ctx, "select location, at, report from reports where monitor = $1 order by location", []any{monitor},
		func(rows *sql.Rows) error {
			r := StoredReport{Monitor: monitor}
			var at int64
			var packed []byte
			if err := rows.Scan(&r.Location, &at, &packed); err != nil {
				return err
			}
			r.At = fromMs(at)
			var err error
			r.Report, err = unpack(packed)
			out = append(out, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read reports of monitor %d: %w", monitor, err)
	}
	return out, nil
}

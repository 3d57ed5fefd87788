package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// expired is who ended an approval whose time was over.
const expired = "expired"

// Approve stores an approval and its surface, and ends the others of its monitor unless
// keep. What is approved has changed then: Approvals of the monitor grows. Its error is
// ErrNotFound when the monitor is gone.
func (t *Tx) Approve(ctx context.Context, a watch.Approval, keep bool) (id int64, err error) {
	b := a.Baseline()
	if b == nil {
		return 0, errors.New("store an approval: it is of nothing")
	}
	at := a.Event().At
	if err := t.approvalsChange(ctx, a.Monitor()); err != nil {
		return 0, err
	}
	if !keep {
		if _, err := t.endApprovals(ctx, a.Monitor(), a.Approver(), at); err != nil {
			return 0, err
		}
	}
	if err := t.PutSurface(ctx, b.Surface); err != nil {
		return 0, err
	}
	file := baseline.Lockfile{Baselines: []*baseline.Baseline{b}}
	err = t.one(ctx, `insert into approvals (monitor, source, approver, reason, digest, baseline, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
		[]any{
			a.Monitor(), a.Source(), a.Approver(), a.Reason(), b.Surface.Digest().String(), t.store.pack(file.Encode()),
			ms(at), nullMs(a.ExpiresAt()),
		}, &id)
	if err != nil {
		return 0, fmt.Errorf("store an approval of monitor %d: %w", a.Monitor(), err)
	}
	return id, nil
}

// approvalsChange raises Approvals of a monitor, and keeps the monitor as it is.
func (t *Tx) approvalsChange(ctx context.Context, monitor int64) error {
	n, err := t.exec(ctx, "update monitors set approvals = approvals + 1 where id = $1", monitor)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("approvals of monitor %d: %w", monitor, err)
	}
	return nil
}

func (t *Tx) endApprovals(ctx context.Context, monitor int64, by string, now time.Time) (int64, error) {
	n, err := t.exec(ctx, "update approvals set ended_at = $2, ended_by = $3 where monitor = $1 and ended_at is null",
		monitor, ms(now), by)
	if err != nil {
		return 0, fmt.Errorf("end the approvals of monitor %d: %w", monitor, err)
	}
	return n, nil
}

// EndApprovals ends all approvals of a monitor. Without any, nothing changes.
func (t *Tx) EndApprovals(ctx context.Context, monitor int64, by string, now time.Time) error {
	if err := t.lockMonitors(ctx, []int64{monitor}); err != nil {
		return fmt.Errorf("lock monitor %d: %w", monitor, err)
	}
	n, err := t.endApprovals(ctx, monitor, by, now)
	if err != nil || n == 0 {
		return err
	}
	return t.approvalsChange(ctx, monitor)
}

// Approvals returns what is approved of a monitor at now, the latest first, with its
// baselines when load is set.
func (t *Tx) Approvals(ctx context.Context, monitor int64, now time.Time, load bool) ([]watch.Approved, error) {
	return t.approved(ctx, load, `where monitor = $1 and ended_at is null and (expires_at is null or expires_at > $2)
		order by id desc`, monitor, ms(now))
}

// ApprovalsOf is Approvals, without baselines, of several monitors.
func (t *Tx) ApprovalsOf(ctx context.Context, monitors []int64, now time.Time) (map[int64][]watch.Approved, error) {
	found, err := t.approved(ctx, false, "where "+t.in("monitor", 1)+` and ended_at is null and (expires_at is null or expires_at > $2)
		order by id desc`, list(t, monitors), ms(now))
	out := make(map[int64][]watch.Approved, len(monitors))
	for i := range found {
		out[found[i].Monitor] = append(out[found[i].Monitor], found[i])
	}
	return out, err
}

// ExpireApprovals ends the approvals of all monitors whose time is over, and returns them.
func (t *Tx) ExpireApprovals(ctx context.Context, now time.Time) ([]watch.Approved, error) {
	const over = "where ended_at is null and expires_at <= $1 order by id"
	found, err := t.approved(ctx, false, over, ms(now))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var ids []int64
	for i := range found {
		ids = append(ids, found[i].Monitor)
	}
	if err := t.lockMonitors(ctx, ids); err != nil {
		return nil, fmt.Errorf("lock monitors: %w", err)
	}
	// Another node may have ended some before the lock was had.
	if found, err = t.approved(ctx, false, over, ms(now)); err != nil {
		return nil, err
	}
	changed := map[int64]bool{}
	for i := range found {
		if _, err := t.exec(ctx, "update approvals set ended_at = $2, ended_by = $3 where id = $1", found[i].ID, ms(now), expired); err != nil {
			return nil, fmt.Errorf("end approval %d: %w", found[i].ID, err)
		}
		if monitor := found[i].Monitor; !changed[monitor] {
			changed[monitor] = true
			if err := t.approvalsChange(ctx, monitor); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (t *Tx) approved(ctx context.Context, load bool, rest string, args ...any) ([]watch.Approved, error) {
	body := "null"
	if load {
		body = "baseline"
	}
	var out []watch.Approved
	err := t.each(ctx, "select id, monitor, source, approver, reason, digest, created_at, expires_at, "+body+" from approvals "+rest, args,
		func(rows *sql.Rows) error {
			var a watch.Approved
			var digest string
			var created int64
			var expires sql.NullInt64
			var packed []byte
			if err := rows.Scan(&a.ID, &a.Monitor, &a.Source, &a.Approver, &a.Reason, &digest, &created, &expires, &packed); err != nil {
				return err
			}
			a.CreatedAt, a.ExpiresAt = fromMs(created), fromNullMs(expires)
			if err := a.Digest.UnmarshalText([]byte(digest)); err != nil {
				return err
			}
			if load {
				var err error
				if a.Baseline, err = unpackBaseline(packed); err != nil {
					return err
				}
			}
			out = append(out, a)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return out, nil
}

// Baselines are those of some approvals, by id.
func (t *Tx) Baselines(ctx context.Context, approvals []int64) (map[int64]*baseline.Baseline, error) {
	out := make(map[int64]*baseline.Baseline, len(approvals))
	if len(approvals) == 0 {
		return out, nil
	}
	err := t.each(ctx, "select id, baseline from approvals where "+t.in("id", 1), []any{list(t, approvals)}, func(rows *sql.Rows) error {
		var id int64
		var packed []byte
		if err := rows.Scan(&id, &packed); err != nil {
			return err
		}
		b, err := unpackBaseline(packed)
		out[id] = b
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read baselines: %w", err)
	}
	return out, nil
}

func unpackBaseline(packed []byte) (*baseline.Baseline, error) {
	text, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	file, err := baseline.Read(text)
	if err != nil {
		return nil, err
	}
	if len(file.Baselines) != 1 {
		return nil, fmt.Errorf("%d baselines are stored where one should be", len(file.Baselines))
	}
	return file.Baselines[0], nil
}

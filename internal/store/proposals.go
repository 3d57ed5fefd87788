package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// mostProposals and mostRejections are how many are kept of a monitor.
const (
	mostProposals  = 20
	mostRejections = 100
)

// Propose stores a proposal and gives it its ID. Of a monitor the latest stay.
func (t *Tx) Propose(ctx context.Context, p *watch.Proposal) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = t.one(ctx, "insert into proposals (monitor, account, digest, selection, created_at) values ($1, $2, $3, $4, $5) returning id",
			[]any{p.Monitor, p.Account, p.Digest.String(), string(text), ms(p.CreatedAt)}, &p.ID)
	}
	if err == nil {
		err = t.keepLatest(ctx, "proposals", p.Monitor, mostProposals)
	}
	if err != nil {
		return fmt.Errorf("store a proposal for monitor %d: %w", p.Monitor, err)
	}
	return nil
}

// keepLatest drops all but the latest n rows of a table about a monitor.
func (t *Tx) keepLatest(ctx context.Context, table string, monitor int64, n int) error {
	_, err := t.exec(ctx, "delete from "+table+" where monitor = $1 and id not in (select id from "+table+" where monitor = $1 order by id desc limit $2)", monitor, n)
	return err
}

// Proposals are those of a monitor, void ones too, the latest first.
func (t *Tx) Proposals(ctx context.Context, monitor int64) ([]watch.Proposal, error) {
	var out []watch.Proposal
	err := t.each(ctx, "select id, selection from proposals where monitor = $1 order by id desc", []any{monitor}, func(rows *sql.Rows) error {
		var p watch.Proposal
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(text), &p)
		p.ID = id
		out = append(out, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the proposals for monitor %d: %w", monitor, err)
	}
	return out, nil
}

// DropProposal drops one proposal of a monitor, or ErrNotFound.
func (t *Tx) DropProposal(ctx context.Context, monitor, id int64) error {
	n, err := t.exec(ctx, "delete from proposals where monitor = $1 and id = $2", monitor, id)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("drop proposal %d: %w", id, err)
	}
	return nil
}

// DropProposals drops all proposals for a monitor.
func (t *Tx) DropProposals(ctx context.Context, monitor int64) error {
	if _, err := t.exec(ctx, "delete from proposals where monitor = $1", monitor); err != nil {
		return fmt.Errorf("drop the proposals for monitor %d: %w", monitor, err)
	}
	return nil
}

// Reject stores a rejection and gives it its ID. Of a monitor the latest stay.
func (t *Tx) Reject(ctx context.Context, r *watch.Rejection) error {
	text, err := json.Marshal(r.Changes)
	if err == nil {
		err = t.one(ctx, "insert into rejections (monitor, account, digest, changes, reason, created_at) values ($1, $2, $3, $4, $5, $6) returning id",
			[]any{r.Monitor, r.Account, r.Digest.String(), string(text), r.Reason, ms(r.CreatedAt)}, &r.ID)
	}
	if err == nil {
		err = t.keepLatest(ctx, "rejections", r.Monitor, mostRejections)
	}
	if err != nil {
		return fmt.Errorf("store a rejection for monitor %d: %w", r.Monitor, err)
	}
	return nil
}

// Rejections are those of a surface of a monitor, the latest first.
func (t *Tx) Rejections(ctx context.Context, monitor int64, digest string) ([]watch.Rejection, error) {
	var out []watch.Rejection
	err := t.each(ctx, "select id, account, digest, changes, reason, created_at from rejections where monitor = $1 and digest = $2 order by id desc",
		[]any{monitor, digest}, func(rows *sql.Rows) error {
			r := watch.Rejection{Monitor: monitor}
			var digest, changes string
			var at int64
			err := rows.Scan(&r.ID, &r.Account, &digest, &changes, &r.Reason, &at)
			if err == nil {
				err = r.Digest.UnmarshalText([]byte(digest))
			}
			if err == nil {
				err = json.Unmarshal([]byte(changes), &r.Changes)
			}
			r.CreatedAt = fromMs(at)
			out = append(out, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the rejections for monitor %d: %w", monitor, err)
	}
	return out, nil
}

// SurfaceOf is a surface and who shows it.
type SurfaceOf struct {
	Digest string
	// Monitor showed it from From until Until.
	Monitor     int64
	Name        string
	From, Until time.Time
}

// SurfacesSeen are the latest sightings of each monitor and location, or all sightings
// with past, in the order of names and then the latest first: those that come after
// after of them, n at most.
func (t *Tx) SurfacesSeen(ctx context.Context, past bool, after, n int) ([]SurfaceOf, error) {
	latest := ""
	if !past {
		latest = ` where s.id = (select l.id from sightings l where l.monitor = s.monitor and l.location = s.location
			order by l.first_at desc, l.id desc limit 1)`
	}
	var out []SurfaceOf
	err := t.each(ctx, `select s.digest, s.monitor, m.name, s.first_at, s.last_at from sightings s join monitors m on m.id = s.monitor`+latest+`
		order by m.name, s.first_at desc, s.id desc limit $1 offset $2`, []any{n, after}, func(rows *sql.Rows) error {
		var s SurfaceOf
		var from, until int64
		err := rows.Scan(&s.Digest, &s.Monitor, &s.Name, &from, &until)
		s.From, s.Until = fromMs(from), fromMs(until)
		out = append(out, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sightings: %w", err)
	}
	return out, nil
}

// SurfaceText is a stored surface as surface.Save writes it, or ErrNotFound.
func (t *Tx) SurfaceText(ctx context.Context, digest string) ([]byte, error) {
	var packed []byte
	err := t.one(ctx, "select body from surfaces where digest = $1", []any{digest}, &packed)
	var text []byte
	if err == nil {
		text, err = unpack(packed)
	}
	if err != nil {
		return nil, fmt.Errorf("surface %s: %w", digest, err)
	}
	return text, nil
}

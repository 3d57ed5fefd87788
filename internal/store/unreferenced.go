package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// retainSurfaces drops the surfaces that no sighting, no approval and no state refers to.
func (s *Store) retainSurfaces(ctx context.Context, _ time.Time, _ Retention, done *Retained) error {
	const some = 200
	for after := ""; ; {
		last := after
		var digests []string
		err := s.View(ctx, func(t *Tx) (err error) {
			digests, err = t.unreferenced(ctx, after, some)
			if err != nil || len(digests) == 0 {
				return err
			}
			// What a state takes up from now on has a new sighting too.
			after = digests[len(digests)-1]
			digests, err = t.notInStates(ctx, digests)
			return err
		})
		if err != nil {
			return fmt.Errorf("look for surfaces that nothing refers to: %w", err)
		}
		if last == after {
			return nil
		}
		var n int64
		err = s.briefly(ctx, func(t *Tx) (err error) {
			n, err = t.dropSurfaces(ctx, digests)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop surfaces: %w", err)
		}
		done.Surfaces += n
	}
}

// notReferenced is the condition on a row of surfaces but for states, which are JSON.
const notReferenced = ` not exists (select 1 from sightings where sightings.digest = surfaces.digest)
	and not exists (select 1 from approvals where approvals.digest = surfaces.digest)`

// unreferenced are digests of surfaces after one, in order.
func (t *Tx) unreferenced(ctx context.Context, after string, limit int) ([]string, error) {
	var out []string
	query := "select digest from surfaces where digest > $1 and" + notReferenced + " order by digest limit $2"
	err := t.each(ctx, query, []any{after, limit}, func(rows *sql.Rows) error {
		var digest string
		err := rows.Scan(&digest)
		out = append(out, digest)
		return err
	})
	return out, err
}

// dropSurfaces drops those of the surfaces that nothing refers to even now.
func (t *Tx) dropSurfaces(ctx context.Context, digests []string) (int64, error) {
	if t.postgres() {
		// Whoever stores a surface, or finds it stored, refers to it in the same
		// transaction: with this lock none is between the two.
		if _, err := t.exec(ctx, "lock table surfaces in access exclusive mode"); err != nil {
			return 0, err
		}
	}
	return t.exec(ctx, "delete from surfaces where "+t.in("digest", 1)+" and"+notReferenced, list(t, digests))
}

// notInStates are those of the digests that no state has.
func (t *Tx) notInStates(ctx context.Context, digests []string) ([]string, error) {
	err := t.each(ctx, "select state from states", nil, func(rows *sql.Rows) error {
		var body string
		if err := rows.Scan(&body); err != nil {
			return err
		}
		var state watch.State
		if err := decode(body, &state); err != nil {
			return err
		}
		has := state.Digest.String()
		digests = slices.DeleteFunc(digests, func(digest string) bool { return digest == has })
		return nil
	})
	return digests, err
}

package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/seal"
)

// Rekey opens all that is sealed and seals it under the primary key of next, in one
// transaction. This store goes on with the keys that it was opened with: open it anew.
func (s *Store) Rekey(ctx context.Context, next *seal.Keyset) error {
	if s.sealer == nil || next == nil {
		return ErrNoKey
	}
	return s.patiently(ctx, func(t *Tx) error {
		sealed := []sealedColumn{
			{
				query:  "select id, name, settings from channels order by id",
				update: "update channels set settings = $2 where id = $1",
				place:  func(_ int64, name string) string { return channelPlace(name) },
			},
			{
				query:  "select id, name, headers from monitors where headers is not null order by id",
				update: "update monitors set headers = $2 where id = $1",
				place:  func(id int64, _ string) string { return headersPlace(id) },
			},
			{
				query:  "select id, name, totp from accounts where totp is not null order by id",
				update: "update accounts set totp = $2 where id = $1",
				place:  func(id int64, _ string) string { return totpPlace(id) },
			},
		}
		for _, column := range sealed {
			if err := t.reseal(ctx, next, column); err != nil {
				return fmt.Errorf("seal under another key: %w", err)
			}
		}
		// Challenges are sealed, too, but last minutes.
		if _, err := t.exec(ctx, "delete from challenges"); err != nil {
			return fmt.Errorf("drop challenges: %w", err)
		}
		return nil
	})
}

// sealedColumn is where something sealed stands, and what it is sealed for.
type sealedColumn struct {
	query, update string
	place         func(id int64, name string) string
}

type sealedRow struct {
	id   int64
	name string
	body []byte
}

func (t *Tx) reseal(ctx context.Context, next *seal.Keyset, column sealedColumn) error {
	var rows []sealedRow
	err := t.each(ctx, column.query+t.lock("update"), nil, func(r *sql.Rows) error {
		var row sealedRow
		err := r.Scan(&row.id, &row.name, &row.body)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		place := column.place(row.id, row.name)
		plain, err := t.store.sealer.Open(row.body, place)
		if err != nil {
			return fmt.Errorf("open %s: %w", place, err)
		}
		body, err := next.Seal(plain, place)
		if err != nil {
			return fmt.Errorf("seal %s: %w", place, err)
		}
		if _, err := t.exec(ctx, column.update, row.id, body); err != nil {
			return fmt.Errorf("store %s: %w", place, err)
		}
	}
	return nil
}

package store_test

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// rowsOfVersion2 are what version 2 of the schema keeps, with a placeholder for the
// definition of a monitor.
func rowsOfVersion2() []string {
	return []string{
		"insert into monitors (id, name, source, revision, definition, created_at, updated_at) values (7, 'search', 'api', 3, $1, 1000, 2000)",
		"insert into states (monitor, state, availability, surface, posture, check_status, last_check) values " +
			`(7, '{"last_check":"2026-03-01T12:00:00Z"}', 'down', 'approved', 'clean', 'unhealthy', 1772366400000)`,
		`insert into incidents (id, monitor, axis, location, key, incident, opened_at, resolved_at, due) values
			(1, 7, 'availability', '', 'open', '{"id":1,"monitor":7,"axis":"availability","key":"open","state":"down","opened_at":"2026-03-01T12:00:00Z"}', 1772366400000, null, 1772366400000),
			(2, 7, 'surface', '', 'tended', '{"id":2,"monitor":7,"axis":"surface","key":"tended","state":"changed","opened_at":"2026-03-01T12:00:00Z","acknowledged_at":"2026-03-01T12:05:00Z","acknowledged_by":"user:ann"}', 1772366400000, null, null),
			(3, 7, 'posture', '', 'over', '{"id":3,"monitor":7,"axis":"posture","key":"over","state":"flagged","opened_at":"2026-03-01T12:00:00Z","resolved_at":"2026-03-01T13:00:00Z"}', 1772366400000, 1772370000000, null)`,
		"insert into accounts (id, name, role, password, created_at, updated_at) values (1, 'ann', 'admin', 'a hash', 1000, 1000), (2, 'bob', 'viewer', 'a hash', 1000, 1000)",
		"insert into sessions (token, account, created_at, seen_at, expires_at, address, agent) values ('a hash', 1, 1000, 1000, 9000, '192.0.2.1', 'curl')",
		"insert into api_keys (name, hash, role, created_by, created_at) values ('ci', 'a hash', 'viewer', 'user:ann', 1000)",
		"insert into audit (at, actor, action, object, detail) values (1000, '', 'setup', 'user:ann', ''), (2000, 'user:ann', 'login', 'user:ann', '')",
	}
}

// TestUpgrade: what version 2 of the schema had is there afterwards, as this version keeps it.
func TestUpgrade(t *testing.T) {
	for dialect, options := range databases(t) {
		t.Run(dialect, func(t *testing.T) {
			options.Sealer = seal.Generate()
			fillVersion2(t, options)
			s := open(t, options)
			upgradedMonitors(t, s)
			upgradedIncidents(t, s)
			upgradedPeople(t, s)
			upgradedAudit(t, s)
		})
	}
}

func fillVersion2(t *testing.T, o store.Options) {
	t.Helper()
	s, err := store.OpenVersion(t.Context(), o, 2)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := json.Marshal(storetest.NewMonitor("search").Definition)
	if err != nil {
		t.Fatal(err)
	}
	for i, statement := range rowsOfVersion2() {
		var args []any
		if i == 0 {
			args = append(args, string(definition))
		}
		if _, err := s.DB().ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func upgradedMonitors(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.RowsOf(t.Context(), []int64{7})
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0].Monitor.Definition.Name != "search" || rows[0].State == nil || rows[0].Saved != 0 {
			t.Errorf("the monitor is %+v", rows)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = s.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.SaveStates(t.Context(), []watch.State{{Monitor: 7, LastCheck: time.Now()}})
	})
	if err != nil {
		t.Error(err)
	}
	err = s.View(t.Context(), func(tx *store.Tx) error {
		marks, err := tx.Changes(t.Context(), false)
		if marks.Saved[7] == 0 {
			t.Errorf("a state that was stored again is not among the changes: %+v", marks)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func upgradedIncidents(t *testing.T, s *store.Store) {
	t.Helper()
	for stage, want := range map[watch.Stage]int64{watch.StageOpen: 1, watch.StageAcknowledged: 2, watch.StageSnoozed: 0, watch.StageResolved: 3} {
		err := s.View(t.Context(), func(tx *store.Tx) error {
			got, _, err := tx.Incidents(t.Context(), store.IncidentFilter{Stage: stage, Now: time.Now()})
			if want == 0 && len(got) != 0 || want != 0 && (len(got) != 1 || got[0].ID != want) {
				t.Errorf("%s: %+v, want %d alone", stage, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func upgradedPeople(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.People().Change(t.Context(), func(tx people.Tx) error {
		all, err := tx.Accounts(t.Context())
		if err != nil {
			return err
		}
		if len(all) != 2 || all[0].Name != "ann" || all[0].TOTP || all[0].Passkeys != 0 || len(all[0].Recovery) != 0 || all[0].Subject != "" {
			t.Errorf("the accounts are %+v", all)
		}
		all[1].Role = people.Editor // both accounts are of no provider: that is no name that two have
		if err := tx.PutAccount(t.Context(), &all[1]); err != nil {
			return err
		}
		return tx.SetTOTP(t.Context(), all[0].ID, []byte("a secret"))
	})
	if err != nil {
		t.Error(err)
	}
}

// upgradedAudit looks at the chain, which begins after what was there before.
func upgradedAudit(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Audit(t.Context(), people.AuditEntry{At: time.Now(), Actor: "user:ann", Action: "login"})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx *store.Tx) error {
		previous, entries, err := tx.AuditTrail(t.Context())
		if err != nil {
			return err
		}
		check, err := people.VerifyAudit(previous, entries)
		if check.Entries != 3 || check.Unchained != 2 || check.Broken != 0 || check.Hash == "" {
			t.Errorf("the audit: %+v", check)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.DB().ExecContext(t.Context(), "update audit set detail = 'another' where id = 1")
	if err == nil {
		t.Error("an entry of before was changed")
	}
	var count sql.NullInt64
	if err := s.DB().QueryRowContext(t.Context(), "select count(*) from sessions where account = 1").Scan(&count); err != nil || count.Int64 != 1 {
		t.Errorf("%d sessions, %v", count.Int64, err)
	}
}

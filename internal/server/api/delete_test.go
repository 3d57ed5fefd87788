package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// A check that is decided about while its monitor is deleted leaves no open incident of
// a monitor that is gone.
func TestDeleteDuringDecision(t *testing.T) {
	w := newWorld(t, open(t, storetest.Postgres(t))).populate()
	id := w.monitor("search", nil)
	ctx := t.Context()
	deleted := make(chan struct{})
	err := w.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.States(ctx, []int64{id}, true); err != nil {
			return err
		}
		err := tx.SaveIncidents(ctx, []watch.Incident{{Monitor: id, Axis: watch.Availability, Key: "k", State: watch.Down, OpenedAt: w.now()}})
		if err != nil {
			return err
		}
		go func() {
			defer close(deleted)
			w.request("DELETE", path("/monitors/%d", id), w.credentials["key editor"], nil, http.StatusNoContent, nil)
		}()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			var waiting int
			err := w.store.View(ctx, func(tx *store.Tx) error {
				query := "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
				return tx.SQL().QueryRowContext(ctx, query).Scan(&waiting)
			})
			if err != nil || waiting > 0 {
				return err
			}
			if time.Now().After(end) {
				t.Error("nobody waits for the monitor")
				return nil
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-deleted
	err = w.store.View(ctx, func(tx *store.Tx) error {
		incidents, _, err := tx.Incidents(ctx, store.IncidentFilter{Monitor: id})
		if len(incidents) != 1 || incidents[0].Open() {
			t.Errorf("incidents of the monitor that is gone: %+v", incidents)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// healthPage is how one monitor stands.
type healthPage struct {
	Name string `json:"name"`
	// Status is that of availability, or paused.
	Status string `json:"status"`
	watch.View
	LastCheck *time.Time `json:"last_check,omitempty"`
	AgeMs     *int64     `json:"age_ms,omitempty"`
	// Reports are the last ones, by location; Live is the one that was asked for.
	Reports []store.StoredReport `json:"reports,omitempty"`
	Live    *probe.Report        `json:"live,omitempty"`
}

const paused = "paused"

// health answers 200 for a monitor that is up or degraded, and for one that is paused,
// which nobody expects to be up; 503 otherwise.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	m, st, reports, err := s.find(r.Context(), r.PathValue("name"))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	now := s.Now()
	page := healthPage{Name: m.Definition.Name, View: watch.Current(m, st, now), Reports: reports}
	page.Status = page.Availability.State
	if st != nil && !st.LastCheck.IsZero() {
		age := now.Sub(st.LastCheck).Milliseconds()
		page.LastCheck, page.AgeMs = &st.LastCheck, &age
	}
	healthy := page.Healthy
	if wanted, _ := strconv.ParseBool(r.URL.Query().Get("live")); wanted {
		report, err := s.live.check(r.Context(), m.ID)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		page.Live, page.Status, healthy = report, watch.AvailabilityOf(report.Status), report.Passed()
	} else if page.Paused {
		page.Status, healthy = paused, true
	}
	code := http.StatusOK
	if !healthy {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, page)
}

// find reads a monitor by its name.
func (s *server) find(ctx context.Context, name string) (m *watch.Monitor, st *watch.State, reports []store.StoredReport, err error) {
	err = s.Store.View(ctx, func(t *store.Tx) error {
		if m, err = t.MonitorByName(ctx, name); err != nil {
			return err
		}
		states, err := t.States(ctx, []int64{m.ID}, false)
		if err != nil {
			return err
		}
		if v, ok := states[m.ID]; ok {
			st = &v
		}
		reports, err = t.Reports(ctx, m.ID)
		return err
	})
	return m, st, reports, err
}

// refuse says why there is no page.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		writeText(w, http.StatusNotFound, "no monitor has this name\n")
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "5")
		writeText(w, http.StatusServiceUnavailable, errBusy.Error()+"\n")
	case r.Context().Err() != nil:
		writeText(w, http.StatusServiceUnavailable, "the check took too long\n")
	default:
		s.Logger.ErrorContext(r.Context(), "a page could not be made", "path", r.URL.Path, "error", err)
		writeText(w, http.StatusServiceUnavailable, "this could not be found out; the log says why\n")
	}
}

// aggregatePage is how all monitors stand. Those that are paused are left out.
type aggregatePage struct {
	// Status is healthy, degraded (some are degraded or misconfigured), unhealthy
	// (some are down) or unknown (none is down, and of some nothing is known).
	Status string         `json:"status"`
	Counts map[string]int `json:"counts"`
	Paused int            `json:"paused"`
	// Not up, at most 100 of them, by name.
	Not map[string]string `json:"not_up,omitempty"`
}

const listedNotUp = 100

// aggregate answers 200 unless some monitor is down or unknown. It can be narrowed with
// tag and group.
func (s *server) aggregate(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page := aggregatePage{Counts: map[string]int{}, Not: map[string]string{}}
	for _, state := range []string{watch.Up, watch.Degraded, watch.Down, watch.Misconfigured, watch.Unknown} {
		page.Counts[state] = 0
	}
	now := s.Now()
	err := s.each(r.Context(), store.MonitorFilter{Tag: query.Get("tag"), Group: query.Get("group")}, func(m *watch.Monitor, st *watch.State) {
		v := watch.Current(m, st, now)
		if v.Paused {
			page.Paused++
			return
		}
		page.Counts[v.Availability.State]++
		if v.Availability.State != watch.Up && len(page.Not) < listedNotUp {
			page.Not[m.Definition.Name] = v.Availability.State
		}
	})
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	code := http.StatusOK
	switch {
	case page.Counts[watch.Down] > 0:
		page.Status, code = string(probe.StatusUnhealthy), http.StatusServiceUnavailable
	case page.Counts[watch.Unknown] > 0:
		page.Status, code = string(probe.StatusUnknown), http.StatusServiceUnavailable
	case page.Counts[watch.Degraded]+page.Counts[watch.Misconfigured] > 0:
		page.Status = string(probe.StatusDegraded)
	default:
		page.Status = string(probe.StatusHealthy)
	}
	writeJSON(w, code, page)
}

// each visits all monitors that fit, in pages.
func (s *server) each(ctx context.Context, f store.MonitorFilter, visit func(*watch.Monitor, *watch.State)) error {
	f.Limit = 1000
	for {
		var rows []store.MonitorRow
		var next int64
		err := s.Store.View(ctx, func(t *store.Tx) (err error) {
			rows, next, err = t.Monitors(ctx, f)
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			visit(&rows[i].Monitor, rows[i].State)
		}
		if next == 0 {
			return nil
		}
		f.After = next
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // a stored report that is no JSON
		writeText(w, http.StatusInternalServerError, "the page could not be written\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

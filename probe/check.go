package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

// Check runs one check of t and returns its report. It never panics and never
// returns nil; what goes wrong is in the report. When ctx is cancelled the
// check stops at once and the report is unhealthy with [CodeAborted].
//
// Dependencies of t are not checked; see [CheckAll].
func Check(ctx context.Context, t *target.Target, o Options) *Report {
	if ctx == nil {
		ctx = context.Background()
	}
	if t == nil {
		t = &target.Target{Problem: &target.Problem{Reason: "invalid-target", Text: "there is no target", Hint: "give one"}}
	}
	b := settleBudgets(t, o)
	ctx, clock := startClock(ctx, b.overall)
	defer clock.stop()
	report := attempt(ctx, clock, t, o)
	for range t.Budgets.Retries {
		if !neverAnswered(report) {
			break
		}
		pause := time.NewTimer(t.Budgets.RetryDelay)
		select {
		case <-ctx.Done():
			pause.Stop()
			return report
		case <-pause.C:
		}
		report = attempt(ctx, clock, t, o)
	}
	return report
}

// neverAnswered reports whether a retry may help: the server could not be
// reached and sent no byte.
func neverAnswered(r *Report) bool {
	c := r.Result(StepConnect)
	return c != nil && !c.Skipped && c.Status == StatusUnhealthy && !r.answered
}

// attempt is one check with one connection. A panic, ours or that of a custom
// check's formatting, becomes a report: a monitor must outlive its checks.
func attempt(ctx context.Context, clock *clock, t *target.Target, o Options) (report *Report) {
	r := newRun(t, o, clock)
	defer func() {
		if p := recover(); p != nil {
			r.fail(StepConfiguration, failure{reason: reasonInternal, text: "the check itself failed: " + plain.Line(fmt.Sprint(p), 200)})
			report = r.finish()
		}
	}()
	r.check(ctx)
	report = r.finish()
	r.lookAtAuth(ctx)
	return report
}

// Ping asks only whether t can be reached: HEAD for HTTP, where any status will
// do; start and opening for stdio. The report has the steps connect and, for
// stdio and legacy SSE, initialize.
func Ping(ctx context.Context, t *target.Target, o Options) *Report {
	pinged := *t
	pinged.HeadReachability = pinged.Kind() == target.HTTP
	pinged.Checks = []target.Dimension{target.Reachability}
	if firstSet(o.Expect.FirstResponse, t.Expect.FirstResponse) > 0 {
		pinged.Checks = append(pinged.Checks, target.Latency)
	}
	if pinged.Kind() != target.HTTP {
		pinged.Checks = append(pinged.Checks, target.Protocol)
	}
	pinged.Expect = target.Expectations{FirstResponse: t.Expect.FirstResponse, MaxLatency: t.Expect.MaxLatency}
	pinged.Call, pinged.AuditChain = nil, false
	o.Custom = nil
	o.Revisions, o.Diagnose, o.AuthMetadata = false, false, false
	return Check(ctx, &pinged, o)
}

// Healthy reports whether the check of t is healthy; degraded is not.
func Healthy(ctx context.Context, t *target.Target, o Options) bool {
	return Check(ctx, t, o).Status == StatusHealthy
}

// Handler serves the check of t: GET and HEAD run it and answer 200 for healthy
// and degraded, 503 otherwise, with the report as JSON. Other methods get 405.
// Each request is one check, bounded by the request's context.
func Handler(t *target.Target, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		report := Check(r.Context(), t, o)
		status := http.StatusServiceUnavailable
		if report.Passed() {
			status = http.StatusOK
		}
		body, err := json.Marshal(report)
		if err != nil { // details of a custom check that do not marshal
			status, body = http.StatusInternalServerError, []byte(`{"status":"unknown"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		if r.Method == http.MethodGet {
			w.Write(append(body, '\n')) // an error here: the client is gone
		}
	})
}

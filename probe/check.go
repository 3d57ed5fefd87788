package probe

import (
	"context"
	"net/http"

	"github.com/mcpvigil/mcpvigil/target"
)

// Check runs one check of t and returns its report. It never panics and never
// returns nil; what goes wrong is in the report.
func Check(ctx context.Context, t *target.Target, o Options) *Report { panic("later") }

// Ping asks only whether t can be reached: HEAD for HTTP, any status will do;
// start and opening for stdio.
func Ping(ctx context.Context, t *target.Target, o Options) *Report { panic("later") }

// CheckAll checks several targets, at most concurrency at a time, with their
// dependencies. A target that several others depend on is checked once. The
// reports come in the order of targets.
func CheckAll(ctx context.Context, targets []*target.Target, concurrency int, o Options) []*Report {
	panic("later")
}

// Healthy reports whether the check of t is healthy; degraded is not.
func Healthy(ctx context.Context, t *target.Target, o Options) bool {
	return Check(ctx, t, o).Status == StatusHealthy
}

// Handler serves the check of t: GET and HEAD run it and answer 200 for
// healthy and degraded, 503 otherwise, with the report as JSON.
func Handler(t *target.Target, o Options) http.Handler { panic("later") }

// Session is an open session, handed to custom checks.
type Session struct{}

package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// Causes of a context's end. They wrap DeadlineExceeded, so that the layers
// below take them for the end of time and not for a cancellation.
var (
	errOverall = fmt.Errorf("the overall timeout: %w", context.DeadlineExceeded)
	errStep    = fmt.Errorf("the timeout of the step: %w", context.DeadlineExceeded)
)

// run is the state of one check.
type run struct {
	t       *target.Target
	o       Options
	budgets budgets
	log     *wire.Log
	redact  *plain.Redactor
	started time.Time
	report  *Report
	peer    wire.Peer
	config  wire.Config
	session *wire.Session
	// listings are the inventories that were read to their end.
	listings map[wire.Inventory]*wire.Listing
	// barred is why no further step runs: the name of a failed required step,
	// or "" as long as there is none.
	barred string
}

// budgets are the times of one check, settled.
type budgets struct {
	overall, startup, step time.Duration
	steps                  map[target.Dimension]time.Duration
}

func (b budgets) of(d target.Dimension) time.Duration {
	if own := b.steps[d]; own > 0 {
		return own
	}
	return b.step
}

func firstSet[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

func newRun(t *target.Target, o Options) *run {
	redact := plain.NewRedactor()
	r := &run{t: t, o: o, redact: redact, log: wire.NewLog(redact), started: time.Now(), listings: map[wire.Inventory]*wire.Listing{}}
	r.budgets = budgets{
		overall: firstSet(o.Timeout, t.Budgets.Overall, DefaultTimeout),
		startup: firstSet(o.StartupTimeout, t.Budgets.Startup, DefaultStartupTimeout),
		step:    firstSet(o.CheckTimeout, t.Budgets.Step, DefaultCheckTimeout),
		steps:   t.Budgets.Steps,
	}
	if o.StartupTimeout == StartupWithinTimeout {
		r.budgets.startup = r.budgets.overall
	}
	r.report = &Report{
		Timestamp: r.started.UTC(),
		Target:    TargetInfo{Name: t.Label(), ID: t.ID, Transport: t.Kind(), Endpoint: t.Address()},
		Surface:   nil,
	}
	return r
}

// check runs the steps.
func (r *run) check(ctx context.Context) {
	if r.t.Checks != nil && len(r.t.Checks) == 0 {
		r.report.Status = StatusUnknown
		return
	}
	caller := ctx
	ctx, overall := r.startClock(ctx)
	defer overall.stop()
	if !r.configure(ctx) {
		r.skipStandard(StepConfiguration)
		return
	}
	r.begin(StepConnect)
	if r.t.HeadReachability && r.t.Kind() == target.HTTP {
		r.head(ctx)
	}
	switch {
	case r.barred != "":
		r.skipBarred(StepInitialize)
	case r.wantsOpening():
		r.open(ctx, overall)
	default:
		r.skip(StepInitialize, "not asked for", true)
	}
	if r.session != nil {
		defer func() { r.session.Close(ctx) }()
		r.judgeOpening()
	}
	r.capabilities(ctx)
	r.judgeLatency()
	r.call(ctx)
	r.custom(ctx)
	if r.o.Diagnose || r.o.Revisions {
		r.diagnose(caller)
	}
}

// clock is the overall timeout. It wraps a timer and not a deadline, because
// the start-up of a stdio server does not count.
type clock struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(nil)
}

func (r *run) startClock(ctx context.Context) (context.Context, *clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := r.budgets.overall
	if r.t.Kind() == target.Stdio && r.o.StartupTimeout != StartupWithinTimeout {
		d += r.budgets.startup
	}
	return ctx, &clock{cancel: cancel, timer: time.AfterFunc(d, func() { cancel(errOverall) })}
}

// wantsOpening reports whether anything asked for needs a session, or at least
// a first exchange.
func (r *run) wantsOpening() bool {
	for _, d := range []target.Dimension{target.Authentication, target.Protocol, target.Capability, target.Functional} {
		if r.t.Judges(d) {
			return true
		}
	}
	return len(r.o.Custom) > 0 || !r.t.HeadReachability && (r.t.Judges(target.Reachability) || r.t.Judges(target.Latency))
}

// begin announces a step.
func (r *run) begin(step string) {
	r.log.SetStep(step)
	if r.o.Progress != nil {
		r.o.Progress(step)
	}
}

// step runs f under the budget of a dimension and returns how long it took.
func (r *run) step(ctx context.Context, d target.Dimension, f func(ctx context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.budgets.of(d), errStep)
	defer cancel()
	start := time.Now()
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		err = r.interruption(ctx, d, err)
	}
	return time.Since(start), err
}

// interrupted is an error of a step whose context had ended.
type interrupted struct {
	cause error
	err   error
	// budget says which time was spent, when one was.
	budget string
}

// interruption says which budget ended a step.
func (r *run) interruption(ctx context.Context, d target.Dimension, err error) error {
	i := interrupted{cause: context.Cause(ctx), err: err}
	switch {
	case errors.Is(i.cause, errOverall):
		i.budget = fmt.Sprintf("the overall timeout is %s", r.budgets.overall)
	case errors.Is(i.cause, errStep):
		i.budget = fmt.Sprintf("the timeout of a step is %s", r.budgets.of(d))
	}
	return i
}

func (i interrupted) Error() string { return i.err.Error() }
func (i interrupted) Unwrap() error { return i.err }

// failure is what goes into a failed result.
type failure struct {
	reason  Reason
	text    string
	hint    string
	code    string // "" for that of the reason
	status  Status // "" for that of the reason
	details map[string]any
	// challenges are the raw WWW-Authenticate values of a refusal.
	challenges []string
}

// failureOf turns an error of the layers below into a failure.
func failureOf(err error) failure {
	f := failure{reason: reasonInternal, text: err.Error()}
	var e *wire.Error
	if errors.As(err, &e) {
		f = failure{reason: Reason(e.Reason), text: e.Text, hint: e.Hint, details: e.Details, challenges: e.Challenges}
		if e.RPC != nil {
			f.details = withDetail(f.details, "rpcCode", e.RPC.Code)
		}
	}
	var i interrupted
	if !errors.As(err, &i) {
		return f
	}
	switch {
	case errors.Is(i.cause, errStep):
		f.code = CodeCheckTimeout
	case errors.Is(i.cause, context.DeadlineExceeded): // ours, or that of the caller's context
		f.code = CodeOverallTimeout
	default:
		f.code, f.status, f.reason = CodeAborted, StatusUnhealthy, Reason(wire.ReasonAborted)
	}
	if i.budget != "" {
		f.text += " (" + i.budget + ")"
	}
	return f
}

func withDetail(m map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// dimensionOf says what a standard step judges.
func dimensionOf(step string) target.Dimension {
	switch step {
	case StepConfiguration:
		return target.Configuration
	case StepConnect:
		return target.Reachability
	case StepAuthentication:
		return target.Authentication
	case StepInitialize:
		return target.Protocol
	case StepTools, StepResources, StepPrompts:
		return target.Capability
	case StepLatency:
		return target.Latency
	case StepCall:
		return target.Functional
	case StepDependencies:
		return target.DependencyDimension
	default:
		return ""
	}
}

// add appends a result. A step over the latency that is allowed to any step is
// degraded and still passed.
func (r *run) add(res Result) *Result {
	if res.Dimension == "" {
		res.Dimension = dimensionOf(res.Name)
	}
	res.Message, res.Hint = r.safe(res.Message), r.safe(res.Hint)
	if res.Error != nil {
		res.Error.Message = r.safe(res.Error.Message)
	}
	res.Details = maps.Clone(res.Details) // a custom check may hand the same one out twice
	for name, v := range res.Details {
		res.Details[name] = r.safeDetail(v)
	}
	if most := firstSet(r.o.Expect.MaxLatency, r.t.Expect.MaxLatency); most > 0 && res.Status == StatusHealthy && !res.Skipped && res.DurationMs > MillisOf(most) {
		res.Status, res.Reason = StatusDegraded, reasonSlow
		res.Message += fmt.Sprintf("; took %.0f ms, more than %d", float64(res.DurationMs), most.Milliseconds())
		res.Hint = defaultHint(reasonSlow)
	}
	r.report.Checks = append(r.report.Checks, res)
	return &r.report.Checks[len(r.report.Checks)-1]
}

// maxText bounds one text of a report, in runes.
const maxText = 600

// safe makes one line fit for the report: secrets first, so that no cut leaves
// a part of one.
func (r *run) safe(text string) string { return plain.Line(r.redact.String(text), maxText) }

// safeDetail takes secrets out of the strings of a detail. The tail of standard
// error keeps its lines.
func (r *run) safeDetail(v any) any {
	switch v := v.(type) {
	case string:
		return plain.Text(r.redact.String(v), 16*maxText)
	case []string:
		for i := range v {
			v[i] = r.redact.String(v[i])
		}
	}
	return v
}

// pass adds a healthy result.
func (r *run) pass(step, message string, d time.Duration, details map[string]any) *Result {
	return r.add(Result{Name: step, Status: StatusHealthy, Passed: true, DurationMs: MillisOf(d), Message: message, Details: details})
}

// fail adds a failed result.
func (r *run) fail(step string, f failure) { r.failAfter(step, f, 0) }

func (r *run) failAfter(step string, f failure, d time.Duration) *Result {
	info := infoOf(f.reason)
	status := firstSet(f.status, info.Status, StatusUnknown)
	if status == StatusHealthy { // a note's reason that turned out fatal
		status = StatusUnhealthy
	}
	return r.add(Result{
		Name: step, Status: status, Passed: false, DurationMs: MillisOf(d),
		Message: f.text, Reason: f.reason, Hint: firstSet(f.hint, info.Hint),
		Error:   &Failure{Code: firstSet(f.code, info.Code, CodeUnknown), Message: f.text},
		Details: f.details,
	})
}

// skip adds a step that did not run. passed is for what the server does not
// offer, or was told to leave out.
func (r *run) skip(step, message string, passed bool) *Result {
	res := Result{Name: step, Skipped: true, Passed: passed, Status: StatusUnknown, Message: message}
	if passed {
		res.Status = StatusHealthy
	}
	return r.add(res)
}

// skipBarred adds a step that cannot run any more.
func (r *run) skipBarred(step string) {
	if r.barred == CodeOverallTimeout {
		res := r.skip(step, "not run: the overall timeout was spent", false)
		res.Error = &Failure{Code: CodeOverallTimeout, Message: "the overall timeout was spent before this step"}
		return
	}
	r.skip(step, "not run, because "+r.barred+" failed", false)
}

// bar keeps later steps from running after step failed.
func (r *run) bar(step string, f failure) {
	if r.barred != "" {
		return
	}
	r.barred = step
	if f.code == CodeOverallTimeout {
		r.barred = CodeOverallTimeout
	}
}

// ready reports whether a step may run, and adds it as skipped when not.
func (r *run) ready(ctx context.Context, step string) bool {
	if r.barred == "" && ctx.Err() != nil {
		r.barred = CodeOverallTimeout
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			r.fail(step, failure{reason: Reason(wire.ReasonAborted), text: "the check was cancelled", code: CodeAborted})
			r.barred = step
			return false
		}
	}
	if r.barred != "" {
		r.skipBarred(step)
		return false
	}
	return true
}

// skipStandard adds every standard step that has not been added as skipped.
func (r *run) skipStandard(because string) {
	r.barred = because
	for _, step := range []string{StepConnect, StepInitialize, StepTools, StepResources, StepPrompts} {
		if r.report.Result(step) == nil {
			r.skipBarred(step)
		}
	}
	for _, c := range r.o.Custom {
		r.skipBarred(c.Name)
	}
}

// finish computes what follows from the results.
func (r *run) finish() *Report {
	rep := r.report
	worst := StatusHealthy
	if len(rep.Checks) == 0 {
		worst = StatusUnknown
	}
	for _, c := range rep.Checks {
		switch {
		case c.Skipped:
			rep.Summary.Skipped++
			if c.Error != nil { // the time ran out before it
				worst = worst.Worse(StatusUnknown)
			}
			continue
		case c.Passed:
			rep.Summary.Passed++
		default:
			rep.Summary.Failed++
		}
		rep.Summary.Total++
		worst = worst.Worse(c.Status)
	}
	rep.Status = worst
	rep.TotalMs = MillisOf(time.Since(r.started))
	r.takeEvidence()
	r.takeNotes()
	return rep
}

func (r *run) takeNotes() {
	for _, n := range r.log.Notes() {
		r.report.Notes = append(r.report.Notes, Note{
			Reason: Reason(n.Reason), Text: n.Text, Hint: firstSet(plain.Line(r.redact.String(n.Hint), 400), defaultHint(Reason(n.Reason))),
			Step: n.Step, Count: n.Count,
		})
	}
}

func (r *run) skips(step string) bool { return slices.Contains(r.o.Skip, step) }

package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/credential"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// run is the state of one check.
type run struct {
	t       *target.Target
	o       Options
	budgets budgets
	clock   *clock
	log     *wire.Log
	// secrets and redact are those of the report. Short secrets are in redact alone.
	secrets, redact *plain.Redactor
	started         time.Time
	report          *Report
	peer            wire.Peer
	config          wire.Config
	net             netguard.Options
	oauth           *oauth
	// beside reaches metadata and token endpoints; nil until it is needed.
	beside  *credential.Transport
	session *wire.Session
	// listings are the inventories that were read to their end.
	listings map[wire.Inventory]*wire.Listing
	// refusal is how the server refused, for the audit of its chain.
	refusal refusal
	// ladder is the discovery chain, once it was walked.
	ladder *access.Ladder
	// barred is why no further step runs, or nil as long as there is no reason.
	barred *bar
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

func newRun(t *target.Target, o Options, c *clock) *run {
	secrets := o.Secrets.redactor()
	redact := secrets.Extend()
	r := &run{
		t: t, o: o, clock: c, budgets: settleBudgets(t, o), secrets: secrets, redact: redact, log: wire.NewLog(redact), started: time.Now(),
		listings: map[wire.Inventory]*wire.Listing{},
	}
	r.report = &Report{
		Timestamp: r.started.UTC(),
		Target:    TargetInfo{Name: t.Label(), ID: t.ID, Transport: t.Kind(), Endpoint: t.Address()},
		Checks:    []Result{},
		secrets:   secrets,
		redact:    redact,
	}
	return r
}

// refusal is a 401 or 403.
type refusal struct {
	status     int
	challenges []string
}

// bar is what keeps later steps from running.
type bar struct {
	step string // the one that failed
	// spent: it was the overall timeout, whatever the step.
	spent bool
}

// check runs the steps.
func (r *run) check(ctx context.Context) {
	if r.t.Checks != nil && len(r.t.Checks) == 0 {
		return
	}
	if !r.configure(ctx) {
		r.skipStandard()
		return
	}
	if r.t.AuditChain {
		r.audit(ctx)
		return
	}
	r.begin(StepConnect)
	if r.t.HeadReachability && r.t.Kind() == target.HTTP {
		r.head(ctx)
	}
	switch {
	case r.barred != nil:
		r.skipBarred(StepInitialize)
	case r.wantsSession() || !r.t.HeadReachability && (r.t.Judges(target.Reachability) || r.t.Judges(target.Latency)):
		r.open(ctx)
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
		r.diagnose(ctx)
	}
}

// wantsSession reports whether anything asked for needs more of the server than
// any answer at all.
func (r *run) wantsSession() bool {
	for _, d := range []target.Dimension{target.Authentication, target.Protocol, target.Capability, target.Functional} {
		if r.t.Judges(d) {
			return true
		}
	}
	return len(r.o.Custom) > 0
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
	// answered: at least a byte of an answer had come. httpStatus is its status.
	answered   bool
	httpStatus int
	// login: it happened on the way to a token, not on that to the server.
	login bool
}

// dimension is the step that an opening which failed with it belongs to.
func (f failure) dimension() target.Dimension {
	if d := infoOf(f.reason).dimension; d != target.Reachability || !f.login {
		return d
	}
	return target.Authentication
}

// timeouts are the reasons that say that time ran out.
var timeouts = []Reason{wire.ReasonTimeout, wire.ReasonProbeTimeout, wire.ReasonPartialResponse, wire.ReasonSSEStalled, "connect-timeout"}

// failureOf turns an error of the layers below into a failure.
func failureOf(err error) failure {
	f := failure{reason: reasonInternal, text: err.Error()}
	var e *wire.Error
	if errors.As(err, &e) {
		f = failure{reason: Reason(e.Reason), text: e.Text, hint: e.Hint, details: e.Details, challenges: e.Challenges, answered: e.Seen, httpStatus: e.HTTPStatus}
		if e.RPC != nil {
			f.details = withDetail(f.details, "rpcCode", e.RPC.Code)
		}
	}
	if a := (*access.Error)(nil); errors.As(err, &a) {
		f.login = true
		if a.Unknown {
			f.status = StatusUnknown // nothing was learnt about the credential
		}
	}
	var i interrupted
	if !errors.As(err, &i) {
		if slices.Contains(timeouts, f.reason) { // that of a budget inside the step
			f.code = CodeCheckTimeout
		}
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
	for name, v := range res.Details {
		res.Details[name] = r.safeDetail(v)
	}
	if most := firstSet(r.o.Expect.MaxLatency, r.t.Expect.MaxLatency); most > 0 && res.Status == StatusHealthy && !res.Skipped && res.DurationMs > MillisOf(most) {
		res.Status, res.Reason = StatusDegraded, reasonSlow
		res.Message += fmt.Sprintf("; took %s, more than %s", res.DurationMs, MillisOf(most))
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
	r.report.answered = r.report.answered || f.answered
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
	if r.barred.spent {
		res := r.skip(step, "not run: the overall timeout was spent", false)
		res.Error = &Failure{Code: CodeOverallTimeout, Message: "the overall timeout was spent before this step"}
		return
	}
	r.skip(step, "not run, because "+r.barred.step+" failed", false)
}

// bar keeps later steps from running after step failed.
func (r *run) bar(step string, f failure) {
	if r.barred == nil {
		r.barred = &bar{step: step, spent: f.code == CodeOverallTimeout}
	}
}

// ready reports whether a step may run, and adds it as skipped when not.
func (r *run) ready(ctx context.Context, step string) bool {
	switch {
	case r.barred != nil:
	case ctx.Err() == nil:
		return true
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		r.barred = &bar{step: step, spent: true}
	default:
		r.fail(step, failure{reason: Reason(wire.ReasonAborted), text: "the check was cancelled", code: CodeAborted})
		r.barred = &bar{step: step}
		return false
	}
	r.skipBarred(step)
	return false
}

// skipStandard adds every step after a failed configuration as skipped.
func (r *run) skipStandard() {
	r.barred = &bar{step: StepConfiguration}
	for _, step := range []string{StepConnect, StepInitialize, StepTools, StepResources, StepPrompts} {
		r.skipBarred(step)
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
	if r.oauth != nil {
		r.oauth.finish()
	}
	if r.beside != nil {
		r.beside.CloseIdleConnections()
	}
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

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// Bounds of what a report repeats of an inventory.
const (
	maxNames    = 1000 // in details
	maxNamesRow = 10   // in a message
	maxNameText = 128  // runes of one
)

// capabilities lists what the server declares, one step an inventory.
func (r *run) capabilities(ctx context.Context) {
	for _, step := range []string{StepTools, StepResources, StepPrompts} {
		r.capability(ctx, step)
	}
}

func (r *run) capability(ctx context.Context, step string) {
	required := r.required(step)
	switch {
	case r.skips(step):
		r.skip(step, "left out on request", true)
		return
	case r.barred == nil && !r.t.Judges(target.Capability) && (step != StepTools || r.t.Call == nil) && len(r.o.Custom) == 0:
		r.skip(step, "not asked for", true)
		return
	case !r.ready(ctx, step):
		return
	case r.session == nil:
		r.skip(step, "not asked for", true)
		return
	case !r.session.Declares(step):
		r.undeclared(step, required)
		return
	}
	r.begin(step)
	r.list(ctx, step, required)
}

// undeclared passes over an inventory that the server does not offer, unless
// something in it is needed.
func (r *run) undeclared(step string, required []string) {
	*r.report.Inventory.list(wire.Inventory(step)) = []json.RawMessage{}
	if step == StepResources {
		r.report.Inventory.ResourceTemplates = []json.RawMessage{}
	}
	if len(required) > 0 {
		r.fail(step, failure{reason: reasonRequiredMissing, text: fmt.Sprintf("%s is required, and the server does not declare %s", quoted(required[0]), step), details: map[string]any{"missing": safeNames(required)}})
		return
	}
	if low, most := r.bounds(step); low != nil && *low > 0 {
		r.outOfBounds(step, 0, low, most, 0, nil)
		return
	}
	r.skip(step, "the server does not declare "+step, true)
}

// required returns the items of a step that must be there.
func (r *run) required(step string) []string {
	pick := func(e target.Expectations) []string {
		switch step {
		case StepTools:
			return e.Tools
		case StepResources:
			return e.Resources
		default:
			return e.Prompts
		}
	}
	return append(slices.Clone(pick(r.t.Expect)), pick(r.o.Expect)...)
}

// bounds returns the count thresholds of a step.
func (r *run) bounds(step string) (low, most *int) {
	a, b := r.o.Expect, r.t.Expect
	switch step {
	case StepTools:
		return firstSet(a.MinTools, b.MinTools), firstSet(a.MaxTools, b.MaxTools)
	case StepResources:
		return firstSet(a.MinResources, b.MinResources), nil
	default:
		return firstSet(a.MinPrompts, b.MinPrompts), nil
	}
}

// list reads one inventory (resources with their templates) and judges it.
func (r *run) list(ctx context.Context, step string, required []string) {
	var listing, templates *wire.Listing
	d, err := r.step(ctx, target.Capability, func(ctx context.Context) (err error) {
		if listing, err = r.session.List(ctx, wire.Inventory(step)); err != nil || step != StepResources {
			return err
		}
		templates, err = r.session.List(ctx, wire.ResourceTemplates)
		return err
	})
	if err != nil {
		f := failureOf(err)
		r.listFailed(step, f, d)
		return
	}
	r.keep(listing, templates)
	details := r.inventoryDetails(step, listing, templates)
	switch missing := absent(listing, required); {
	case len(listing.Schemas) > 0:
		r.unusableTools(listing, d)
	case len(missing) > 0:
		r.failAfter(step, failure{reason: reasonRequiredMissing, text: fmt.Sprintf("%s is required and not listed", quoted(missing[0])) + more(len(missing)), details: withDetail(details, "missing", safeNames(missing))}, d)
	case listing.Unsupported:
		r.log.Note(string(reasonCapabilityMismatch), fmt.Sprintf("the server declares %s, and answers %s/list with method not found", step, step), "")
		r.pass(step, fmt.Sprintf("declared, but %s/list is not implemented", step), d, details)
	default:
		r.judgeCount(step, listing, templates, d, details)
	}
}

// listFailed judges a listing that did not come to its end. A refusal of the
// credential is about access, and bars what is left.
func (r *run) listFailed(step string, f failure, d time.Duration) {
	if f.dimension() == target.Authentication {
		f.text = fmt.Sprintf("%s/list was refused: %s", step, f.text)
		r.explainRefusal(&f)
		r.report.Checks = slices.DeleteFunc(r.report.Checks, func(c Result) bool { return c.Name == StepAuthentication })
		r.fail(StepAuthentication, f)
		r.bar(StepAuthentication, f)
		r.skipBarred(step)
		return
	}
	r.failAfter(step, f, d)
	if f.code == CodeAborted || f.code == CodeOverallTimeout {
		r.bar(step, f)
	}
}

// keep remembers listings for the calls that follow and for the report.
func (r *run) keep(listings ...*wire.Listing) {
	if r.report.Surface == nil {
		r.report.Surface = &Surface{}
	}
	s := r.report.Surface
	for _, l := range listings {
		if l == nil {
			continue
		}
		r.listings[l.Inventory] = l
		*r.report.Inventory.list(l.Inventory) = l.Raw()
		if l.Disputed {
			r.report.Inventory.Disputed = append(r.report.Inventory.Disputed, kindOf(l.Inventory))
		}
		if l.Unsupported {
			if l.Inventory == wire.Tools { // declared, and refused: what a failure looks like, too
				r.report.Inventory.Tools = nil
			}
			continue
		}
		n := len(l.Items)
		switch l.Inventory {
		case wire.Tools:
			s.Tools = &n
		case wire.Resources:
			s.Resources = &n
		case wire.ResourceTemplates:
			s.ResourceTemplates = &n
		case wire.Prompts:
			s.Prompts = &n
		}
	}
}

func (r *run) unusableTools(l *wire.Listing, d time.Duration) {
	first := l.Schemas[0]
	r.failAfter(StepTools, failure{
		reason: reasonToolSchema,
		text: fmt.Sprintf("the tool \"%s\" (entry %d) has an unusable schema: %s %s; %d of %d tools are affected, and strict clients show none of its tools",
			first.Tool, first.Index, first.Pointer, first.Text, len(l.Schemas), len(l.Items)),
		details: map[string]any{"tool": first.Tool, "index": first.Index, "pointer": first.Pointer, "toolCount": len(l.Items), "toolNames": r.names(l)},
	}, d)
}

// judgeCount compares the size of an inventory with its thresholds.
func (r *run) judgeCount(step string, l, templates *wire.Listing, d time.Duration, details map[string]any) {
	n := len(l.Items)
	low, most := r.bounds(step)
	if low != nil && n < *low || most != nil && n > *most {
		r.outOfBounds(step, n, low, most, d, details)
		return
	}
	message := count(n, strings.TrimSuffix(step, "s"))
	if templates != nil && templates.Unsupported {
		r.log.Note(string(reasonCapabilityMismatch), "the server declares resources, and answers resources/templates/list with method not found", "")
	} else if templates != nil && len(templates.Items) > 0 {
		message += ", " + count(len(templates.Items), "template")
	}
	if step == StepTools && n > 0 {
		message += ": " + strings.Join(r.names(l)[:min(n, maxNamesRow)], ", ")
		if n > maxNamesRow {
			message += ", …"
		}
	}
	r.pass(step, message, d, details)
}

func (r *run) outOfBounds(step string, n int, low, most *int, d time.Duration, details map[string]any) {
	f := failure{reason: reasonTooFew, details: details}
	if most != nil && n > *most {
		f.reason = reasonTooMany
		f.text = fmt.Sprintf("%s, and at most %d may be there", count(n, strings.TrimSuffix(step, "s")), *most)
	} else {
		f.text = fmt.Sprintf("%s, and at least %d must be there", count(n, strings.TrimSuffix(step, "s")), *low)
	}
	r.failAfter(step, f, d)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func more(n int) string {
	if n > 1 {
		return fmt.Sprintf(", and %d more", n-1)
	}
	return ""
}

// quoted is for the names that the operator gave.
func quoted(name string) string { return fmt.Sprintf("\"%s\"", plain.Line(name, maxNameText)) }

func absent(l *wire.Listing, required []string) []string {
	var missing []string
	for _, name := range required {
		if l.Find(name) == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

func safeNames(all []string) []string {
	out := make([]string, 0, min(len(all), maxNames))
	for _, name := range all[:min(len(all), maxNames)] {
		out = append(out, plain.Line(name, maxNameText))
	}
	return out
}

func (r *run) names(l *wire.Listing) []string {
	keys := make([]string, len(l.Items))
	for i, item := range l.Items {
		keys[i] = r.redact.String(item.Key)
	}
	return safeNames(keys)
}

// inventoryDetails has the names and shapes of mcp-healthcheck.
func (r *run) inventoryDetails(step string, l, templates *wire.Listing) map[string]any {
	one := strings.TrimSuffix(step, "s")
	list := one + "Names"
	if step == StepResources {
		list = "resourceUris"
	}
	details := map[string]any{one + "Count": len(l.Items), list: r.names(l)}
	if templates != nil {
		details["templateCount"] = len(templates.Items)
		details["templateUris"] = r.names(templates)
	}
	return details
}

// judgeLatency judges the first exchange against its threshold.
func (r *run) judgeLatency() {
	limit := firstSet(r.o.Expect.FirstResponse, r.t.Expect.FirstResponse)
	if !r.t.Judges(target.Latency) || limit == 0 && r.t.Checks == nil {
		return
	}
	took, ok := r.firstResponse()
	if !ok {
		r.skip(StepLatency, "not run, because the server did not answer", false)
		return
	}
	message := fmt.Sprintf("the first answer began after %s", MillisOf(took))
	if limit == 0 || took <= limit {
		r.pass(StepLatency, message, took, nil)
		return
	}
	r.add(Result{
		Name: StepLatency, Status: StatusDegraded, Passed: true, DurationMs: MillisOf(took), Reason: reasonSlow,
		Message: fmt.Sprintf("%s, more than %s", message, MillisOf(limit)), Hint: defaultHint(reasonSlow),
	})
}

// custom runs the caller's own checks.
func (r *run) custom(ctx context.Context) {
	for _, c := range r.o.Custom {
		if r.ready(ctx, c.Name) {
			r.begin(c.Name)
			r.customCheck(ctx, c)
		}
	}
}

func (r *run) customCheck(ctx context.Context, c Custom) {
	status := StatusDegraded
	if c.Required {
		status = StatusUnhealthy
	}
	var out CustomResult
	d, err := r.step(ctx, "", func(ctx context.Context) (err error) {
		s := &Session{run: r}
		defer s.over.Store(true)
		out, err = guarded(ctx, c, s)
		return err
	})
	out.Details = r.plainDetails(out.Details)
	switch {
	case err != nil:
		f := failureOf(err)
		if f.code == "" {
			f.code = CodeCustomCheck
		}
		if f.status == "" {
			f.status = status
		}
		f.reason, f.text = reasonCustomCheck, fmt.Sprintf("the check \"%s\" failed: %s", plain.Line(c.Name, maxNameText), r.safe(err.Error()))
		r.failAfter(c.Name, f, d)
		if f.code == CodeAborted || f.code == CodeOverallTimeout {
			r.bar(c.Name, f)
		}
	case !out.Passed:
		r.failAfter(c.Name, failure{reason: reasonCustomCheck, text: firstSet(out.Message, "the check did not pass"), status: status, details: out.Details}, d)
	default:
		r.pass(c.Name, out.Message, d, out.Details)
	}
}

// plainDetails makes the details of a custom check the report's own: what they
// hold is copied through JSON, without the run's secrets. Details that do not
// marshal are replaced by a word about it, because a report always does.
func (r *run) plainDetails(details map[string]any) map[string]any {
	if len(details) == 0 {
		return nil
	}
	data, err := json.Marshal(details)
	if err != nil {
		return map[string]any{"error": "the details cannot be marshalled: " + r.safe(err.Error())}
	}
	var out map[string]any
	if err := json.Unmarshal(r.redact.Bytes(data), &out); err != nil {
		return map[string]any{"error": "the details cannot be shown"}
	}
	return out
}

// guarded runs a custom check on a goroutine of its own, so that one which
// ignores its context cannot hold up the report, and turns a panic into an error.
func guarded(ctx context.Context, c Custom, s *Session) (CustomResult, error) {
	type done struct {
		out CustomResult
		err error
	}
	ch := make(chan done, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ch <- done{err: fmt.Errorf("it panicked: %v", p)}
			}
		}()
		if c.Run == nil {
			ch <- done{err: errors.New("it has no function")}
			return
		}
		out, err := c.Run(ctx, s)
		ch <- done{out, err}
	}()
	select {
	case d := <-ch:
		return d.out, d.err
	case <-ctx.Done():
	}
	select {
	case d := <-ch:
		return d.out, d.err
	default:
		return CustomResult{}, context.Cause(ctx)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// What lock, verify, diff and lint share: the lockfile, the policy, and listing
// servers without doing anything else to them.

// driftOptions are what a change does.
type driftOptions struct {
	policy  string
	effects []string
}

func (o *driftOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupDrift, func() {
		fs.Var(checked{&o.policy, typePolicy, isPolicy}, "drift-policy", "what changes do: alert, record or seed (default: monitor.drift_policy of the file, else alert)")
		fs.Var(list{&o.effects, typeEffect, isEffect}, "effect", "what the changes of a class do, as `CLASS=fail`, event or silent (repeatable)")
	})
}

func policies() []string { return texts(surface.Policies()) }

func isPolicy(s string) error { return oneOf(policies()...)(s) }

func effects() []string { return texts(surface.Effects()) }

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func classes() []string {
	var names []string
	for _, c := range surface.Classes() {
		names = append(names, string(c.Class))
	}
	return names
}

func isEffect(s string) error {
	class, effect, err := pair(s, "=")
	if err != nil {
		return errors.New("not of the form CLASS=EFFECT")
	}
	if !slices.Contains(classes(), class) {
		if near := nearest(class, classes()); near != "" {
			return fmt.Errorf("no class of changes; did you mean %s?", near)
		}
		return errors.New("no class of changes; docs/surface.md lists them")
	}
	if !slices.Contains(effects(), effect) {
		return errors.New("an effect is fail, event or silent")
	}
	return nil
}

// over lays the flags over the policy of a file.
func (o *driftOptions) over(p surface.Policy) surface.Policy {
	if o.policy != "" {
		p.Base = surface.PolicyName(o.policy)
	}
	p.Effects = maps.Clone(p.Effects)
	for _, s := range o.effects {
		if p.Effects == nil {
			p.Effects = map[surface.Class]surface.Effect{}
		}
		class, effect, _ := strings.Cut(s, "=")
		p.Effects[surface.Class(strings.TrimSpace(class))] = surface.Effect(effect)
	}
	return p
}

// clientOf is the client identity of a listing, as a baseline is bound to it.
func clientOf(c probe.Client) string { return baseline.ClientOf(c.Name, c.UserAgent) }

// observation is what fresh listings of one server came to.
type observation struct {
	target *target.Target
	// approved is what it was compared with.
	approved *baseline.Baseline
	// report is that of the last listing; nil when there was none.
	report *probe.Report
	// seen is the last listing, or nil when that got nowhere.
	seen   *surface.Surface
	result *baseline.Result
	// err is why the result is misconfigured, when that is not in the report.
	err error
	// line is the command that observes, of which advice is made.
	line commandLine
	// identities are the others that the server was listed as.
	identities []render.Identity
}

// observe lists t afresh until the result counts.
func observe(ctx context.Context, t *target.Target, b *baseline.Baseline, policy surface.Policy, rules lint.Options, p probe.Options) *observation {
	o := &observation{target: t, approved: b}
	seen := baseline.Observe(b, policy, rules)
	for again := true; again; {
		o.report = probe.Check(ctx, t.Listing(), p)
		s := o.report.Snapshot()
		if !anything(s) && !(t.AuditChain && hasLogin(s)) {
			o.seen, o.result = nil, unlisted(o.report, b) // what was seen before is not confirmed
			return o
		}
		o.seen = s
		o.result, again = seen.Add(s)
	}
	if o.result.Status == baseline.Unknown && o.report.Status == probe.StatusMisconfigured {
		o.result.Cause = baseline.Misconfigured
		o.result.Judge()
	}
	return o
}

// hasLogin reports whether s has metadata of a login, of which there may be none.
func hasLogin(s *surface.Surface) bool {
	return s != nil && slices.ContainsFunc(s.Of(surface.Auth), func(i surface.Item) bool { return string(i.Definition) != "{}" })
}

// listsNothing is the error of a target whose check does not get to any list.
func listsNothing(t *target.Target) error {
	if !t.AuditChain {
		return nil
	}
	return hinted(errors.New("this target is checked for its login only, and lists nothing"), "give it a credential to list with, in place of auth.mode oauth or --auth-chain")
}

// anything reports whether any inventory was listed.
func anything(s *surface.Surface) bool { return s != nil && len(s.Unlisted()) < 4 }

// unlisted is the result when nothing was listed. Without a report it was not even
// tried.
func unlisted(r *probe.Report, b *baseline.Baseline) *baseline.Result {
	cause := baseline.Unknown
	if r == nil || r.Status == probe.StatusMisconfigured {
		cause = baseline.Misconfigured
	}
	return baseline.Unseen(cause, b)
}

// complete reports whether all of the server is known, or all that is asked for: its
// login.
func (o *observation) complete() bool {
	return o.seen != nil && (len(o.seen.Unlisted()) == 0 || o.target.AuditChain) && len(o.result.Unlisted) == 0 && o.result.Cause == ""
}

// each runs f with the index of every target of sel, some at a time, while progress
// is shown.
func (a *app) each(sel *selection, quiet bool, f func(i int)) {
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	progress := a.newProgress(quiet)
	defer progress.done()
	if n := len(sel.targets); n == 1 {
		progress.show("listing %s", sel.targets[0].Label())
	} else {
		progress.show("listing %d servers", n)
	}
	slots := make(chan struct{}, max(1, sel.concurrency))
	var wg sync.WaitGroup
	for i := range sel.targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// maxRemarks bounds what is said beside the table of changes, in lines.
const maxRemarks = 5

// verification is o as it is shown.
func (o *observation) verification() *render.Verification {
	v := &render.Verification{Source: o.target.Label(), Result: *o.result}
	info := probe.TargetInfo{Name: o.target.Label(), ID: o.target.ID, Transport: o.target.Kind(), Endpoint: o.target.Address()}
	v.Target = &info
	if o.report != nil {
		v.Target, v.Timestamp, v.TotalMs = &o.report.Target, o.report.Timestamp, o.report.TotalMs
	}
	explain(v, o.report, o.seen, o.err)
	if v.Message == "" && slices.Contains(o.result.Unlisted, surface.Auth) {
		v.Message = "the metadata of the login is approved, and could not be looked at"
		v.Hint = "run it again; the server, or its authorization server, did not answer"
	}
	v.Remarks, v.Identities = o.remarks(), o.identities
	for _, i := range o.identities {
		if i.Listed && i.Differences == 0 {
			v.Remarks = append(v.Remarks, "also listed as "+i.Name+": the same")
		}
	}
	return v
}

// explain says in v why not all of a surface is known, if so.
func explain(v *render.Verification, r *probe.Report, seen *surface.Surface, err error) {
	switch e := (*userError)(nil); {
	case err != nil:
		v.Message = err.Error()
		if errors.As(err, &e) && len(e.hints) > 0 {
			v.Hint = e.hints[0]
		}
	case r != nil && (seen == nil || len(seen.Unlisted()) > 0 && anything(seen)):
		v.Because(r)
	}
}

// remarks are what of the changes has to be read to its end: the mask that a text
// needs, and the rule that a cloaked surface breaks.
func (o *observation) remarks() []string {
	var out []string
	said := map[string]bool{}
	for _, c := range o.result.Changes {
		if c.Class != surface.VolatileText && c.Class != surface.CloakedSurface || len(out) == maxRemarks {
			continue
		}
		detail := c.Detail
		if c.Mask != nil {
			if flag := baseline.FormatMask(*c.Mask); len(flag) <= maxMask {
				detail += ": if that is meant: " + o.line.lock(o.target, "--mask", flag)
			}
		}
		if !said[detail] {
			said[detail] = true
			out = append(out, place(string(c.Kind), c.Item, c.Pointer)+": "+detail)
		}
	}
	if remark := o.maskRemark(); remark != "" {
		out = append(out, remark)
	}
	return out
}

// driftCode is the exit code for results, the worst of them.
func driftCode(results []*baseline.Result) int {
	code := exitHealthy
	for _, r := range results {
		code = worseCode(code, statusCode(mapOwn, verdictOf(r.Status)))
	}
	return code
}

// verdictOf is the verdict on a check that a status amounts to.
func verdictOf(s baseline.Status) probe.Status {
	switch s {
	case baseline.Approved:
		return probe.StatusHealthy
	case baseline.Misconfigured:
		return probe.StatusMisconfigured
	case baseline.Unknown:
		return probe.StatusUnknown
	default:
		return probe.StatusUnhealthy
	}
}

// worseCode is the worse of two exit codes.
func worseCode(a, b int) int {
	order := []int{exitHealthy, exitDegraded, exitUnknown, exitMisconfigured, exitUnhealthy}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// concludeDrift writes verifications and returns the exit code that they deserve.
func (a *app) concludeDrift(o *outputOptions, command string, verifications []*render.Verification) (int, error) {
	results := make([]*baseline.Result, len(verifications))
	for i, v := range verifications {
		results[i] = &v.Result
	}
	return driftCode(results), a.writeAll(o, func(w io.Writer, out *outputOptions) error {
		return render.Drift(w, out.format, command, verifications, a.renderOptions(out))
	})
}

// readWhole reads a file of at most limit bytes; "-" is standard input.
func (a *app) readWhole(path string, limit int64) ([]byte, error) {
	r := a.stdin
	if path != "-" {
		if config.Pipe(path) {
			return nil, errors.New("a pipe or socket")
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", path, limit>>20)
	}
	return data, err
}

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// sight is a surface that one check saw.
type sight struct {
	monitor *entry
	target  *target.Target
	options probe.Options
	memory  *memory
	surface *surface.Surface
	report  *probe.Report
}

// verdictKey is what a verdict is about.
type verdictKey struct {
	monitor int64
	version store.Version
	updated int64 // of the monitor: its policy is part of the verdict
	digest  surface.Digest
}

// baselinesKey is whose approvals are loaded.
type baselinesKey struct {
	monitor, approvals int64
}

func (s *sight) key() verdictKey {
	m := s.monitor
	return verdictKey{m.ID, store.Version{Revision: m.Revision, Approvals: m.Approvals}, m.UpdatedAt.UnixMilli(), s.surface.Digest()}
}

// judge adds to o what the surface of a check means. What is new to the monitor is
// listed again, without any call, until the verdict counts.
func (e *Engine) judge(ctx context.Context, s *sight, o *watch.Observation) error {
	m, now := s.monitor, o.Started
	o.Binding = baseline.BindingOf(s.target, clientOf(e.o.Client))
	o.MissingTools = m.Definition.Missing(s.surface)
	var err error
	switch known := s.surface.Digest(); {
	case !m.hasApproval(now):
		if whole(s.surface, s.target) {
			o.Findings = e.findings(s.surface)
		}
	case !s.memory.isBound || s.memory.bound != o.Binding || s.memory.boundAt != m.Approvals:
		err = e.verify(ctx, s, o)
	case m.approves(known, now) && len(e.findings(s.surface)) == 0:
		o.Verified = &baseline.Result{Status: baseline.Approved, Digest: known, Approved: known}
	default:
		r, ok := e.verdicts.get(s.key())
		if !ok || s.memory.judged != known { // what changed is told with what it changed from
			err = e.verify(ctx, s, o)
			break
		}
		o.Verified = r
	}
	if err != nil || s.surface == nil {
		return err
	}
	if whole(s.surface, s.target) {
		o.Surface, o.Digest = s.surface, s.surface.Digest()
	}
	return e.before(ctx, s, o)
}

// findings are the verdicts on a surface that nothing is approved of.
func (e *Engine) findings(s *surface.Surface) []baseline.Verdict {
	if known, ok := e.linted.get(s.Digest()); ok {
		return known
	}
	found := baseline.Judge(lint.Scan(s, lint.Options{}))
	e.linted.put(s.Digest(), found, 256+1024*len(found))
	return found
}

// before finds the surface that was seen before, where it is another one.
func (e *Engine) before(ctx context.Context, s *sight, o *watch.Observation) error {
	digest := s.surface.Digest()
	if o.Surface == nil || s.memory.judged == digest { // nothing new
		return nil
	}
	state, err := e.state(ctx, s.monitor.ID)
	if err != nil {
		return err
	}
	if state != nil && !state.Digest.IsZero() && state.Digest != digest {
		o.Before, err = e.surface(ctx, state.Digest)
	}
	return err
}

func (e *Engine) state(ctx context.Context, monitor int64) (*watch.State, error) {
	var out *watch.State
	err := e.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		states, err := tx.States(ctx, []int64{monitor}, false)
		if st, ok := states[monitor]; ok {
			out = &st
		}
		return err
	})
	return out, err
}

// surface returns a surface that was seen before, or nil when it is not kept any more.
func (e *Engine) surface(ctx context.Context, digest surface.Digest) (*surface.Surface, error) {
	if s, ok := e.surfaces.get(digest); ok {
		return s, nil
	}
	var s *surface.Surface
	err := e.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = tx.Surface(ctx, digest)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

// verify compares a surface with what is approved. It leaves s without a surface when
// what it saw could not be confirmed.
func (e *Engine) verify(ctx context.Context, s *sight, o *watch.Observation) error {
	approved, err := e.baselines(ctx, s.monitor, o.Started)
	if err != nil {
		return err
	}
	if len(approved) == 0 { // they ended in the meantime
		s.surface = nil
		return nil
	}
	if i := slices.IndexFunc(approved, func(b *baseline.Baseline) bool { return b.Binding == o.Binding }); i < 0 {
		o.Baseline = approved[0] // of another binding, which ends it
		o.Findings = e.findings(s.surface)
		return nil
	}
	s.memory.bound, s.memory.boundAt, s.memory.isBound = o.Binding, s.monitor.Approvals, true
	approved = slices.DeleteFunc(slices.Clone(approved), func(b *baseline.Baseline) bool { return b.Binding != o.Binding })
	policy := s.monitor.Definition.Policy()
	b := nearest(approved, s.surface, policy)
	first := s.surface.Digest()
	if r, ok := e.verdicts.get(s.key()); ok {
		o.Verified, o.Baseline = r, b
		return nil
	}
	known, err := e.seenBefore(ctx, s)
	if err != nil {
		return err
	}
	r, err := e.confirm(ctx, s, baseline.Observe(b, policy, lint.Options{}), known)
	if err != nil || s.surface == nil {
		return err
	}
	o.Verified, o.Baseline = r, b
	if r.Status != baseline.Inconsistent && s.surface.Digest() == first {
		e.verdicts.put(s.key(), r, cost(r))
	}
	return nil
}

// seenBefore reports whether the surface is the one that was judged last, so that it
// was confirmed then.
func (e *Engine) seenBefore(ctx context.Context, s *sight) (bool, error) {
	state, err := e.state(ctx, s.monitor.ID)
	if err != nil || state == nil {
		return false, err
	}
	return state.Revision == s.monitor.Revision && state.Digest == s.surface.Digest() && state.Surface.State != watch.Unknown, nil
}

// confirm lists the server afresh until the verdict counts, and leaves in s the last
// listing. When the server could not be listed any more, or not in time, it leaves
// none: then the next check is the fresh listing.
func (e *Engine) confirm(ctx context.Context, s *sight, seen *baseline.Observation, known bool) (*baseline.Result, error) {
	t, options, first := s.target.Listing(), s.options, s.surface
	options.AuthMetadata, options.Expect = true, target.Expectations{}
	if s.memory.unconfirmed != nil {
		seen.Add(s.memory.unconfirmed)
		s.memory.unconfirmed = nil
	}
	r, again := seen.Add(s.surface)
	for again && !known {
		e.metrics.listing()
		report := e.check(ctx, t, options)
		if err := context.Cause(ctx); err != nil && !errors.Is(err, errBudget) {
			return nil, err
		}
		if ctx.Err() == nil {
			s.surface = e.surfaceOf(report, t, s.memory, true, e.now())
		} else {
			s.surface = nil
		}
		if s.surface == nil {
			s.memory.unconfirmed = first
			return nil, nil
		}
		s.report = report
		r, again = seen.Add(s.surface)
	}
	return r, nil
}

// nearest is the baseline that fits a surface best.
func nearest(approved []*baseline.Baseline, s *surface.Surface, p surface.Policy) *baseline.Baseline {
	best, least := approved[0], -1
	for _, b := range approved {
		if len(approved) == 1 || b.Surface.Digest() == s.Digest() {
			return b
		}
		n := 0
		for _, c := range p.Apply(surface.Compare(b.Surface, s, surface.CompareOptions{Masks: b.Masks})) {
			if c.Effect == surface.Fail {
				n++
			}
		}
		if least < 0 || n < least {
			best, least = b, n
		}
	}
	return best
}

// baselines are what is approved of a monitor, the latest first.
func (e *Engine) baselines(ctx context.Context, m *entry, now time.Time) ([]*baseline.Baseline, error) {
	key := baselinesKey{m.ID, m.Approvals}
	loaded, ok := e.approved.get(key)
	if !ok {
		err := e.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			loaded, err = tx.Approvals(ctx, m.ID, now, true)
			return err
		})
		if err != nil {
			return nil, err
		}
		n := 256
		for i := range loaded {
			n += weight(loaded[i].Baseline.Surface)
		}
		e.approved.put(key, loaded, n)
	}
	var out []*baseline.Baseline
	for i := range loaded {
		if current(&loaded[i], now) {
			out = append(out, loaded[i].Baseline)
		}
	}
	return out, nil
}

// cost is about how many bytes a verdict takes.
func cost(r *baseline.Result) int {
	n := 512
	for i := range r.Changes {
		n += 512 + len(r.Changes[i].Before) + len(r.Changes[i].After)
	}
	return n + 1024*len(r.Findings)
}

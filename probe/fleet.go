package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpvigil/mcpvigil/target"
)

// DefaultConcurrency is how many checks run at a time when nothing is said.
const DefaultConcurrency = 16

// CheckAll checks several targets with their dependencies, at most concurrency
// (0: [DefaultConcurrency]) at a time. A target that several others depend on,
// the same pointer, is checked once. The clock of each check starts when it
// starts, not while it waits for its turn. The reports come in the order of
// targets; a dependency's verdict has its part in the status of each target
// that stands on it.
func CheckAll(ctx context.Context, targets []*target.Target, concurrency int, o Options) []*Report {
	if concurrency <= 0 {
		concurrency = DefaultConcurrency
	}
	forDependencies := o
	forDependencies.Expect, forDependencies.Skip, forDependencies.Custom = target.Expectations{}, nil, nil
	forDependencies.AuthMetadata = false
	nodes := target.WithDependencies(targets)
	own := make([]*Report, len(nodes))
	turn := make(chan struct{}, concurrency)
	var wg sync.WaitGroup
	for i, t := range nodes {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if slices.Contains(targets, t) {
				own[i] = Check(ctx, t, o)
			} else {
				own[i] = Check(ctx, t, forDependencies)
			}
		})
	}
	wg.Wait()
	g := graph{own: map[*target.Target]*Report{}, whole: map[*target.Target]*Report{}}
	for i, t := range nodes {
		g.own[t] = own[i]
	}
	reports := make([]*Report, len(targets))
	for i, t := range targets {
		reports[i] = g.report(t, nil)
	}
	return reports
}

// graph combines reports along the dependencies.
type graph struct {
	own, whole map[*target.Target]*Report
}

// report returns t's report with its dependencies. above holds the targets on
// the way down, so that a cycle made in Go ends.
func (g graph) report(t *target.Target, above []*target.Target) *Report {
	if done := g.whole[t]; done != nil {
		return done
	}
	rep := g.own[t]
	if len(t.Dependencies) == 0 {
		g.whole[t] = rep
		return rep
	}
	above = append(above, t)
	contribution := StatusHealthy
	for _, d := range t.Dependencies {
		if d.Target == nil || slices.Contains(above, d.Target) {
			continue
		}
		sub := g.report(d.Target, above)
		contribution = contribution.Worse(contributes(sub.Status, !d.Optional))
		rep.Dependencies = append(rep.Dependencies, DependencyResult{
			Name: sub.Target.Name, ID: sub.Target.ID, Critical: !d.Optional, Relationship: d.Relationship,
			Status: sub.Status, Report: sub, Checks: sub.Checks,
		})
	}
	if contribution != StatusHealthy || t.Checks != nil && t.Judges(target.DependencyDimension) {
		rep.addDependencyStep(contribution)
	}
	rep.Status = rep.Status.Worse(contribution)
	g.whole[t] = rep
	return rep
}

// contributes says what a dependency's status makes of a target that stands on
// it (agenthealth v1): its own trouble is a failure of the target where it is
// critical, and a weakness where it is not.
func contributes(s Status, critical bool) Status {
	switch {
	case s == StatusHealthy || s == StatusDegraded:
		return s
	case !critical:
		return StatusDegraded
	case s == StatusUnknown:
		return StatusUnknown
	default:
		return StatusUnhealthy
	}
}

// addDependencyStep says what the dependencies make of the target.
func (r *Report) addDependencyStep(s Status) {
	res := Result{Name: StepDependencies, Dimension: target.DependencyDimension, Status: s, Passed: s == StatusHealthy, Message: count(len(r.Dependencies), "dependency") + " healthy"}
	r.Summary.Total++
	if res.Passed {
		r.Summary.Passed++
	} else {
		r.Summary.Failed++
		res.Reason, res.Hint = reasonDependency, defaultHint(reasonDependency)
		res.Message = r.troubledDependencies()
		res.Error = &Failure{Code: CodeUnknown, Message: res.Message}
	}
	r.Checks = append(r.Checks, res)
}

// troubledDependencies names what is wrong with which dependency.
func (r *Report) troubledDependencies() string {
	var all []string
	for _, d := range r.Dependencies {
		if d.Status == StatusHealthy {
			continue
		}
		text := fmt.Sprintf("%s is %s", d.Name, d.Status)
		if !d.Critical {
			text = "optional " + text
		}
		for _, c := range d.Checks {
			if c.Reason != "" && !c.Skipped {
				text += fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
				break
			}
		}
		all = append(all, text)
	}
	const most = 5
	if extra := len(all) - most; extra > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", extra))
	}
	return strings.Join(all, "; ")
}

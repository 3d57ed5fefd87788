package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	pointOptions
	runOptions
	limitOptions
	lockfileOptions
	driftOptions
	outputOptions
	as []string
}

// driftStatus is the part of a help text that documents exit codes.
const driftStatus = `
EXIT STATUS
  0  approved       nothing that fails
  1  changed        a change or a finding fails (flagged, inconsistent)
  2  misconfigured  no lockfile, nothing approved for this target or for another
                    credential or address, a refused credential, wrong usage
  4  unknown        the server is down, or could not be listed to its end
  Of several targets the worst counts, in the order 1, 2, 4, 0.`

func (a *app) newVerifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "Compare what servers tell agents with what was approved",
		Long: `List what a server offers and compare it with the approved surface in the lockfile:
tools, resources, templates, prompts, instructions, who the server is, and the metadata
of its login. Text is compared character by character, and read for traps; order and
spelling on the wire do not count. Nothing is called on the server. What is new is
listed a second time before it counts. What is approved belongs to a server's name and
address; a command has the name that its file, or --name, gives it, and a new version
of it is a change.

Targets are given as for check; without any, those of ./mcpvigil.yaml are verified.
monitor.drift_policy and monitor.drift_effects of a file say what a change does, flags
win. --as lists the server as another client, too, and reports what only one of both
is told: NAME=KEY=VALUE[,KEY=VALUE] with client-name, client-version, user-agent,
protocol-version, bearer-env, header-env.
` + driftStatus,
		Args: cobra.ArbitraryArgs,
	}
	fs := cmd.Flags()
	o.pointOptions.add(fs)
	o.runOptions.add(fs)
	o.limitOptions.add(fs)
	o.lockfileOptions.add(fs)
	o.driftOptions.add(fs)
	grouped(fs, groupDrift, func() {
		fs.Var(list{&o.as, typeIdentity, isIdentity}, "as", "list the server as another client as well, such as `other=client-name=other` (repeatable)")
	})
	o.addAlso(fs, render.DriftFormats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runVerify(ctx, g, &o, args) })
	return cmd
}

func (a *app) runVerify(ctx context.Context, g *given, o *verifyOptions, args []string) (int, error) {
	sel, err := o.resolve(g, args)
	if err != nil {
		return 0, err
	}
	others, err := identities(o.as)
	if err != nil {
		return 0, usageErrorf("--as: "+err.Error(), "")
	}
	for _, t := range sel.targets {
		if t.AuditChain && len(others) > 0 {
			return 0, usageErrorf("--as lists a server, and this target is checked for its login only", t.Label()).hint("choose targets with --target NAME")
		}
	}
	if err := o.rename(g, sel); err != nil {
		return 0, err
	}
	if err := o.sparing(o.lockfile); err != nil {
		return 0, err
	}
	lockfile, err := o.read(a)
	if err != nil {
		return 0, err
	}
	if !lockfile.exists {
		return 0, hinted(fmt.Errorf("there is no lockfile %s, so nothing is approved", plain.Line(o.lockfile, maxShown)),
			"run mcpvigil lock first, or name another with --lockfile")
	}
	p := listing(ctx, &o.runOptions, &o.limitOptions, sel.targets, others...)
	line := g.commandLine(sel, args)
	verifications := make([]*render.Verification, len(sel.targets))
	a.each(sel, o.quiet, func(i int) {
		t := sel.targets[i]
		v := verify(ctx, t, lockfile, others, o.over(sel.policies[t]), p, line)
		v.File, v.Next = o.lockfile, nextStep(&v.Result, t, line)
		verifications[i] = v
	})
	if !o.quiet {
		a.warnOfGone(o.lockfile, lockfile.gone(sel))
	}
	return a.concludeDrift(&o.outputOptions, "verify", verifications)
}

// listing are the options of checks that list surfaces. What one of the targets gets
// in with is shown of none: a server may repeat it to another, also in another run.
func listing(ctx context.Context, o *runOptions, l *limitOptions, targets []*target.Target, others ...*identity) probe.Options {
	p := o.probe()
	p.Limits, p.AuthMetadata, p.Secrets = l.limits, true, new(probe.Secrets)
	p.Secrets.Learn(ctx, targets...)
	for _, other := range others {
		p.Secrets.Learn(ctx, &target.Target{Headers: other.headers})
	}
	return p
}

// verify compares one target with its baseline.
func verify(ctx context.Context, t *target.Target, l *lockfile, others []*identity, policy surface.Policy, p probe.Options, line commandLine) *render.Verification {
	b, err := l.Find(t.Label(), baseline.BindingOf(t, clientOf(p.Client)))
	if err != nil {
		o := &observation{target: t, err: err, result: baseline.Unseen(baseline.Misconfigured, nil)}
		v := o.verification()
		v.Reason, v.Hint = "not-approved", l.otherVersion(t)
		if e := (*baseline.BindingError)(nil); errors.As(err, &e) {
			v.Reason = "other-binding"
			v.Hint = "mcpvigil lock --dry-run shows what differs from what was approved for the other"
		}
		return v
	}
	o := observe(ctx, t, b, policy, l.beside(t).rules(), p)
	o.line = line
	var other *identity
	var report *probe.Report
	if o.seen != nil {
		other, report = o.unmask(ctx, others, policy, p)
	}
	v := o.verification()
	v.Line = func(k surface.Kind, item string) int { return l.line(b, k, item) }
	if other != nil {
		v.Because(report)
		v.Message = "as " + other.name + ": " + v.Message
		if v.Result.Cause == "" {
			v.Result.Cause = unlisted(report, nil).Cause
		}
		v.Result.Judge()
	}
	return v
}

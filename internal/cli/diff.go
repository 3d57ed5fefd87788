package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	pointOptions
	runOptions
	limitOptions
	driftOptions
	outputOptions
}

func (a *app) newDiffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER",
		Short: "Compare two surfaces",
		Long: `Compare what two servers, or two versions of one, tell agents: what changed, and what
the lint finds in the second and not in the first. Each of BEFORE and AFTER is

  a file with a surface: what mcpvigil inspect --format surface writes, or any JSON
  with tools, prompts, resources, resourceTemplates, instructions or serverInfo
  a lockfile, as FILE#NAME where it holds several baselines
  a target of a configuration, as FILE#NAME
  a URL

The summary keeps to a screen; --verbose shows every text and schema, before and after.

EXIT STATUS
  0  approved       nothing that fails
  1  changed        a change or a finding fails
  2  misconfigured  something cannot be read, or wrong usage
  4  unknown        a server is down, or could not be listed to its end`,
		Args: cobra.ArbitraryArgs,
	}
	fs := cmd.Flags()
	o.addHeaders(fs)
	o.addConnection(fs)
	o.runOptions.add(fs)
	o.limitOptions.add(fs)
	o.driftOptions.add(fs)
	o.addAlso(fs, render.DriftFormats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runDiff(ctx, g, &o, args) })
	return cmd
}

func (a *app) runDiff(ctx context.Context, g *given, o *diffOptions, args []string) (int, error) {
	if g.dash >= 0 {
		return 0, usageErrorf("diff starts no command", "").
			hint("save first what the server says: %s", shellLine("mcpvigil inspect --format surface --output new.json --", maskedArgs(args[g.dash:])))
	}
	if len(args) != 2 {
		return 0, usageErrorf("diff takes two surfaces, not "+counted(len(args), "argument"), "").
			hint("give files, lockfiles as FILE#NAME, or URLs")
	}
	var both [2]*exhibit
	for i, arg := range args {
		e, err := a.exhibit(g, &o.pointOptions, arg)
		if err != nil {
			return 0, err
		}
		if e.file != "" {
			if err := o.sparing(e.file); err != nil {
				return 0, err
			}
		}
		both[i] = e
	}
	sel := &selection{concurrency: 2}
	for _, e := range both {
		if e.target != nil {
			sel.targets = append(sel.targets, e.target)
		}
	}
	p := listing(ctx, &o.runOptions, &o.limitOptions, sel.targets)
	a.each(sel, o.quiet, func(i int) {
		both[slices.IndexFunc(both[:], func(e *exhibit) bool { return e.target == sel.targets[i] })].list(ctx, p)
	})
	v := compare(both[0], both[1], o.over(surface.Policy{}))
	return a.concludeDrift(&o.outputOptions, "diff", []*render.Verification{v})
}

// compare says what after has and before has not. The findings of both are no
// news.
func compare(before, after *exhibit, policy surface.Policy) *render.Verification {
	v := after.verification()
	if first := before.verification(); first.Message != "" {
		v.Result, v.Reason, v.Hint = first.Result, first.Reason, first.Hint
		v.Message = before.source + ": " + first.Message
	}
	v.Before = before.source
	if before.surface == nil || after.surface == nil {
		return v
	}
	b := baseline.New(before.ownName(), baseline.Binding{}, before.surface)
	if before.baseline != nil {
		b.Masks = before.baseline.Masks
	}
	r := baseline.Verify(after.surface, b, policy, lint.Options{})
	r.Findings = slices.DeleteFunc(r.Findings, func(f baseline.Verdict) bool { return !f.New })
	r.Judge() // without the findings that were there before
	v.Result = *r
	if r.Status == baseline.Approved {
		v.Word = "nothing that fails"
		if len(r.Changes) == 0 {
			v.Word = "the same"
		}
	}
	return v
}

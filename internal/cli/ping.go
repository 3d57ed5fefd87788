package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// pingOptions are the flags of ping.
type pingOptions struct {
	pointOptions
	runOptions
	outputOptions
}

func (a *app) newPingCommand() *cobra.Command {
	var o pingOptions
	cmd := &cobra.Command{
		Use:   "ping [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "Ask only whether servers can be reached",
		Long: `Ask only whether a server can be reached: one HEAD request, any HTTP status will
do; for a command, whether it starts and opens the protocol. It says nothing about
whether the server works; check does.
` + exitStatus("the server can be reached", "it cannot"),
		Args: cobra.ArbitraryArgs,
	}
	o.pointOptions.add(cmd.Flags())
	o.runOptions.add(cmd.Flags())
	o.outputOptions.add(cmd.Flags(), render.Formats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runPing(ctx, g, &o, args) })
	return cmd
}

func (a *app) runPing(ctx context.Context, g *given, o *pingOptions, args []string) (int, error) {
	sel, err := o.resolve(g, args)
	if err != nil {
		return 0, err
	}
	reports := a.run(ctx, pingAll, sel, o.probe(), o.quiet)
	for i, r := range reports {
		reports[i] = withoutSteps(r, unasked(r))
	}
	return a.conclude(&o.outputOptions, reports, render.Reports)
}

// unasked tells the steps that ping does not take.
func unasked(r *probe.Report) func(*probe.Result) bool {
	return func(c *probe.Result) bool {
		return c.Skipped && (c.Name != probe.StepInitialize || r.Target.Transport == target.HTTP)
	}
}

// withoutSteps returns r without the skipped steps for which drop is true.
func withoutSteps(r *probe.Report, drop func(*probe.Result) bool) *probe.Report {
	c := *r
	c.Checks = nil
	for i := range r.Checks {
		if step := &r.Checks[i]; step.Skipped && drop(step) {
			c.Summary.Skipped--
		} else {
			c.Checks = append(c.Checks, *step)
		}
	}
	return &c
}

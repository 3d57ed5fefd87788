package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
)

// healthcheckName is the name of a link by which this program behaves as
// mcp-healthcheck does: its flags, its three states, its exit codes.
const healthcheckName = "mcp-healthcheck"

// healthcheckOptions are the flags of mcp-healthcheck.
type healthcheckOptions struct {
	pointOptions
	runOptions
	expectOptions
	outputOptions
}

func (a *app) newHealthcheckCommand() *cobra.Command {
	var o healthcheckOptions
	cmd := &cobra.Command{
		Use:   "mcp-healthcheck [options]",
		Short: "Health and liveness probe for MCP servers",
		Long: `Connect to an MCP server, perform the handshake, list what it offers, and report.
This is mcpvigil under the name of mcp-healthcheck, with that program's options.
Every option can be set by a variable, such as MCP_HEALTHCHECK_URL for --url.

EXIT STATUS
  0  healthy
  1  unhealthy
  2  wrong options
  3  degraded: over a threshold`,
		Version: buildVersion(), SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return withCommand(usageErrorf("mcp-healthcheck takes options only", args[0]).
				hint("give the server with --stdio, --url or --sse"), cmd)
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.SetVersionTemplate(versionLine(healthcheckName))
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetHelpFunc(a.help)
	o.addTransport(cmd.Flags())
	o.addBudgets(cmd.Flags())
	o.addThresholds(cmd.Flags())
	o.addBasic(cmd.Flags(), render.Human, render.JSON)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, _ []string) (int, error) { return a.runHealthcheck(ctx, g, &o) })
	return cmd
}

func (a *app) runHealthcheck(ctx context.Context, g *given, o *healthcheckOptions) (int, error) {
	if !g.has("stdio") && !g.has("url") && !g.has("sse") {
		return 0, usageErrorf("no server was given", "").hint("give one of --stdio, --url and --sse")
	}
	o.inheritEnv, o.allowPlaintext, o.clientName = true, true, healthcheckName
	sel, err := o.resolve(g, nil)
	if err != nil {
		return 0, err
	}
	for _, p := range problems(sel.targets) {
		return 0, usageErrorf(p.Text, "").hint("%s", p.Hint)
	}
	p := o.probe()
	p.StartupTimeout = probe.StartupWithinTimeout // it knows no other budget
	o.apply(&p)
	reports := a.run(ctx, checkAll, sel, p, o.quiet)
	for i, r := range reports {
		reports[i] = threeStates(r, o.skip)
	}
	err = a.write(&o.outputOptions, func(w io.Writer) error {
		return render.Reports(w, o.format, reports, a.renderOptions(&o.outputOptions))
	})
	return exitCode(mapHealthcheck, reports), err
}

// threeStates returns r as mcp-healthcheck would have it: what is misconfigured or
// unknown is unhealthy; a step that the server does not offer counts as passed;
// and the total counts the skipped steps, too.
func threeStates(r *probe.Report, skip []string) *probe.Report {
	three := func(s probe.Status) probe.Status {
		if s == probe.StatusMisconfigured || s == probe.StatusUnknown {
			return probe.StatusUnhealthy
		}
		return s
	}
	c := *r
	c.Status = three(r.Status)
	c.Checks = slices.Clone(r.Checks)
	c.Summary = probe.Summary{Total: len(r.Checks)}
	for i := range c.Checks {
		step := &c.Checks[i]
		step.Status = three(step.Status)
		switch {
		case step.Skipped && (!step.Passed || slices.Contains(skip, step.Name)):
			c.Summary.Skipped++
		case step.Passed:
			c.Summary.Passed++
		default:
			c.Summary.Failed++
		}
	}
	return &c
}

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
)

// checkOptions are the flags of check.
type checkOptions struct {
	pointOptions
	runOptions
	expectOptions
	limitOptions
	outputOptions
	revisions bool
}

func (a *app) newCheckCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "Check servers and report",
		Long: `Check one MCP server, or every target of a configuration file: connect, open the
protocol, list what the server offers, and compare with what is expected of it.
Nothing is called, read or fetched on the server, except the one functional call
that a file may ask for.

An argument with :// is an endpoint, an existing file is a configuration. Without
any, ./mcpvigil.yaml is used. Every flag can be given as an environment variable,
such as MCPVIGIL_MIN_TOOLS or MCP_HEALTHCHECK_MIN_TOOLS for --min-tools.
` + exitStatus("a conforming client can use the server", "it cannot"),
		Args:    cobra.ArbitraryArgs,
		Version: buildVersion(),
	}
	cmd.SetVersionTemplate(versionLine("mcpvigil"))
	fs := cmd.Flags()
	o.pointOptions.add(fs)
	o.runOptions.add(fs)
	o.expectOptions.add(fs)
	grouped(fs, groupCheck, func() {
		fs.BoolVar(&o.revisions, "revisions", false, "also try every revision of the protocol, each with its own opening")
	})
	o.limitOptions.add(fs)
	o.outputOptions.add(fs, render.Formats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runCheck(ctx, g, &o, args) })
	return cmd
}

func (a *app) runCheck(ctx context.Context, g *given, o *checkOptions, args []string) (int, error) {
	sel, err := o.resolve(g, args)
	if err != nil {
		return 0, err
	}
	p := o.probe()
	if err := o.apply(&p); err != nil {
		return 0, err
	}
	p.Limits, p.Revisions = o.limits, o.revisions
	reports := a.run(ctx, checkAll, sel, p, o.quiet)
	return a.conclude(&o.outputOptions, reports, render.Reports)
}

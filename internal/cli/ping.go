package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
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
` + exitStatus,
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
	err = a.write(&o.outputOptions, func(w io.Writer) error {
		return render.Reports(w, o.format, reports, a.renderOptions(&o.outputOptions))
	})
	return exitCode(o.exitMap, reports), err
}

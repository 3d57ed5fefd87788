package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
)

// inspectOptions are the flags of inspect.
type inspectOptions struct {
	pointOptions
	runOptions
	limitOptions
	outputOptions
}

func (a *app) newInspectCommand() *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "List what servers offer",
		Long: `List the tools, resources, templates and prompts that a server advertises, and its
instructions. --format json gives the objects as the server sent them, for other
programs, and under failure why there are none; whatever could act on a terminal is
escaped, and secrets of the check are ***. --format surface writes the surface of one
server to a file for diff and lint: all that it tells agents, in canonical form.
` + exitStatus("the server was listed to the end", "it could not be listed"),
		Args: cobra.ArbitraryArgs,
	}
	o.pointOptions.add(cmd.Flags())
	o.runOptions.add(cmd.Flags())
	o.limitOptions.add(cmd.Flags())
	o.outputOptions.add(cmd.Flags(), render.Human, render.JSON, render.SavedSurface)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runInspect(ctx, g, &o, args) })
	return cmd
}

func (a *app) runInspect(ctx context.Context, g *given, o *inspectOptions, args []string) (int, error) {
	sel, err := o.resolve(g, args)
	if err != nil {
		return 0, err
	}
	p := o.probe()
	p.Limits = o.limits
	if o.format == render.SavedSurface {
		if len(sel.targets) != 1 {
			return 0, usageErrorf("--format surface is for one server, not for "+counted(len(sel.targets), "server"), "").hint("choose one with --target NAME")
		}
		p.AuthMetadata = true
	}
	reports := a.run(ctx, checkAll, sel, p, o.quiet)
	if o.format == render.SavedSurface {
		s := reports[0].Snapshot()
		if !anything(s) || len(s.Unlisted()) > 0 {
			v := &render.Verification{}
			v.Because(reports[0])
			a.fail(hinted(fmt.Errorf("the surface is not known to its end: %s", v.Message), "mcpvigil doctor explains it"))
			return max(exitCode(o.exitMap, reports), exitUnhealthy), nil
		}
		return exitHealthy, a.write(&o.outputOptions, func(w io.Writer) error {
			_, err := w.Write(s.Save())
			return err
		})
	}
	return a.conclude(&o.outputOptions, reports, render.Inspect)
}

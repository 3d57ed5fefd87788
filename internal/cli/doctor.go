package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	pointOptions
	runOptions
	expectOptions
	limitOptions
	outputOptions
}

func (a *app) newDoctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "Explain what is wrong with servers, and what to do",
		Long: `Check servers as check does, look closer, and explain: the verdict in a sentence,
what was sent and what came back, where the time went, one piece of advice for each
thing that is wrong, a curl line that repeats the failing request (without secrets),
and every revision of the protocol that the server speaks.

Without an argument and without ./mcpvigil.yaml, doctor checks every server in the
configurations of the MCP clients on this machine: Claude Desktop and Code, Cursor,
VS Code, Windsurf, Codex, Gemini CLI, Cline and Zed. Servers that are commands are
started for that, each of them, as the client would; how many is said beforehand.
` + exitStatus("a conforming client can use the server", "it cannot"),
		Args: cobra.ArbitraryArgs,
	}
	o.pointOptions.add(cmd.Flags())
	o.runOptions.add(cmd.Flags())
	o.expectOptions.add(cmd.Flags())
	o.limitOptions.add(cmd.Flags())
	o.outputOptions.add(cmd.Flags(), render.Formats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runDoctor(ctx, g, &o, args) })
	return cmd
}

func (a *app) runDoctor(ctx context.Context, g *given, o *doctorOptions, args []string) (int, error) {
	sel, err := a.doctorTargets(g, o, args)
	if err != nil {
		return 0, err
	}
	p := o.probe()
	if err := o.apply(&p); err != nil {
		return 0, err
	}
	p.Limits, p.Diagnose, p.Revisions = o.limits, true, true
	reports := a.run(ctx, checkAll, sel, p, o.quiet)
	return a.conclude(&o.outputOptions, reports, func(w io.Writer, format render.Format, reports []*probe.Report, ro render.Options) error {
		if format != render.Human {
			return render.Reports(w, format, reports, ro) // the report of check, for programs
		}
		ro.Sources = sel.sources
		return render.Doctor(w, reports, ro)
	})
}

package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// lintOptions are the flags of lint.
type lintOptions struct {
	pointOptions
	runOptions
	limitOptions
	outputOptions
	rules bool
}

func (a *app) newLintCommand() *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint [flags] [URL | FILE | - | -- COMMAND [ARG...]]...",
		Short: "Read what servers tell agents for traps",
		Long: `Read every text that a server gives to models for what a person does not see or would
not expect: hidden characters, instructions to agents, paths of secrets, encoded text.
A block finding is one that hardly any honest server has; a note is worth a look.
The rules are lexical: a paraphrase or another language passes. Whether a text is
still the one that a person read is for mcpvigil verify to say.

FILE is a configuration, whose targets are listed; a lockfile; or a surface: what
mcpvigil inspect --format surface writes, or any JSON with tools, prompts, resources,
resourceTemplates, instructions or serverInfo. - is one from standard input. Several
are read as servers that one agent uses. Without any, the targets of ./mcpvigil.yaml are listed.

EXIT STATUS
  0  clean          no block finding
  1  flagged        block findings
  2  misconfigured  a file that cannot be read, a refused credential, wrong usage
  4  unknown        a server is down, or could not be listed to its end
  Of several sources the worst counts, in the order 1, 2, 4, 0.`,
		Args: cobra.ArbitraryArgs,
	}
	fs := cmd.Flags()
	o.pointOptions.add(fs)
	o.runOptions.add(fs)
	o.limitOptions.add(fs)
	o.addAlso(fs, render.DriftFormats()...)
	grouped(fs, groupOther, func() {
		fs.BoolVar(&o.rules, "rules", false, "list the rules, and read nothing")
	})
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runLint(ctx, g, &o, args) })
	return cmd
}

func (a *app) runLint(ctx context.Context, g *given, o *lintOptions, args []string) (int, error) {
	if o.rules {
		return exitHealthy, a.write(&o.outputOptions, func(w io.Writer) error {
			return render.Rules(w, o.format, a.renderOptions(&o.outputOptions))
		})
	}
	if g.dash < 0 {
		if err := o.sparing(args...); err != nil {
			return 0, err
		}
	}
	exhibits, err := a.lintSources(g, &o.pointOptions, args)
	if err != nil {
		return 0, err
	}
	sel := &selection{concurrency: concurrencyOfLint}
	var live []*exhibit
	for _, e := range exhibits {
		if e.target != nil {
			sel.targets, live = append(sel.targets, e.target), append(live, e)
		}
	}
	p := listing(ctx, &o.runOptions, &o.limitOptions, sel.targets)
	p.AuthMetadata = false // no text for models
	a.each(sel, o.quiet, func(i int) { live[i].list(ctx, p) })
	verifications := make([]*render.Verification, len(exhibits))
	results := make([]*baseline.Result, len(exhibits))
	for i, e := range exhibits {
		verifications[i] = lintOf(e, beside(e, exhibits))
		results[i] = &verifications[i].Result
	}
	return driftCode(results), a.writeAll(&o.outputOptions, func(w io.Writer, out *outputOptions) error {
		return render.Lint(w, out.format, verifications, a.renderOptions(out))
	})
}

// concurrencyOfLint is how many servers are listed at a time.
const concurrencyOfLint = 16

// lintSources finds what the arguments name. Only surfaces can be several.
func (a *app) lintSources(g *given, o *pointOptions, args []string) ([]*exhibit, error) {
	files := len(args) > 0 && g.dash < 0
	for _, name := range append(transportFlags(), "target") {
		files = files && !g.byFlag(name)
	}
	var out []*exhibit
	for _, arg := range args {
		if !files {
			break
		}
		if strings.Contains(arg, "://") {
			e, err := a.exhibit(g, o, arg)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
			continue
		}
		if _, err := os.Stat(arg); err != nil && arg != "-" {
			_, err := o.argument(g, arg) // says what may have been meant
			return nil, err
		}
		found, err := a.readExhibits(arg)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if e.target != nil {
				o.override([]*target.Target{e.target})
			}
		}
		out = append(out, found...)
	}
	if files {
		return out, nil
	}
	sel, err := o.resolve(g, args)
	if err != nil {
		return nil, err
	}
	for _, t := range sel.targets {
		out = append(out, &exhibit{source: t.Label(), target: t})
	}
	return out, nil
}

// beside are the tools of the others, which an agent sees beside those of e.
func beside(e *exhibit, all []*exhibit) neighbours {
	n := neighbours{}
	for _, other := range all {
		if other != e && other.surface != nil && other.source != e.source {
			n.add(other.source, other.surface)
		}
	}
	return n
}

// lintOf reads one surface.
func lintOf(e *exhibit, others neighbours) *render.Verification {
	v := e.verification()
	if e.report != nil {
		v.Target = &e.report.Target
	}
	if e.surface == nil {
		return v
	}
	v.Result = baseline.Result{
		Status: baseline.Approved, Digest: e.surface.Digest(), Unlisted: e.surface.Unlisted(), Changes: []surface.Change{},
		Findings: e.accepted(baseline.Judge(lint.Scan(e.surface, others.rules()))),
	}
	v.Result.Judge()
	if v.Result.Status == baseline.Approved {
		v.Word = "clean"
	}
	return v
}

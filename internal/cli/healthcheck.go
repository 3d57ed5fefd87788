package cli

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
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
	cmd.Flags().Lookup("timeout").Usage = "time for the whole check, with the start of a command (default 30000)"
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = a.runE(func(ctx context.Context, g *given, _ []string) (int, error) { return a.runHealthcheck(ctx, g, &o) })
	return cmd
}

func (a *app) runHealthcheck(ctx context.Context, g *given, o *healthcheckOptions) (int, error) {
	if !g.has("stdio") && !g.has("url") && !g.has("sse") {
		return 0, usageErrorf("no server was given", "").hint("give one of --stdio, --url and --sse")
	}
	o.inheritEnv, o.allowPlaintext, o.clientName, o.exitMap = true, true, healthcheckName, mapHealthcheck
	sel, err := o.resolve(g, nil)
	if err != nil {
		return 0, err
	}
	if found := problems(sel.targets); len(found) > 0 {
		e := usageErrorf(found[0].Text, "")
		if h := ownHint(found[0].Hint, g.flags); h != "" {
			e = e.hint("%s", h)
		}
		return 0, e
	}
	p := o.probe()
	if err := o.apply(&p); err != nil {
		return 0, err
	}
	// It knows no budget of its own for the start-up: that is one of its checks,
	// and part of the whole.
	p.StartupTimeout = probe.StartupWithinTimeout
	whole, step := cmp.Or(o.timeout, probe.DefaultTimeout), cmp.Or(o.checkTimeout, probe.DefaultCheckTimeout)
	if sel.targets[0].Kind() == target.Stdio && step < whole {
		p.StartupTimeout = step
		bounded, cancel := context.WithTimeout(ctx, whole)
		defer cancel()
		ctx = bounded
	}
	reports := a.run(ctx, checkAll, sel, p, o.quiet)
	for i, r := range reports {
		reports[i] = asHealthcheck(r, o.skip, g.flags)
	}
	return a.conclude(&o.outputOptions, reports, render.Reports)
}

// asHealthcheck returns r as mcp-healthcheck would have it: its five steps, its
// three states, and hints that name none but its flags. A step that the server
// does not offer counts as passed, and the total counts the skipped steps, too.
func asHealthcheck(r *probe.Report, skip []string, flags *pflag.FlagSet) *probe.Report {
	c := *r
	c.Status = threeStates(r.Status)
	c.Checks = fiveSteps(r.Checks)
	c.Summary = probe.Summary{Total: len(c.Checks)}
	for i := range c.Checks {
		step := &c.Checks[i]
		step.Status, step.Hint = threeStates(step.Status), ownHint(step.Hint, flags)
		withStepBudget(step)
		switch {
		case step.Skipped && (!step.Passed || slices.Contains(skip, step.Name)):
			c.Summary.Skipped++
		case step.Passed:
			c.Summary.Passed++
		default:
			c.Summary.Failed++
		}
	}
	c.Notes = slices.Clone(r.Notes)
	for i := range c.Notes {
		c.Notes[i].Hint = ownHint(c.Notes[i].Hint, flags)
	}
	return &c
}

// withStepBudget tells of a command that was silent for too long as of any step.
func withStepBudget(step *probe.Result) {
	switch {
	case step.Reason != probe.Reason(wire.ReasonStartupTimeout):
	case step.Error.Code == probe.CodeOverallTimeout:
		step.Hint = strings.ReplaceAll(step.Hint, "--check-timeout", "--timeout")
	default:
		f := *step.Error
		f.Code, step.Error = probe.CodeCheckTimeout, &f
	}
}

// threeStates makes unhealthy of what mcp-healthcheck has no word for.
func threeStates(s probe.Status) probe.Status {
	if s == probe.StatusMisconfigured || s == probe.StatusUnknown {
		return probe.StatusUnhealthy
	}
	return s
}

// fiveSteps returns steps without those that mcp-healthcheck does not know. One
// that failed takes the place of the step that could not run because of it.
func fiveSteps(steps []probe.Result) []probe.Result {
	known := []string{probe.StepConnect, probe.StepInitialize, probe.StepTools, probe.StepResources, probe.StepPrompts}
	instead := map[string]string{probe.StepConfiguration: probe.StepConnect, probe.StepAuthentication: probe.StepInitialize}
	var out []probe.Result
	failed := map[string]probe.Result{} // by the known step that stands for it
	because := ""
	for _, step := range steps {
		switch place := instead[step.Name]; {
		case place != "" && !step.Passed && !step.Skipped:
			because = step.Name
			step.Name, step.Dimension = place, target.Protocol
			if place == probe.StepConnect {
				step.Dimension = target.Reachability
			}
			failed[place] = step
		case slices.Contains(known, step.Name):
			out = append(out, step)
		}
	}
	for i := range out {
		if f, ok := failed[out[i].Name]; ok && out[i].Skipped {
			out[i] = f
		} else if out[i].Skipped && because != "" {
			out[i].Message = strings.ReplaceAll(out[i].Message, because, instead[because])
		}
	}
	return out
}

var (
	flagInText = regexp.MustCompile(`--[a-z-]*`)
	// Words of our configuration files, and what a command gets without the whole
	// environment.
	keyInText = regexp.MustCompile(`\b[a-z]+_[a-z_]+\b|\bauth\.|mcpvigil\.yaml|\bin a file\b|\bconfiguration\b|\bdoctor\b|PATH, HOME`)
	// What has another name under the other name of this program.
	otherWords = strings.NewReplacer(
		"--bearer-env NAME, auth.bearer_env", "--header 'Authorization:Bearer TOKEN'",
		"--bearer-env NAME, or auth in the configuration", "--header 'Authorization:Bearer TOKEN'",
		"--bearer-env NAME", "--header 'Authorization:Bearer TOKEN'",
		"startup_timeout (--startup-timeout)", "--check-timeout",
		"--startup-timeout", "--check-timeout",
		" (transport: http)", "", " (transport: sse)", "",
	)
)

// ownHint takes out of a hint the parts that name what mcp-healthcheck does not
// have. flags are those that it has.
func ownHint(hint string, flags *pflag.FlagSet) string {
	var kept []string
	for clause := range strings.SplitSeq(otherWords.Replace(hint), "; ") {
		foreign := keyInText.MatchString(clause)
		for _, flag := range flagInText.FindAllString(clause, -1) {
			foreign = foreign || flags.Lookup(strings.TrimPrefix(flag, "--")) == nil
		}
		if !foreign {
			kept = append(kept, clause)
		}
	}
	return strings.Join(kept, "; ")
}

// Package cli is the command line: one file a command, each with newXCommand
// (the flags), xOptions (their values) and runX (the work). [Main] is the whole
// program but for the process: it is given arguments, streams and environment,
// and returns the exit code.
//
// tui.go holds the rules for what is printed where, exit.go every exit code.
package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// app is one run of the program.
type app struct {
	stdin  io.Reader
	stdout *output
	stderr io.Writer
	lookup func(string) (string, bool)
	// program is mcpvigil, or the program that a link's name asks for.
	program string
	// answers reads what a person types in reply to questions; nil until the first.
	answers *bufio.Reader
	// code is what the command that ran found out.
	code int
	// waiting: the command waits for servers and ends when its context does.
	waiting atomic.Bool
	// hangups is where a command that reads its files again wants to know of SIGHUP,
	// which then ends nothing.
	hangups atomic.Pointer[chan struct{}]
}

// Main runs the program and returns its exit code. args[0] is the name it was
// called by; lookup is [os.LookupEnv] in a process.
//
// The first interrupt, SIGTERM, SIGHUP or SIGQUIT ends the check and still prints
// the report; at the second, what was started is killed and Main returns, though
// its work may not have ended: the process has to.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, lookup func(string) (string, bool)) int {
	a := &app{stdin: stdin, stdout: &output{w: stdout}, stderr: stderr, lookup: lookup, program: "mcpvigil"}
	if programName(args) == healthcheckName {
		a.program = healthcheckName
	}
	return a.supervise(func(ctx context.Context) int { return a.execute(ctx, args) })
}

// execute runs the command and returns the exit code.
func (a *app) execute(ctx context.Context, args []string) (code int) {
	defer func() {
		if v := recover(); v != nil {
			a.fail(hinted(fmt.Errorf("internal error: %s", plain.Line(fmt.Sprint(v), 300)),
				"this is a bug in %s; please report it with the command you ran", a.program))
			code = exitUnknown
		}
	}()
	root := a.newRootCommand()
	if a.program == healthcheckName {
		root = a.newHealthcheckCommand()
	}
	root.SetArgs(rest(args))
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if a.stdout.err != nil {
		err = cannotWrite(a.stdout.err)
	}
	if err != nil {
		a.fail(err)
		codes := a.exitMapFor(rest(args))
		code = usageExitCode(codes)
		if codes == mapNagios { // which reads nothing but standard output
			fmt.Fprintf(a.stdout, "%s - %s\n", nagiosWord(code), plain.Line(err.Error(), maxShown))
		}
		return code
	}
	return a.code
}

// rest is never nil, which cobra would take for the arguments of the process.
func rest(args []string) []string {
	if len(args) < 2 {
		return []string{}
	}
	return args[1:]
}

func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

func (a *app) newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpvigil",
		Short: "Watch MCP servers: is it up, is it what was approved, is it safe",
		Long: `mcpvigil finds out whether an MCP server works, why not, and what to do about it.

  mcpvigil demo                                check the servers that come with it
  mcpvigil check https://mcp.example.com/mcp   check one over Streamable HTTP
  mcpvigil check -- npx -y some-server         start one and check it over stdio
  mcpvigil check mcpvigil.yaml                 check every target of a file
  mcpvigil doctor                              explain what is wrong, and what to do
  mcpvigil lock, mcpvigil verify               approve what servers tell agents, and
                                               hold them to it
  mcpvigil serve                               watch them over time, and tell people`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			// Without a command nothing was checked, which must not pass for success.
			cmd.SetOut(a.stderr)
			_ = cmd.Help()
			a.code = exitMisconfigured
			return nil
		},
	}
	root.SetVersionTemplate(versionLine("mcpvigil"))
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.help)
	root.AddCommand(
		a.newCheckCommand(), a.newPingCommand(), a.newDoctorCommand(), a.newInspectCommand(),
		a.newLockCommand(), a.newVerifyCommand(), a.newDiffCommand(), a.newLintCommand(),
		a.newServeCommand(), a.newBackupCommand(), a.newRestoreCommand(), a.newExportCommand(), a.newRotateKeyCommand(), a.newAuditCommand(), a.newMCPCommand(),
		a.newLoginCommand(), a.newValidateCommand(), a.newImportCommand(), a.newVersionCommand(),
		a.newDemoCommand(), a.newDemoServerCommand(), a.newCopyToCommand(),
	)
	root.SetOut(a.stdout) // which cobra's command for completion takes note of
	addCompletion(root)
	return root
}

func unknownCommand(root *cobra.Command, arg string) error {
	if strings.Contains(arg, "://") {
		return usageErrorf("no command was given", arg).hint("to check a server: mcpvigil check %s", plain.Line(masked(arg), 200))
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	err := usageErrorf("unknown command", arg)
	if near := nearest(arg, names); near != "" {
		err = err.hint("did you mean %s?", near)
	}
	return err.hint("run 'mcpvigil --help' for the commands")
}

// action is what a command does. It returns the exit code that its findings
// deserve, or an error when it could not do its work.
type action func(ctx context.Context, g *given, args []string) (int, error)

// runE fills flags from the environment and runs f.
func (a *app) runE(f action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		g := &given{flags: cmd.Flags(), fromEnv: map[string]string{}, dash: cmd.ArgsLenAtDash(), command: cmd.CommandPath()}
		if a.program == healthcheckName {
			g.strict = true
		}
		if err := g.fill(a.prefixes(), a.lookup); err != nil {
			return withCommand(err, cmd)
		}
		if quiet := cmd.Flags().Lookup("quiet"); quiet == nil || quiet.Value.String() != "true" {
			for _, note := range g.notes {
				a.warn("%s", note)
			}
		}
		code, err := f(cmd.Context(), g, args)
		if err != nil {
			return withCommand(err, cmd)
		}
		a.code = code
		return nil
	}
}

// prefixes of environment variables, the strongest first.
func (a *app) prefixes() []string {
	if a.program == healthcheckName {
		return []string{"MCP_HEALTHCHECK_"}
	}
	return []string{"MCPVIGIL_", "MCP_HEALTHCHECK_"}
}

// help writes a command's help: what it does, its flags by group.
func (a *app) help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), use)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
	}
	cmd.Flags().SortFlags = false // in the order in which they are defined
	for _, group := range flagGroups() {
		set := pflag.NewFlagSet(string(group), pflag.ContinueOnError)
		set.SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if groupOf(f) == group {
				set.AddFlag(f)
			}
		})
		if usage := set.FlagUsagesWrapped(100); usage != "" {
			heading := string(group)
			if group == groupTransport && a.program == healthcheckName {
				heading = "Transport (exactly one required)"
			}
			fmt.Fprintf(w, "\n%s:\n%s", heading, usage)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun '%s COMMAND --help' for the flags of a command.\n", cmd.CommandPath())
	}
}

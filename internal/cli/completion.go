package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/wire"
)

// completeFlags offers the values of flags with a fixed choice to the shell.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var choice []string
		switch v := f.Value.(type) {
		case formatValue:
			for _, format := range v.allowed {
				choice = append(choice, string(format))
			}
		case *exitMap:
			choice = exitMaps()
		}
		switch f.Name {
		case "skip":
			choice = []string{"tools", "resources", "prompts"}
		case "protocol-version":
			choice = wire.Revisions()
		case "drift-policy":
			choice = policies()
		case "effect":
			for _, class := range classes() {
				for _, effect := range effects() {
					choice = append(choice, class+"="+effect)
				}
			}
		}
		if f.Name == "target" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeTargets)
		}
		if choice != nil {
			// The flag was just visited, so it exists and has no function yet.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(choice, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// completeTargets offers the names in the file that the command line points at.
func completeTargets(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var paths []string
	if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "" {
		paths = append(paths, f.Value.String())
	}
	paths = append(append(paths, args...), defaultFiles()...)
	for _, path := range paths {
		sel, err := readTargets(path, nil)
		if err != nil {
			continue
		}
		var names []cobra.Completion
		for _, t := range sel.targets {
			names = append(names, t.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// addCompletion adds cobra's command, and refuses shells that it does not know.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range cmd.Commands() {
			shells = append(shells, shell.Name())
		}
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := usageErrorf("no shell was named", "")
			if len(args) > 0 {
				err = usageErrorf("no completion for this shell", args[0])
			}
			return withCommand(err.hint("give one of %s", shown(shells)), cmd)
		}
	}
}

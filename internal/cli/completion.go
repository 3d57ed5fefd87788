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
		}
		if choice != nil {
			// The flag was just visited, so it exists and has no function yet.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(choice, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

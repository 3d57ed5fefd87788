package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/internal/wire"
)

// version is set at build time: -ldflags "-X github.com/mcpvigil/mcpvigil/internal/cli.version=1.2.3".
var version = "dev"

// buildVersion is the version without a leading v: from the build flags, else from
// the module that `go install` fetched, else dev.
func buildVersion() string {
	v := version
	if v == "dev" {
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			v = info.Main.Version
		}
	}
	return strings.TrimPrefix(v, "v")
}

// versionLine is what --version prints.
func versionLine(program string) string {
	return render.Title(program, buildVersion()) + "\n"
}

// versionOptions are the flags of version.
type versionOptions struct {
	format render.Format
}

func (a *app) newVersionCommand() *cobra.Command {
	o := versionOptions{format: render.Human}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the revisions of MCP that it speaks",
		Args:  noArguments,
	}
	grouped(cmd.Flags(), groupOutput, func() {
		cmd.Flags().Var(formatValue{&o.format, []render.Format{render.Human, render.JSON}}, "format", "output format: human or json")
	})
	completeFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return a.runVersion(&o) }
	return cmd
}

func (a *app) runVersion(o *versionOptions) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if o.format == render.JSON {
		return a.printJSON(struct {
			Version   string   `json:"version"`
			Go        string   `json:"go"`
			Platform  string   `json:"platform"`
			Revisions []string `json:"revisions"`
		}{buildVersion(), runtime.Version(), platform, wire.Revisions()})
	}
	_, err := fmt.Fprintf(a.stdout, "%s%s %s\nMCP revisions: %s\n",
		versionLine("mcpvigil"), runtime.Version(), platform, strings.Join(wire.Revisions(), ", "))
	return err
}

// printJSON prints v for programs, safe for a terminal.
func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", plain.JSON(data))
	return err
}

// noArguments is cobra.NoArgs in our words.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return withCommand(usageErrorf(cmd.Name()+" takes no arguments", args[0]), cmd)
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// importOptions are the flags of import.
type importOptions struct {
	output string
	force  bool
}

func (a *app) newImportCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [flags] [FILE...]",
		Short: "Turn the configurations of MCP clients into mcpvigil.yaml",
		Long: `Read the configurations of MCP clients and print a mcpvigil.yaml with all their
servers. Without an argument, every client's file on this machine is read. Keys and
tokens are not copied: each becomes a reference to an environment variable, and the
variables to set are listed. Directories below that of the output are relative to it:
the file is meant to be used from there.

EXIT STATUS
  0  the configuration was written
  2  a file cannot be read, there is nothing to import, or the output exists`,
		Args: cobra.ArbitraryArgs,
	}
	grouped(cmd.Flags(), groupOutput, func() {
		cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `file` instead of standard output")
		cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file if it exists")
	})
	cmd.RunE = a.runE(func(_ context.Context, _ *given, args []string) (int, error) {
		return exitHealthy, a.runImport(&o, args)
	})
	return cmd
}

func (a *app) runImport(o *importOptions, files []string) error {
	sel, err := a.importTargets(files)
	if err != nil {
		return err
	}
	if err := o.relative(sel.servers); err != nil {
		return err
	}
	data, references, err := config.ImportServers(sel.servers...)
	if err != nil {
		return err
	}
	if err := a.writeImport(o, data); err != nil {
		return err
	}
	if len(references) > 0 {
		a.warn("the file refers to these variables; set them before a check:")
	}
	for _, r := range references {
		fmt.Fprintf(a.stderr, "  %s  (%s, %s): %s\n", plain.Line(r.Variable, maxShown), plain.Line(r.Target, maxShown), plain.Line(r.For, maxShown), plain.Line(r.Source, maxShown))
	}
	return nil
}

// relative makes the directories of servers relative to that of the file to be
// written, where they are in it, so that the file is of use in another checkout.
func (o *importOptions) relative(servers []config.ClientServer) error {
	base, err := filepath.Abs(filepath.Dir(o.output))
	if err != nil {
		return fmt.Errorf("find the directory of %s: %w", o.output, err)
	}
	for _, s := range servers {
		c := s.Target.Command
		if c == nil || !filepath.IsAbs(c.Dir) {
			continue
		}
		dir, err := filepath.Rel(base, c.Dir)
		if err != nil || !filepath.IsLocal(dir) {
			continue
		}
		if c.Dir = dir; dir == "." {
			c.Dir = ""
		}
	}
	return nil
}

func (a *app) importTargets(files []string) (*selection, error) {
	if len(files) == 0 {
		sel, err := a.findClients(false)
		if err == nil && len(sel.targets) == 0 {
			err = usageErrorf("no client's configuration with servers was found", "").hint("give its path")
		}
		return sel, err
	}
	sel := &selection{}
	for _, path := range files {
		more, err := readClientTargets(path, nil)
		if err != nil {
			return nil, explainFile(path, err)
		}
		sel.targets = append(sel.targets, more.targets...)
		sel.servers = append(sel.servers, more.servers...)
	}
	return sel, nil
}

func (a *app) writeImport(o *importOptions, data []byte) error {
	if o.output == "" {
		_, err := a.stdout.Write(data)
		return err
	}
	if o.force {
		return a.writeFile(o.output, data)
	}
	f, err := os.OpenFile(o.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return hinted(fmt.Errorf("the file exists: %s", o.output), "overwrite it with --force, or choose another name")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/config"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	portable bool
	quiet    bool
}

func (a *app) newValidateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [flags] [FILE...]",
		Short: "Read configuration files and report every mistake",
		Long: `Read configuration files (mcpvigil.yaml, agenthealth.yaml, or those of MCP clients)
and report every mistake with line and column. Sends nothing to any server. Without
an argument, ./mcpvigil.yaml is read. A target that cannot be checked on this machine,
because a variable is not set for example, is a warning.

EXIT STATUS
  0  every file can be used
  2  a file has mistakes or cannot be read`,
		Args: cobra.ArbitraryArgs,
	}
	grouped(cmd.Flags(), groupOther, func() {
		cmd.Flags().BoolVar(&o.portable, "portable", false, "do not look at variables and files of this machine")
		cmd.Flags().BoolVar(&o.quiet, "quiet", false, "print only mistakes")
	})
	cmd.RunE = a.runE(func(_ context.Context, _ *given, args []string) (int, error) { return a.runValidate(&o, args) })
	return cmd
}

func (a *app) runValidate(o *validateOptions, files []string) (int, error) {
	if len(files) == 0 {
		for _, path := range defaultFiles() {
			if _, err := os.Stat(path); err == nil {
				files = append(files, path)
				break
			}
		}
	}
	if len(files) == 0 {
		return 0, usageErrorf("no file was given, and there is no mcpvigil.yaml here", "")
	}
	code := exitHealthy
	for _, path := range files {
		sel, err := o.read(path)
		if err != nil {
			a.fail(explainFile(path, err))
			code = exitMisconfigured
			continue
		}
		if o.quiet {
			continue
		}
		for _, p := range problems(sel.targets) {
			if o.portable {
				break
			}
			a.warn("warning: %s", p.Text)
		}
		if len(files) > 1 {
			fmt.Fprintf(a.stdout, "%s: ", path)
		}
		if n := len(sel.targets); n == 1 {
			fmt.Fprintln(a.stdout, "ok: 1 target")
		} else {
			fmt.Fprintf(a.stdout, "ok: %d targets\n", n)
		}
	}
	return code, nil
}

func (o *validateOptions) read(path string) (*selection, error) {
	if clientFile(path) {
		return readClientTargets(path, "")
	}
	f, err := config.LoadWith(path, config.Options{Portable: o.portable})
	if err != nil {
		return nil, err
	}
	return &selection{targets: f.Targets}, nil
}

// explainFile leaves mistakes in a file as they are, and adds advice to files that
// cannot be read at all.
func explainFile(path string, err error) error {
	if info, stat := os.Stat(path); stat == nil && info.IsDir() {
		return hinted(fmt.Errorf("not a file but a directory: %s", path), "give a file, such as %s/mcpvigil.yaml", path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return hinted(fmt.Errorf("no such file: %s", path), "check the path; it is looked up from the current directory")
	}
	if errors.Is(err, os.ErrPermission) {
		return hinted(fmt.Errorf("no permission to read: %s", path), "change its permissions, or run as its owner")
	}
	return err
}

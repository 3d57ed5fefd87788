package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/target"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	portable bool
	quiet    bool
	format   render.Format
}

func (a *app) newValidateCommand() *cobra.Command {
	o := validateOptions{format: render.Human}
	cmd := &cobra.Command{
		Use:   "validate [flags] [FILE...]",
		Short: "Read configuration files and report every mistake",
		Long: `Read configuration files (mcpvigil.yaml, agenthealth.yaml, or those of MCP clients)
and report every mistake with line and column. Sends nothing to any server. Without
an argument, ./mcpvigil.yaml is read. A target that cannot be checked on this machine,
because a variable is not set or a command is not there for example, is a warning.

EXIT STATUS
  0  every file can be used
  2  a file has mistakes or cannot be read`,
		Args: cobra.ArbitraryArgs,
	}
	grouped(cmd.Flags(), groupOther, func() {
		cmd.Flags().BoolVar(&o.portable, "portable", false, "do not look at variables and files of this machine")
		cmd.Flags().BoolVar(&o.quiet, "quiet", false, "print only mistakes")
	})
	grouped(cmd.Flags(), groupOutput, func() {
		cmd.Flags().Var(formatValue{&o.format, []render.Format{render.Human, render.JSON}}, "format", "output format: human or json")
	})
	completeFlags(cmd)
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
	out := validation{Version: 1, Files: []validatedFile{}}
	for _, path := range files {
		f := o.validate(path)
		if !f.OK {
			code = exitMisconfigured
		}
		if o.format == render.JSON {
			out.Files = append(out.Files, f)
		} else {
			a.showValidated(&f, o.quiet, len(files) > 1)
		}
	}
	if o.format == render.JSON && !(o.quiet && code == exitHealthy) {
		return code, a.printJSON(out)
	}
	return code, nil
}

// validation is the document of --format json.
type validation struct {
	Version int             `json:"version"`
	Files   []validatedFile `json:"files"`
}

type validatedFile struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"` // it can be used; warnings do not count
	Targets  int       `json:"targets"`
	Disabled []string  `json:"disabled,omitempty"` // servers that the client does not start
	Problems []finding `json:"problems"`
	err      error
}

// finding is one mistake (error) of a file, or one of its targets that cannot be
// checked on this machine (warning).
type finding struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`
}

func (o *validateOptions) validate(path string) validatedFile {
	f := validatedFile{File: path, Problems: []finding{}}
	sel, err := o.read(path)
	if err != nil {
		f.err = explainFile(path, err)
		f.Problems = findings(path, f.err)
		return f
	}
	f.OK, f.Targets, f.Disabled = true, len(sel.targets), sel.disabled
	if o.portable {
		return f
	}
	all := target.WithDependencies(sel.targets)
	for _, p := range problems(all) {
		f.Problems = append(f.Problems, finding{Severity: "warning", File: path, Reason: p.Reason, Text: p.Text, Hint: p.Hint})
	}
	for _, w := range sel.warnings {
		e := w.Where
		f.Problems = append(f.Problems, finding{Severity: "warning", File: e.File, Line: e.Line, Column: e.Column, Path: e.Path, Text: e.Text, Hint: e.Hint})
	}
	return f
}

// findings takes an error about a file apart.
func findings(path string, err error) []finding {
	if e := (*config.Errors)(nil); errors.As(err, &e) {
		var out []finding
		for _, p := range e.Problems {
			out = append(out, finding{Severity: "error", File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Text: p.Text, Hint: p.Hint})
		}
		return out
	}
	f := finding{Severity: "error", File: path, Text: err.Error()}
	if e := (*userError)(nil); errors.As(err, &e) {
		f.Hint = strings.Join(e.hints, "; ")
	}
	return []finding{f}
}

func (a *app) showValidated(f *validatedFile, quiet, several bool) {
	if f.err != nil {
		a.fail(f.err)
		return
	}
	if quiet {
		return
	}
	for _, p := range f.Problems {
		if p.Line > 0 {
			fmt.Fprintf(a.stderr, "%s:%d:%d: warning: %s\n", plain.Line(p.File, maxShown), p.Line, p.Column, plain.Line(p.Text, maxShown))
		} else {
			a.warn("warning: %s", p.Text)
		}
		if p.Hint != "" {
			a.hint(p.Hint)
		}
	}
	if several {
		fmt.Fprintf(a.stdout, "%s: ", plain.Line(f.File, maxShown))
	}
	more := ""
	if len(f.Disabled) > 0 {
		more = "; disabled and left out: " + shown(f.Disabled)
	}
	fmt.Fprintf(a.stdout, "ok: %s%s\n", counted(f.Targets, "target"), more)
}

func (o *validateOptions) read(path string) (*selection, error) {
	if clientFile(path) {
		return readClientTargets(path, nil)
	}
	f, err := config.LoadWith(path, config.Options{Portable: o.portable})
	if err != nil {
		return nil, err
	}
	// Settings of channels are judged here as serve does, but for values that are not
	// in the file.
	if _, err := channelsOf(f, exampleOf); err != nil {
		return nil, err
	}
	return &selection{targets: f.Targets, warnings: f.Warnings}, nil
}

// explainFile leaves mistakes in a file as they are, and adds advice to files that
// cannot be read at all.
func explainFile(path string, err error) error {
	if info, stat := os.Stat(path); stat == nil && info.IsDir() {
		return hinted(fmt.Errorf("not a file but a directory: %s", path), "give a file, such as %s/mcpvigil.yaml", path)
	}
	if config.Pipe(path) {
		return hinted(fmt.Errorf("not a file but a pipe or socket: %s", path), "give a file, or /dev/stdin to read from a pipe")
	}
	if errors.Is(err, os.ErrNotExist) {
		return hinted(fmt.Errorf("no such file: %s", path), "check the path; it is looked up from the current directory")
	}
	if errors.Is(err, os.ErrPermission) {
		return hinted(fmt.Errorf("no permission to read: %s", path), "change its permissions, or run as its owner")
	}
	return err
}

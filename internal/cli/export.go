package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// exportOptions are the flags of export.
type exportOptions struct {
	databaseOptions
	importOptions
}

func (a *app) newExportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write what was made through the API as a mcpvigil.yaml",
		Long: `Write the monitors, channels, escalations and windows that were made through the API
as a configuration file, which gives the same when it is read. The monitor may run
meanwhile. Values of headers and secrets of channels are not written: they become
references to variables, which the head of the file lists.
` + dataStatus,
		Args: noArguments,
	}
	o.databaseOptions.add(cmd.Flags())
	grouped(cmd.Flags(), groupOutput, func() {
		cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `file` instead of standard output")
		cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	})
	cmd.RunE = a.runE(func(ctx context.Context, g *given, _ []string) (int, error) { return 0, a.runExport(ctx, g, &o) })
	return cmd
}

func (a *app) runExport(ctx context.Context, g *given, o *exportOptions) error {
	if err := o.check(g); err != nil {
		return err
	}
	if err := o.exists(); err != nil {
		return err
	}
	key, _, err := a.key(&o.databaseOptions)
	if err != nil {
		return hinted(err, "give the key with --encryption-key-file FILE, or in the variable %s", keyVariable)
	}
	s, err := a.openReader(ctx, &o.databaseOptions, key)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := fits(ctx, s, key); err != nil {
		return err
	}
	var e config.Exported
	err = s.View(ctx, func(t *store.Tx) (err error) {
		e, err = ops.Exported(ctx, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("read what was made through the API: %w", err)
	}
	data, err := config.Export(e)
	if err != nil {
		return hinted(err, "what stands in a configuration file already is not exported")
	}
	return a.writeImport(&o.importOptions, data)
}

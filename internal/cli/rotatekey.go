package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// rotateKeyOptions are the flags of rotate-key.
type rotateKeyOptions struct {
	databaseOptions
	fresh bool
}

func (a *app) newRotateKeyCommand() *cobra.Command {
	var o rotateKeyOptions
	cmd := &cobra.Command{
		Use:   "rotate-key [flags]",
		Short: "Seal stored secrets with a new key",
		Long: `Add a new key to the encryption key of a monitor, and seal everything that is stored
sealed with it: values of headers, settings of channels. Every mcpvigil serve on the
database has to be stopped first. The file of the key is replaced; of a key in the
variable ` + keyVariable + ` the new value is printed before it is used.

With --new it makes a key for a monitor that is still to be set up, and does nothing
else: it prints what the variable is to hold or, with --encryption-key-file, writes that
file.
` + dataStatus,
		Args: noArguments,
	}
	o.add(cmd.Flags())
	grouped(cmd.Flags(), groupOther, func() {
		cmd.Flags().BoolVar(&o.fresh, "new", false, "only make a new key")
	})
	cmd.RunE = a.runE(func(ctx context.Context, g *given, _ []string) (int, error) {
		if o.fresh {
			return 0, a.newKey(&o.databaseOptions)
		}
		return 0, a.runRotateKey(ctx, g, &o.databaseOptions)
	})
	return cmd
}

func (a *app) runRotateKey(ctx context.Context, g *given, o *databaseOptions) error {
	if err := o.check(g); err != nil {
		return err
	}
	db, err := a.openExisting(ctx, o)
	if err != nil {
		return err
	}
	defer db.Close()
	text, err := db.key.Text()
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	next, err := seal.FromText(text)
	if err == nil {
		err = next.Rotate()
	}
	if err != nil {
		return fmt.Errorf("make a new key: %w", err)
	}
	// What opens the old and the new is kept first: nothing is ever sealed with a key
	// that nobody has.
	if err := a.keep(db, next); err != nil {
		return err
	}
	if err := db.Rekey(ctx, next); err != nil {
		return fmt.Errorf("seal with the new key: %w", err)
	}
	err = db.InTx(ctx, func(t *store.Tx) error { return plant(ctx, t, next) })
	if err != nil {
		return fmt.Errorf("seal with the new key: %w", err)
	}
	where := keyVariable
	if db.keyPath != "" {
		where = db.keyPath
	}
	a.warn("everything is sealed with the new key; keep a copy of %s apart from the data", plain.Line(where, maxShown))
	return nil
}

// newKey makes a key that replaces none.
func (a *app) newKey(o *databaseOptions) error {
	if o.keyFile != "" && exists(o.keyFile) {
		return hinted(fmt.Errorf("the file exists: %s", plain.Line(o.keyFile, maxShown)), "choose another name; what an existing key has sealed would be lost without it")
	}
	return a.keep(&opened{keyPath: o.keyFile}, seal.Generate())
}

func (a *app) keep(db *opened, next *seal.Keyset) error {
	if db.keyPath != "" {
		if err := next.Save(db.keyPath); err != nil {
			return fmt.Errorf("write the new key: %w", err)
		}
		return nil
	}
	text, err := next.Text()
	if err != nil {
		return fmt.Errorf("write the new key: %w", err)
	}
	fmt.Fprintln(a.stdout, text)
	return a.stdout.err
}

// plant leaves a sealed word in the database, by which its key is known.
func plant(ctx context.Context, t *store.Tx, key *seal.Keyset) error {
	sealed, err := key.Seal([]byte(canaryText), canary)
	if err != nil {
		return err
	}
	return t.SetSetting(ctx, canary, base64.StdEncoding.EncodeToString(sealed))
}

// fits refuses a key that is not that of the database.
func fits(ctx context.Context, s *store.Store, key *seal.Keyset) error {
	return s.View(ctx, func(t *store.Tx) error {
		stored, err := t.Setting(ctx, canary)
		if err != nil || stored == "" {
			return err
		}
		sealed, err := base64.StdEncoding.DecodeString(stored)
		if err == nil {
			_, err = key.Open(sealed, canary)
		}
		if err != nil {
			return hinted(errors.New("the encryption key is not the one that the database was used with"),
				"give that key: --encryption-key-file FILE, or the variable %s", keyVariable)
		}
		return nil
	})
}

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

// maxAuditLine bounds a line of an exported audit.
const maxAuditLine = 1 << 20

// auditOptions are the flags of audit verify.
type auditOptions struct{ contains string }

func (a *app) newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look whether an exported audit is whole",
		Args:  cobra.ArbitraryArgs,
	}
	cmd.RunE = a.runE(func(_ context.Context, _ *given, args []string) (int, error) {
		return 0, usageErrorf("give a command: audit verify FILE", shown(args))
	})
	cmd.AddCommand(a.newAuditVerifyCommand())
	return cmd
}

func (a *app) newAuditVerifyCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE",
		Short: "Follow the hashes of an exported audit",
		Long: `Read a file that a monitor exported (GET /api/v1/audit/export, or the page Audit) and
follow its chain: each entry has a hash over itself and the one before it, so that one
that was changed, added or taken out shows. - is standard input.

Whoever can write the database can write all hashes anew, or cut off the end. Keep the
last hash somewhere else, and ask for it later with --contains.

EXIT STATUS
  0  the file is whole
  1  an entry does not follow, or none has the hash of --contains
  2  the file cannot be read, wrong usage`,
		Args: cobra.ArbitraryArgs,
	}
	grouped(cmd.Flags(), groupOther, func() {
		cmd.Flags().StringVar(&o.contains, "contains", "", "`HASH` that one of its entries has to have")
	})
	cmd.RunE = a.runE(func(_ context.Context, _ *given, args []string) (int, error) { return a.runAuditVerify(&o, args) })
	return cmd
}

func (a *app) runAuditVerify(o *auditOptions, args []string) (int, error) {
	path, err := oneFile(args)
	if err != nil {
		return 0, err
	}
	in := io.NopCloser(a.stdin)
	if path != "-" {
		if in, err = os.Open(path); err != nil {
			return 0, explainFile(path, err)
		}
	}
	defer func() { _ = in.Close() }()
	file := auditFile{lines: bufio.NewScanner(in), contains: strings.ToLower(strings.TrimSpace(o.contains))}
	file.lines.Buffer(nil, maxAuditLine)
	check, err := file.verify()
	if err != nil {
		return 0, hinted(fmt.Errorf("%s: %w", plain.Line(path, maxShown), err), "give a file that a monitor exported: GET /api/v1/audit/export")
	}
	switch {
	case check.Broken != 0:
		fmt.Fprintf(a.stdout, "not whole: entry %d does not follow what is before it; the %d before it are whole\n", check.Broken, check.Entries-1)
		return exitUnhealthy, nil
	case file.contains != "" && !file.found:
		fmt.Fprintf(a.stdout, "not whole: none of %d entries has the hash of --contains\n", check.Entries)
		return exitUnhealthy, nil
	}
	fmt.Fprintf(a.stdout, "ok: %d entries, %d to %d\nlast hash: %s\n", check.Entries, check.First, check.Last, check.Hash)
	if check.Unchained > 0 {
		a.warn("the first %d entries are from before there were hashes", check.Unchained)
	}
	return 0, nil
}

// auditFile is an exported audit that is read.
type auditFile struct {
	lines    *bufio.Scanner
	contains string
	found    bool
}

var errNoEntry = errors.New("it is no entry of an audit")

func (f *auditFile) next() (line ops.AuditLine, err error) {
	if json.Unmarshal(f.lines.Bytes(), &line) != nil || line.ID == 0 || line.Action == "" {
		return ops.AuditLine{}, errNoEntry
	}
	f.found = f.found || f.contains != "" && line.Hash == f.contains
	return line, nil
}

// verify follows the chain through the file.
func (f *auditFile) verify() (people.AuditCheck, error) {
	if !f.lines.Scan() {
		return people.AuditCheck{}, errors.Join(f.lines.Err(), errNoEntry)
	}
	first, err := f.next()
	if err != nil {
		return people.AuditCheck{}, fmt.Errorf("line 1: %w", err)
	}
	return people.VerifyAudit(first.Previous, f.entries(first.AuditEntry))
}

// entries are those of the file, of which the first one was read already.
func (f *auditFile) entries(first people.AuditEntry) iter.Seq2[people.AuditEntry, error] {
	return func(yield func(people.AuditEntry, error) bool) {
		if !yield(first, nil) {
			return
		}
		for n := 2; f.lines.Scan(); n++ {
			line, err := f.next()
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(line.AuditEntry, err) || err != nil {
				return
			}
		}
		if err := f.lines.Err(); err != nil {
			yield(people.AuditEntry{}, err)
		}
	}
}

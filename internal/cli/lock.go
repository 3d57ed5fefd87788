package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// lockOptions are the flags of lock.
type lockOptions struct {
	pointOptions
	runOptions
	limitOptions
	lockfileOptions
	outputOptions
	yes, dryRun bool
	prune       bool
	reason      string
	accept      []string
	masks       []string
}

func (a *app) newLockCommand() *cobra.Command {
	var o lockOptions
	cmd := &cobra.Command{
		Use:   "lock [flags] [URL | FILE | -- COMMAND [ARG...]]",
		Short: "Approve what servers tell agents, in a lockfile",
		Long: `List what a server offers, show what would be approved, and write it into the
lockfile, to be reviewed and kept in version control like code. verify compares the
server with it from then on. What is new is listed twice, and a server that does not
say the same twice is not approved. Nothing is called on the server.

On a terminal, lock asks. Without one it writes, unless the lint has block findings
that nobody has accepted: --yes --reason TEXT accepts them all, --accept ID --reason
TEXT only those that are named. Targets are given as for check.

EXIT STATUS
  0  approved, or there was nothing to approve
  1  not approved: findings nobody has accepted, or the answer was no
  2  a refused credential, a lockfile that cannot be read or written, wrong usage
  4  a server is down, was not listed to its end, or does not say the same twice
  Of several targets those that could be approved are; the worst code counts.`,
		Args: cobra.ArbitraryArgs,
	}
	fs := cmd.Flags()
	o.pointOptions.add(fs)
	o.runOptions.add(fs)
	o.limitOptions.add(fs)
	o.lockfileOptions.add(fs)
	grouped(fs, groupDrift, func() {
		fs.BoolVar(&o.yes, "yes", false, "approve without asking, and accept the findings")
		fs.StringVar(&o.reason, "reason", "", "why the findings are accepted, for those who review the lockfile")
		fs.Var(list{&o.accept, typeList, nil}, "accept", "accept only the finding with this `id` (repeatable)")
		fs.Var(list{&o.masks, typeMask, isMask}, "mask", "let parts of a text change by themselves, such as `tool/NAME#/description=date`; also version, integer (repeatable)")
		fs.BoolVar(&o.prune, "prune", false, "drop the baselines of servers that the configuration does not have")
		fs.BoolVar(&o.dryRun, "dry-run", false, "show what would be approved, and write nothing")
	})
	o.format = render.Human
	grouped(fs, groupOutput, func() {
		fs.BoolVar(&o.quiet, "quiet", false, "print nothing but questions and errors")
		fs.BoolVar(&o.verbose, "verbose", false, "show every text and schema, before and after")
		fs.BoolVar(&o.noColor, "no-color", false, "do not colour; the variable NO_COLOR does the same")
	})
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, args []string) (int, error) { return a.runLock(ctx, g, &o, args) })
	return cmd
}

func isMask(s string) error {
	_, err := baseline.ParseMask(s)
	return err
}

func (a *app) runLock(ctx context.Context, g *given, o *lockOptions, args []string) (int, error) {
	sel, err := o.resolve(g, args)
	if err != nil {
		return 0, err
	}
	if err := o.rename(g, sel); err != nil {
		return 0, err
	}
	if err := ownNames(sel.targets); err != nil {
		return 0, err
	}
	if o.prune && sel.configured == nil {
		return 0, usageErrorf("--prune drops what a configuration file does not have, and none was given", "")
	}
	lockfile, err := o.readLoose(a)
	if err != nil {
		return 0, err
	}
	p := listing(&o.runOptions, &o.limitOptions)
	candidates := make([]*candidate, len(sel.targets))
	a.each(sel, o.quiet, func(i int) {
		t := sel.targets[i]
		c := o.candidate(t, lockfile.Lockfile, clientOf(p.Client))
		c.observation = observe(ctx, t, c.approved, surface.Policy{}, lockfile.beside(t).rules(), p)
		candidates[i] = c
	})
	for _, c := range candidates {
		c.readBeside(lockfile, candidates)
	}
	if err := o.known(candidates); err != nil {
		return 0, err
	}
	if err := o.masking(candidates); err != nil {
		return 0, err
	}
	code, approved := exitHealthy, 0
	for i, c := range candidates {
		more, err := a.consider(c, o, i == 0)
		if err != nil {
			return 0, err
		}
		code = worseCode(code, more)
		if c.next != nil {
			lockfile.Put(c.next)
			approved++
		}
	}
	gone := lockfile.gone(sel)
	if o.prune {
		lockfile.Baselines = slices.DeleteFunc(lockfile.Baselines, func(b *baseline.Baseline) bool { return slices.Contains(gone, b.Name) })
	} else {
		if !o.quiet {
			a.warnOfGone(o.lockfile, gone)
		}
		gone = nil
	}
	return code, a.writeLockfile(lockfile, o, approved, gone)
}

// ownNames refuses two servers of one name, of which only one could be kept.
func ownNames(targets []*target.Target) error {
	addresses := map[string]string{}
	for _, t := range targets {
		if other, ok := addresses[t.Label()]; ok && other != t.Address() {
			return hinted(fmt.Errorf("two targets are called %s, and a lockfile tells them apart by their names", plain.Line(t.Label(), maxShown)),
				"give each a name of its own")
		}
		addresses[t.Label()] = t.Address()
	}
	return nil
}

// candidate is a target whose surface may be approved.
type candidate struct {
	*observation
	approved *baseline.Baseline
	// masksBefore are the masks without those that flags add.
	masksBefore []surface.Mask
	// first: nothing was approved before, or for another binding only, to which
	// elsewhere refers.
	first     bool
	elsewhere *baseline.Baseline
	// next is the baseline to be written, or nil.
	next *baseline.Baseline
}

// candidate finds what is approved of t, or an empty surface, with the masks that
// flags add. What was approved for another address or credential is compared with,
// but neither its masks nor its accepted findings are taken over.
func (o *lockOptions) candidate(t *target.Target, l *baseline.Lockfile, client string) *candidate {
	binding := baseline.BindingOf(t, client)
	c := &candidate{}
	b, err := l.Find(t.Label(), binding)
	if err != nil {
		c.first = true
		nothing := surface.List{Listed: true}
		before := surface.New(surface.Input{Tools: nothing, Resources: nothing, ResourceTemplates: nothing, Prompts: nothing})
		if e := (*baseline.BindingError)(nil); errors.As(err, &e) {
			if c.elsewhere, err = l.Find(e.Name, e.Have); err == nil {
				before = c.elsewhere.Surface
			}
		}
		b = baseline.New(t.Label(), binding, before)
	}
	masked := *b
	masked.Masks = slices.Clone(b.Masks)
	c.masksBefore = b.Masks
	for _, s := range o.masks {
		m, _ := baseline.ParseMask(s) // the flag has refused what is none
		same := func(other surface.Mask) bool {
			return other.Kind == m.Kind && other.Item == m.Item && other.Pointer == m.Pointer
		}
		masked.Masks = append(slices.DeleteFunc(masked.Masks, same), m)
	}
	c.approved = &masked
	return c
}

// findings are those of what was seen.
func (c *candidate) findings() []lint.Finding {
	out := make([]lint.Finding, len(c.result.Findings))
	for i := range c.result.Findings {
		out[i] = c.result.Findings[i].Finding
	}
	return out
}

// readBeside reads what was seen once more, beside what was seen of the others.
func (c *candidate) readBeside(l *lockfile, all []*candidate) {
	beside := l.beside(c.target)
	for _, other := range all {
		if other.seen != nil && other.target.Label() != c.target.Label() && other.target.Address() != c.target.Address() {
			delete(beside, other.target.Label()) // what was approved of it
			beside.add(other.target.Label(), other.seen)
		}
	}
	if !c.complete() || c.inconsistent() || len(beside) == 0 {
		return
	}
	var verdicts []baseline.Verdict
	for _, v := range baseline.Judge(lint.Scan(c.seen, beside.rules())) {
		known := slices.IndexFunc(c.result.Findings, func(k baseline.Verdict) bool { return k.ID == v.ID })
		if known >= 0 {
			v = c.result.Findings[known]
		}
		verdicts = append(verdicts, v)
	}
	c.result.Findings = verdicts
	c.result.Judge()
}

// known refuses ids of --accept that nothing was found under.
func (o *lockOptions) known(candidates []*candidate) error {
	for _, id := range o.accept {
		found := slices.ContainsFunc(candidates, func(c *candidate) bool {
			return slices.ContainsFunc(c.findings(), func(f lint.Finding) bool { return f.ID == id })
		})
		if !found {
			return hinted(fmt.Errorf("no finding has the id %s", plain.Line(id, maxShown)), "run mcpvigil lock --dry-run for the findings and their ids")
		}
	}
	return nil
}

// masking drops the masks that cover nothing in what was seen, and refuses those of
// --mask that cover nothing in any of it.
func (o *lockOptions) masking(candidates []*candidate) error {
	used := map[string]bool{}
	for _, c := range candidates {
		if !c.complete() {
			return nil // the rest of it may have what they are for
		}
		now := baseline.Baseline{Surface: c.seen, Masks: c.approved.Masks}
		unused := map[string]bool{}
		for _, m := range now.UnusedMasks() {
			unused[baseline.FormatMask(m)] = true
		}
		c.approved.Masks = slices.DeleteFunc(c.approved.Masks, func(m surface.Mask) bool { return unused[baseline.FormatMask(m)] })
		for _, m := range c.approved.Masks {
			used[baseline.FormatMask(m)] = true
		}
	}
	for _, s := range o.masks {
		if m, _ := baseline.ParseMask(s); !used[baseline.FormatMask(m)] {
			return hinted(fmt.Errorf("--mask %s covers nothing: there is no such text, or nothing of that kind in it", plain.Line(s, maxShown)),
				"the place is the one that a change is reported at")
		}
	}
	return nil
}

// consider shows a candidate and decides whether it is approved.
func (a *app) consider(c *candidate, o *lockOptions, titled bool) (int, error) {
	v := c.verification()
	v.File = o.lockfile
	if !c.complete() || c.inconsistent() {
		v.Remarks = []string{"not approved: " + whyNotApproved(c)}
		code := driftCode([]*baseline.Result{{Status: v.Result.Status}})
		if code == exitUnhealthy {
			code = exitUnknown
		}
		return code, a.showCandidate(v, o, titled)
	}
	accepted, open := c.approved.Carry(c.findings())
	open = slices.DeleteFunc(open, func(f lint.Finding) bool { return f.Severity != lint.Block && !slices.Contains(o.accept, f.ID) })
	v.Word = "to be approved"
	switch {
	case c.elsewhere != nil:
		v.Word = "approved for another address, credential or client, to be approved for this one"
	case c.first:
		v.Word = "new, to be approved"
	}
	if c.first && c.target.Kind() == target.Stdio && c.target.Name == "" {
		v.Remarks = append(v.Remarks, "another version of this command is another server, unless lock and verify have --name NAME")
	}
	if !c.news(open, accepted) {
		v.Word = "approved already"
		v.Remarks = []string{"nothing to approve"}
		return exitHealthy, a.showCandidate(v, o, titled)
	}
	v.First = c.first && c.elsewhere == nil
	if err := a.showCandidate(v, o, titled); err != nil {
		return 0, err
	}
	chosen, ok, err := a.decide(c, open, o)
	if err != nil || !ok {
		return exitUnhealthy, err
	}
	c.next = baseline.New(c.approved.Name, c.approved.Binding, c.seen, append(accepted, chosen...)...)
	c.next.Masks = c.approved.Masks
	c.next.LeaveOpen(c.findings())
	return exitHealthy, nil
}

// inconsistent reports whether fresh listings differ.
func (c *candidate) inconsistent() bool {
	return slices.ContainsFunc(c.result.Changes, func(ch surface.Change) bool { return ch.Class == surface.InconsistentListing })
}

func whyNotApproved(c *candidate) string {
	if c.complete() {
		return "the server does not say the same twice"
	}
	if c.result.Status == baseline.Misconfigured {
		return "the server could not be listed as it is configured"
	}
	return "the server was not listed to its end"
}

// news reports whether there is anything to approve.
func (c *candidate) news(open []lint.Finding, accepted []baseline.Acceptance) bool {
	b := c.approved
	return c.first || len(c.result.Changes) > 0 || len(open) > 0 || len(accepted) != len(b.Accepted) ||
		b.Ruleset != lint.Ruleset || !sameMasks(b.Masks, c.masksBefore)
}

func sameMasks(a, b []surface.Mask) bool {
	forms := func(masks []surface.Mask) []string {
		var out []string
		for _, m := range masks {
			out = append(out, baseline.FormatMask(m))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(forms(a), forms(b))
}

func (a *app) showCandidate(v *render.Verification, o *lockOptions, titled bool) error {
	command := ""
	if titled {
		command = "lock"
	}
	if o.quiet {
		return nil
	}
	v.Below = 2 // writeLockfile's
	return render.Drift(a.stdout, render.Human, command, []*render.Verification{v}, a.renderOptions(&o.outputOptions))
}

// decide asks, where there is somebody, and returns what is accepted.
func (a *app) decide(c *candidate, open []lint.Finding, o *lockOptions) (accepted []baseline.Acceptance, ok bool, err error) {
	chosen := open
	if len(o.accept) > 0 {
		chosen = slices.DeleteFunc(slices.Clone(open), func(f lint.Finding) bool { return !slices.Contains(o.accept, f.ID) })
	}
	reason := o.reason
	name := plain.Line(c.target.Label(), maxShown)
	switch {
	case o.yes || o.dryRun && len(open) == 0:
	case a.interactive():
		question := fmt.Sprintf("Approve this of %s", name)
		if len(chosen) > 0 {
			question += fmt.Sprintf(", and accept %s", counted(len(chosen), "finding"))
		}
		if answer, err := a.ask(question + "? [y/N] "); err != nil || !isYes(answer) {
			return nil, false, err
		}
		if len(chosen) > 0 && reason == "" {
			if reason, err = a.ask("Why are they harmless? "); err != nil {
				return nil, false, err
			}
		}
	case len(open) > 0 && len(o.accept) == 0:
		a.fail(hinted(fmt.Errorf("%s is not approved: %s that nobody has accepted", name, counted(len(open), "block finding")),
			"read them; if they are harmless: mcpvigil lock --yes --reason TEXT, or --accept ID for some of them"))
		return nil, false, nil
	}
	if left := len(open) - len(chosen); left > 0 {
		a.warn("%s of %s stays without acceptance, and fails mcpvigil verify", counted(left, "finding"), name)
	}
	return baseline.Accept(chosen, reason), true, nil
}

// interactive reports whether a person can be asked.
func (a *app) interactive() bool {
	f, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && terminal(a.stderr)
}

// ask puts a question and returns the line that is typed.
func (a *app) ask(question string) (string, error) {
	fmt.Fprint(a.stderr, question)
	if a.answers == nil {
		a.answers = bufio.NewReader(a.stdin)
	}
	line, err := a.answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func isYes(answer string) bool {
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true
	}
	return false
}

// writeLockfile writes what was approved, and without what is gone, if anything
// was or the file is misspelt.
func (a *app) writeLockfile(l *lockfile, o *lockOptions, approved int, gone []string) error {
	if approved == 0 && len(gone) == 0 && !l.misspelt {
		return nil
	}
	data := l.Encode()
	if _, err := baseline.Read(data); err != nil {
		return hinted(fmt.Errorf("%s is not written, as it could not be read again: %w", plain.Line(o.lockfile, maxShown), err),
			"keep the servers in several lockfiles (--lockfile)")
	}
	var did []string
	if l.misspelt {
		did = append(did, "written afresh: the file was not as mcpvigil writes it; review it like a new one")
	}
	if len(gone) > 0 {
		did = append(did, "dropped: "+shown(gone))
	}
	if approved > 0 {
		did = append(did, fmt.Sprintf("approved: %s in %s; commit it", counted(approved, "target"), plain.Line(o.lockfile, maxShown)))
	}
	if o.dryRun {
		did = []string{"dry run, nothing is written: " + strings.Join(did, "; ")}
	} else if err := replaceFile(o.lockfile, data); err != nil {
		return hinted(fmt.Errorf("write the lockfile: %w", err), "check that the directory exists and may be written to")
	}
	if !o.quiet {
		fmt.Fprintf(a.stdout, "  %s\n\n", strings.Join(did, "\n  "))
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	unmasks     []string
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

On a terminal, lock asks. Without one it writes. Nothing of a server is approved as
long as the lint has a block finding there that nobody has accepted: --accept ID
--reason TEXT accepts those that are named, --yes --reason TEXT all of them. Targets
are given as for check.

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
		fs.Var(list{&o.accept, typeFinding, isFindingID}, "accept", "accept the finding with this `id`, of which the first digits will do (repeatable)")
		fs.Var(list{&o.masks, typeMask, isMask}, "mask", "let parts of a text change by themselves, such as `tool/NAME#/description=date`; also version, integer (repeatable)")
		fs.Var(list{&o.unmasks, typeMask, isMask}, "unmask", "take back a `mask` (repeatable)")
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
	if _, err := baseline.ParseMask(s); err != nil {
		return errors.New("not of the form KIND/NAME#POINTER=WHAT, such as tool/NAME#/description=date or instructions=date,integer, where WHAT is of date, version, integer")
	}
	return nil
}

// fewestDigits of an id are enough to name a finding.
const fewestDigits = 6

func isFindingID(s string) error {
	if len(s) < fewestDigits || strings.Trim(strings.ToLower(s), "0123456789abcdef") != "" {
		return fmt.Errorf("not the id of a finding, or its first digits, of which %d are needed", fewestDigits)
	}
	return nil
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
	if len(o.accept) > 0 && o.reason == "" && (o.dryRun || !a.interactive()) {
		return 0, usageErrorf("--accept needs a --reason, which the review of the lockfile shows", "")
	}
	lockfile, err := o.readLoose(a)
	if err != nil {
		return 0, err
	}
	line := g.commandLine(sel, args)
	p := listing(ctx, &o.runOptions, &o.limitOptions, sel.targets)
	candidates := make([]*candidate, len(sel.targets))
	a.each(sel, o.quiet, func(i int) {
		t := sel.targets[i]
		c := o.candidate(t, lockfile.Lockfile, clientOf(p.Client))
		c.observation = observe(ctx, t, c.approved, surface.Policy{}, lockfile.beside(t).rules(), p)
		c.line = line
		candidates[i] = c
	})
	for _, c := range candidates {
		c.readBeside(lockfile, candidates)
	}
	if err := o.resolveIDs(candidates); err != nil {
		return 0, err
	}
	if err := o.masking(candidates); err != nil {
		return 0, err
	}
	code := exitHealthy
	var approved []*baseline.Baseline
	for i, c := range candidates {
		more, err := a.consider(c, o, i == 0)
		if err != nil {
			return 0, err
		}
		code = worseCode(code, more)
		if c.next != nil {
			lockfile.Put(c.next)
			approved = append(approved, c.next)
		}
	}
	gone := lockfile.gone(sel)
	if o.prune {
		lockfile.drop(gone)
	} else {
		if !o.quiet {
			a.warnOfGone(o.lockfile, gone)
		}
		gone = nil
	}
	return code, a.writeLockfile(ctx, lockfile, o, approved, gone)
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
		if t.AuditChain {
			before = surface.New(surface.Input{})
		}
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
		m := parsedMask(s)
		masked.Masks = append(slices.DeleteFunc(masked.Masks, m.same), m.Mask)
	}
	for _, s := range o.unmasks {
		masked.Masks = slices.DeleteFunc(masked.Masks, parsedMask(s).same)
	}
	c.approved = &masked
	return c
}

// mask is one of a flag.
type mask struct{ surface.Mask }

func parsedMask(s string) mask {
	m, _ := baseline.ParseMask(s) // the flag has refused what is none
	return mask{m}
}

// same reports whether other is of the same text.
func (m mask) same(other surface.Mask) bool {
	return other.Kind == m.Kind && other.Item == m.Item && other.Pointer == m.Pointer
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

// resolveIDs puts whole ids in the place of their first digits in --accept, and
// refuses those that name no finding, or several.
func (o *lockOptions) resolveIDs(candidates []*candidate) error {
	for i, id := range o.accept {
		var ids []string
		for _, c := range candidates {
			for _, f := range c.findings() {
				if strings.HasPrefix(f.ID, strings.ToLower(id)) && !slices.Contains(ids, f.ID) {
					ids = append(ids, f.ID)
				}
			}
		}
		switch {
		case len(ids) == 0:
			return hinted(fmt.Errorf("no finding has the id %s", plain.Line(id, maxShown)), "run mcpvigil lock --dry-run for the findings and their ids")
		case len(ids) > 1:
			return hinted(fmt.Errorf("the ids of %s begin with %s", counted(len(ids), "finding"), plain.Line(id, maxShown)), "give one of %s", shown(ids))
		}
		o.accept[i] = ids[0]
	}
	return nil
}

// masking drops the masks that cover nothing in what was seen. It refuses those of
// --mask that cover nothing in any of it, and those of --unmask that are none.
func (o *lockOptions) masking(candidates []*candidate) error {
	var used, before []surface.Mask
	whole := true
	for _, c := range candidates {
		before = append(before, c.masksBefore...)
		if !c.complete() {
			whole = false // the rest of it may have what they are for
			continue
		}
		unused := (&baseline.Baseline{Surface: c.seen, Masks: c.approved.Masks}).UnusedMasks()
		c.approved.Masks = slices.DeleteFunc(c.approved.Masks, func(m surface.Mask) bool { return slices.ContainsFunc(unused, mask{m}.same) })
		used = append(used, c.approved.Masks...)
	}
	for _, s := range o.masks {
		if whole && !slices.ContainsFunc(used, parsedMask(s).same) {
			return hinted(fmt.Errorf("--mask %s covers nothing: there is no such text, or nothing of that kind in it", plain.Line(s, maxShown)),
				"the place is the one that a change is reported at")
		}
	}
	for _, s := range o.unmasks {
		if !slices.ContainsFunc(before, parsedMask(s).same) {
			return hinted(fmt.Errorf("--unmask %s: nothing is masked there", plain.Line(s, maxShown)), "the lockfile has the masks of each server")
		}
	}
	return nil
}

// maskRemarks say what is masked, and what was.
func (c *candidate) maskRemarks() []string {
	var out []string
	note := func(word string, masks, others []surface.Mask, among bool) {
		known := forms(others)
		var names []string
		for _, form := range forms(masks) {
			if slices.Contains(known, form) == among {
				names = append(names, form)
			}
		}
		if len(names) > 0 {
			out = append(out, word+shown(names))
		}
	}
	note("masked from now on: ", c.approved.Masks, c.masksBefore, false)
	note("masked: ", c.approved.Masks, c.masksBefore, true)
	note("no longer masked: ", c.masksBefore, c.approved.Masks, false)
	return out
}

// consider shows a candidate and decides whether it is approved.
func (a *app) consider(c *candidate, o *lockOptions, titled bool) (int, error) {
	v := c.verification()
	v.File = o.lockfile
	if why := c.whyNotApproved(); why != "" {
		v.Remarks = append(v.Remarks, "not approved: "+why)
		if c.complete() {
			v.Word = "not approved"
		}
		code := driftCode([]*baseline.Result{{Status: v.Result.Status}})
		if code != exitMisconfigured {
			code = exitUnknown
		}
		return code, a.showCandidate(v, o, titled)
	}
	v.Remarks = append(v.Remarks, c.maskRemarks()...)
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
		v.Remarks = append(v.Remarks, "nothing to approve")
		return exitHealthy, a.showCandidate(v, o, titled)
	}
	if c.approved.Edited {
		v.Remarks = append(v.Remarks, "its baseline was edited by hand: the changes are those from what stands there")
	}
	v.First = c.first && c.elsewhere == nil
	if err := a.showCandidate(v, o, titled); err != nil {
		return 0, err
	}
	chosen, ok, err := a.decide(c, open, o)
	if err != nil || !ok {
		return exitUnhealthy, err
	}
	if !o.quiet {
		a.tellAccepted(chosen)
	}
	c.next = baseline.New(c.approved.Name, c.approved.Binding, c.seen, append(accepted, chosen...)...)
	c.next.Masks = c.approved.Masks
	if !o.quiet && c.loginUnknown() {
		a.warn("%s: the metadata of its login is not pinned, so verify does not notice when it changes: the server, or its authorization server, did not answer when asked without a credential; lock again when it does", plain.Line(c.target.Label(), maxShown))
	}
	return exitHealthy, nil
}

// loginUnknown reports whether the server is one that is logged in to, and the
// metadata of that could not be asked for.
func (c *candidate) loginUnknown() bool {
	t := c.target
	return t.Kind() != target.Stdio && (t.OAuth != nil || len(t.Headers) > 0) && len(c.seen.Of(surface.Auth)) == 0
}

// place names an item and a place in it, such as "tool add /description".
func place(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// inconsistent reports whether fresh listings differ.
func (c *candidate) inconsistent() bool {
	return slices.ContainsFunc(c.result.Changes, func(ch surface.Change) bool { return ch.Class == surface.InconsistentListing })
}

// whyNotApproved says why nothing of c can be approved, or nothing.
func (c *candidate) whyNotApproved() string {
	switch {
	case !c.complete() && c.result.Status == baseline.Misconfigured:
		return "the server could not be listed as it is configured"
	case !c.complete():
		return "the server was not listed to its end"
	case c.inconsistent():
		return "the server does not say the same twice"
	case slices.ContainsFunc(c.result.Changes, func(ch surface.Change) bool { return ch.Mask != nil }):
		return "the server does not say the same twice; it can be approved with the mask"
	}
	return ""
}

// news reports whether there is anything to approve.
func (c *candidate) news(open []lint.Finding, accepted []baseline.Acceptance) bool {
	b := c.approved
	return c.first || b.Edited || len(c.result.Changes) > 0 || len(open) > 0 || len(accepted) != len(b.Accepted) ||
		b.Ruleset != lint.Ruleset || !sameMasks(b.Masks, c.masksBefore)
}

func sameMasks(a, b []surface.Mask) bool { return slices.Equal(forms(a), forms(b)) }

// forms are masks as they are written, in order.
func forms(masks []surface.Mask) []string {
	var out []string
	for _, m := range masks {
		out = append(out, baseline.FormatMask(m))
	}
	slices.Sort(out)
	return out
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

// writeLockfile writes what was approved, and without what is gone, if anything
// was or the file is misspelt.
func (a *app) writeLockfile(ctx context.Context, l *lockfile, o *lockOptions, approved []*baseline.Baseline, gone []string) error {
	if len(approved) == 0 && len(gone) == 0 && !l.misspelt {
		return nil
	}
	path, mode, err := o.place()
	if err != nil && !o.dryRun {
		return notWritten(err)
	}
	if !o.dryRun {
		release, err := exclusive(ctx, path)
		if err != nil {
			return notWritten(err)
		}
		defer release()
		now, err := o.reread(a, l)
		if err != nil {
			return err
		}
		if now != nil { // another process has approved something meanwhile
			for _, b := range approved {
				now.Put(b)
			}
			now.drop(gone)
			l = now
		}
	}
	if i := slices.IndexFunc(l.Baselines, func(b *baseline.Baseline) bool { return b.Edited }); i >= 0 {
		return hinted(fmt.Errorf("%s is not written: its baseline of %s was edited by hand, and is not approved now", plain.Line(o.lockfile, maxShown), plain.Line(l.Baselines[i].Name, maxShown)),
			"lock all servers at once, or take the file from version control")
	}
	data := l.Encode()
	if _, err := baseline.Read(data); err != nil {
		return hinted(fmt.Errorf("%s is not written, as it could not be read again: %w", plain.Line(o.lockfile, maxShown), err),
			"keep the servers in several lockfiles (--lockfile)")
	}
	did := outcome(l, o, len(approved), gone)
	if !o.dryRun {
		if err := replaceAs(path, data, mode); err != nil {
			return notWritten(err)
		}
	}
	if !o.quiet {
		fmt.Fprintf(a.stdout, "  %s\n\n", strings.Join(did, "\n  "))
	}
	return nil
}

func notWritten(err error) error {
	return hinted(fmt.Errorf("write the lockfile: %w", err), "check that the directory exists, and that it and the file may be written to")
}

// drop drops the baselines of the names.
func (l *lockfile) drop(names []string) {
	l.Baselines = slices.DeleteFunc(l.Baselines, func(b *baseline.Baseline) bool { return slices.Contains(names, b.Name) })
}

// outcome says what was done to the lockfile, or would be.
func outcome(l *lockfile, o *lockOptions, approved int, gone []string) []string {
	would, next := "", "; commit it"
	if o.dryRun {
		would, next = "would be ", ""
	}
	var did []string
	if l.misspelt {
		did = append(did, would+"written afresh: the file was not as mcpvigil writes it; review it like a new one")
	}
	if len(gone) > 0 {
		did = append(did, would+"dropped: "+shown(gone))
	}
	if approved > 0 {
		did = append(did, fmt.Sprintf("%sapproved: %s in %s%s", would, counted(approved, "target"), plain.Line(o.lockfile, maxShown), next))
	}
	if o.dryRun {
		did = append(did, "dry run: nothing was written")
	}
	return did
}

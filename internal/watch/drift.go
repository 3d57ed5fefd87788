package watch

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// maxSaid keys are remembered, and at most maxNews events written for one
	// observation; one more stands for the rest.
	maxSaid = 1000
	maxNews = 200
	// keySize is how many bytes of a hash a key has: so many that no server finds two
	// changes with one key, of which a person would accept one and get both.
	keySize = 24
)

// reasonChain is the reason of posture when the login chain is broken.
const reasonChain = "login-chain"

// seeSurface judges what the observation says of the surface, unless it was judged by
// what is not approved any more.
func (d *decider) seeSurface() {
	o, st := d.o, &d.st
	if o.Approvals != d.m.Approvals || d.m.Approvals < st.Approvals {
		d.Fresh, d.ConfirmAt = false, d.now
		return
	}
	approved := d.c.HasApproval
	switch {
	case approved && st.Awaiting && (d.m.Approvals > st.Approvals || o.Verified != nil && !d.moved()): // a person has confirmed
		st.Awaiting = false
	case !approved && d.m.Approvals > 0: // it has ended, by a person or by its time
		st.Awaiting = true
	}
	st.Approvals = d.m.Approvals
	if approved && d.moved() {
		d.drop()
	}
	d.seeHistory()
	switch {
	case st.Awaiting:
		d.everywhere(func(l *LocationState) { l.Surface = Unknown })
		st.OpenChanges, st.Unsteady = 0, false
		d.seeFindings(d.findings())
	case o.Verified != nil:
		d.seeChanges(o.Verified)
		d.seeFindings(d.findings())
	case !approved && o.Surface != nil:
		d.first()
		d.seeFindings(o.Findings)
	default:
		d.seeChain()
	}
	d.seeUnseen()
	d.noteDigest()
}

// loginUnseen is how long a login can stay out of sight: it is not looked at in every
// check, and may be somebody else's.
const loginUnseen = 2 * time.Hour

// seeUnseen counts the results in a row that did not see all of a surface that is
// approved, though the server answered. As many as make a failure count are as bad as
// listings that differ: else a server that lists without an end, or so that clients
// read it in two ways, could tell agents what it likes.
func (d *decider) seeUnseen() {
	o := d.o
	if o.Kind == Review || !d.c.HasApproval || d.st.Awaiting || d.Drop {
		return
	}
	l := d.here()
	if l.SeenAt.IsZero() {
		l.SeenAt = l.At
	}
	listed := !d.seen().IsZero()
	switch now := AvailabilityOf(o.Status); {
	case listed && (o.Verified == nil || len(o.Verified.Unlisted) == 0):
		l.Unseen, l.SeenAt = 0, l.At
	case o.Local, severity(now) >= severity(Misconfigured), o.Protocol == "": // it did not answer
	default:
		l.Unseen++
		long := l.Unseen >= d.m.Definition.FailureThreshold && (!listed || l.At.Sub(l.SeenAt) > loginUnseen)
		if long && l.Surface != Changed {
			l.Surface = Inconsistent
			if d.surfaceText == "" {
				d.surfaceReason, d.surfaceText = ReasonUnseen, ReasonText(ReasonUnseen)
			}
		}
	}
	d.st.Locations[o.Location] = l
}

// drop ends what is approved of another binding.
func (d *decider) drop() {
	d.Drop, d.st.Awaiting, d.st.Approvals = true, true, d.m.Approvals+1
	d.st.History = baseline.History{}
	d.event(Event{
		Name: EventBaselineDropped, Axis: Surface,
		Text: "the monitor has another address, credential, client or revision than what was approved: a person has to confirm what it tells agents now",
		Data: &Facts{Approved: d.o.Baseline.Surface.Digest().String(), Digest: d.digest(), Location: d.o.Location},
	})
}

// first approves the first surface, of a check that succeeded.
func (d *decider) first() {
	if now := AvailabilityOf(d.o.Status); d.m.Approvals > 0 || d.o.Local || now != Up && now != Degraded || !d.m.whole(d.o.Surface) {
		return
	}
	a := First(d.m, d.o.Binding, d.o.Surface, d.now)
	d.First, d.st.Approvals = &a, d.m.Approvals+1
	d.event(a.Event())
	d.everywhere(func(l *LocationState) { l.Surface = AsApproved })
}

// everywhere changes what the location saw, and for a review what each saw of this
// surface.
func (d *decider) everywhere(change func(l *LocationState)) {
	if d.o.Kind != Review || len(d.st.Locations) == 0 {
		l := d.here()
		change(&l)
		d.st.Locations[d.o.Location] = l
		return
	}
	for name, l := range d.st.Locations {
		if l.Digest.IsZero() || l.Digest == d.seen() {
			change(&l)
			d.st.Locations[name] = l
		}
	}
}

// seen is the digest of the surface that was seen to its end, or zero.
func (d *decider) seen() surface.Digest {
	if d.o.Surface != nil {
		return d.o.Surface.Digest()
	}
	return d.o.Digest
}

func (d *decider) digest() string {
	if d.seen().IsZero() {
		return ""
	}
	return d.seen().String()
}

func (d *decider) noteDigest() {
	if d.seen().IsZero() {
		return
	}
	d.st.Digest, d.st.DigestAt = d.seen(), d.now
	d.everywhere(func(l *LocationState) { l.Digest = d.seen() })
}

// seeHistory tells a server that keeps changing from one that changed.
func (d *decider) seeHistory() {
	o, st := d.o, &d.st
	if o.Surface == nil || o.Kind == Review || o.Surface.Digest() == st.Digest && settled(st.History) {
		return
	}
	before := o.Before
	if before == nil && o.Surface.Digest() == st.Digest {
		before = o.Surface
	}
	var say surface.Class
	st.History, say = st.History.See(before, o.Surface, o.Baseline)
	bad := severity(st.Surface.State) > 0 || o.Verified != nil && slices.ContainsFunc(o.Verified.Changes, fails)
	switch {
	case st.History.Said == "":
		st.Unsteady = false
	case say == surface.InconsistentListing && bad:
		st.Unsteady = true
	}
	if say == "" || say == surface.InconsistentListing && !bad { // each of its states is approved
		return
	}
	c := d.m.Definition.Policy().Apply([]surface.Change{{Class: say, Kind: surface.Server}})[0]
	st.Unsteady = st.Unsteady && c.Effect == surface.Fail
	d.event(Event{
		Name: c.Event, Axis: Surface, Text: classText(say) + ", from check to check",
		Data: &Facts{Class: string(say), Effect: string(c.Effect), Digest: d.digest(), Location: o.Location},
	})
}

// settledAfter the same surface as often, another one like it adds nothing to a history.
const settledAfter = 8

// settled reports whether a history holds one surface alone, and is full.
func settled(h baseline.History) bool {
	return h.Said == "" && len(h.Seen) >= settledAfter && !slices.ContainsFunc(h.Seen, func(s baseline.Sighting) bool {
		first := h.Seen[0]
		return s.Digest != first.Digest || s.Volatile || (s.Login == nil) != (first.Login == nil) || s.Login != nil && *s.Login != *first.Login
	})
}

func fails(c surface.Change) bool { return c.Effect == surface.Fail }

// seeChanges judges the surface by a verdict.
func (d *decider) seeChanges(r *baseline.Result) {
	state, open := AsApproved, []surface.Change(nil)
	for _, c := range r.Changes {
		if !fails(c) {
			continue
		}
		open = append(open, c)
		switch {
		case c.Class != surface.InconsistentListing && c.Class != surface.CloakedSurface:
			state = Changed
		case state == AsApproved:
			state = Inconsistent
		}
	}
	d.st.OpenChanges = len(open)
	d.sayChanges(r)
	if state == AsApproved && d.st.Unsteady {
		state = Inconsistent
		d.surfaceReason, d.surfaceText = string(surface.InconsistentListing), classText(surface.InconsistentListing)+", from check to check"
	}
	if len(open) > 0 {
		d.surfaceReason, d.surfaceText = string(open[0].Class), d.summary(open)
	}
	if state == AsApproved && (len(r.Unlisted) > 0 || r.Cause != "") {
		return // not all of it was seen: nothing can be said
	}
	d.everywhere(func(l *LocationState) { l.Surface = state })
}

// summary says what changed, and notes the items for the incident.
func (d *decider) summary(open []surface.Change) string {
	d.surfaceItems = []string{}
	counts := map[string]int{}
	var classes []string
	for _, c := range open {
		class := string(c.Class)
		if counts[class]++; counts[class] == 1 {
			classes = append(classes, class)
		}
		if item := joined(class, itemName(c.Kind, c.Item)); len(d.surfaceItems) < maxItems && !slices.Contains(d.surfaceItems, item) {
			d.surfaceItems = append(d.surfaceItems, item)
		}
	}
	for i, class := range classes {
		if counts[class] > 1 {
			classes[i] = fmt.Sprintf("%s (%d)", class, counts[class])
		}
	}
	return counted(len(open), "change") + " that nobody approved: " + list(classes)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list names at most some of names.
func list(names []string) string {
	const shown = 8
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// shownItems are the names of at most maxItems items, safe to show.
func shownItems(names []string) []string {
	var out []string
	for _, name := range names[:min(len(names), maxItems)] {
		out = append(out, plain.Line(name, maxName))
	}
	return out
}

// itemName names an item; its kind alone where there is one of it.
func itemName(kind surface.Kind, item string) string {
	if item == "" {
		return string(kind)
	}
	return string(kind) + " " + plain.Line(item, maxName)
}

func classText(class surface.Class) string {
	for _, info := range surface.Classes() {
		if info.Class == class {
			return info.Text
		}
	}
	return plain.Line(string(class), shownName)
}

// sayChanges writes the events of changes that are new.
func (d *decider) sayChanges(r *baseline.Result) {
	texts := map[surface.Class]string{}
	news := make([]piece, 0, len(r.Changes))
	for _, c := range r.Changes {
		if c.Effect == surface.Silent {
			continue
		}
		text, known := texts[c.Class]
		if !known {
			text = classText(c.Class)
			texts[c.Class] = text
		}
		news = append(news, piece{key: ChangeKey(c), event: Event{
			Name: c.Event, Axis: Surface, Text: itemName(c.Kind, c.Item) + ": " + text,
			Data: &Facts{
				Kind: string(c.Kind), Item: plain.Line(c.Item, maxName), Class: string(c.Class), Effect: string(c.Effect),
				Digest: d.digest(), Approved: r.Approved.String(), Location: d.o.Location,
			},
		}})
	}
	d.say(changePrefix, news)
}

// piece is a change or a finding that stands, with its event.
type piece struct {
	key   string
	event Event
}

// The keys of Said begin with what they are of.
const (
	changePrefix  = "c."
	findingPrefix = "f."
)

// say writes the events of those that stand and were not said yet, and forgets those
// that stand no more, unless another location may still see them or the surface keeps
// changing.
func (d *decider) say(prefix string, standing []piece) {
	said := make(map[string]bool, len(d.st.Said))
	var others, mine []string
	for _, key := range d.st.Said {
		said[key] = true
		if strings.HasPrefix(key, prefix) {
			mine = append(mine, key)
		} else {
			others = append(others, key)
		}
	}
	standing = d.foldRest(standing)
	keys := make([]string, 0, len(standing))
	stands := make(map[string]bool, len(standing))
	news := 0
	var rest Event
	for _, p := range standing {
		if stands[p.key] {
			continue
		}
		stands[p.key] = true
		keys = append(keys, p.key)
		if said[p.key] {
			continue
		}
		if news++; news <= maxNews {
			d.event(p.event)
		} else {
			rest = p.event
		}
	}
	if more := news - maxNews; more > 0 {
		d.event(Event{
			Name: rest.Name, Axis: rest.Axis, Text: fmt.Sprintf("and %d more", more),
			Data: &Facts{Count: more, Digest: d.digest(), Location: d.o.Location},
		})
	}
	if d.mayStand() {
		for _, key := range mine {
			if !stands[key] && len(keys) < maxSaid {
				keys = append(keys, key)
			}
		}
	}
	d.st.Said = append(others, keys...)
}

// foldRest puts one key in the place of all that cannot be remembered, which is another
// one when one of them is.
func (d *decider) foldRest(standing []piece) []piece {
	if len(standing) < maxSaid {
		return standing
	}
	rest := standing[maxSaid-1:]
	h := sha256.New()
	for _, p := range rest {
		h.Write([]byte(p.key))
	}
	prefix, _, _ := strings.Cut(rest[0].key, ".")
	return append(slices.Clone(standing[:maxSaid-1]), piece{key: prefix + ".rest" + shortHash(h.Sum(nil)), event: Event{
		Name: rest[0].event.Name, Axis: rest[0].event.Axis, Text: fmt.Sprintf("and %d more", len(rest)),
		Data: &Facts{Count: len(rest), Digest: d.digest(), Location: d.o.Location},
	}})
}

// mayStand reports whether what this observation does not show may stand all the same.
func (d *decider) mayStand() bool {
	if d.st.History.Said != "" {
		return true
	}
	for name, l := range d.fresh() {
		if name != d.o.Location && !l.Digest.IsZero() && l.Digest != d.seen() {
			return true
		}
	}
	return d.o.Verified != nil && len(d.o.Verified.Unlisted) > 0
}

// findings are the verdicts on what was seen.
func (d *decider) findings() []baseline.Verdict {
	if d.o.Verified != nil {
		return d.o.Verified.Findings
	}
	return d.o.Findings
}

// seeFindings judges posture by the findings in a surface that was seen.
func (d *decider) seeFindings(findings []baseline.Verdict) {
	o := d.o
	if o.Surface == nil && o.Verified == nil && findings == nil {
		d.seeChain()
		return
	}
	var open int
	rules := map[string]int{}
	var names []string
	items := []string{}
	standing := make([]piece, 0, len(findings))
	for i := range findings {
		v := &findings[i]
		effect := v.Effect
		if effect == surface.Fail && d.m.Definition.DriftPolicy == surface.Record {
			effect = surface.Event
		}
		if effect == surface.Silent {
			continue
		}
		standing = append(standing, d.findingPiece(v, effect))
		if effect != surface.Fail {
			continue
		}
		open++
		if rules[v.Rule]++; rules[v.Rule] == 1 {
			names = append(names, v.Rule)
		}
		if item := joined(v.Rule, itemName(v.Kind, v.Item)); len(items) < maxItems && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	d.say(findingPrefix, standing)
	d.st.OpenFindings = open
	state := Clean
	switch {
	case open > 0:
		state, d.postureItems = Flagged, items
		d.postureReason, d.postureText = names[0], counted(open, "finding")+" that nobody accepted: "+list(names)
	case o.ChainBroken:
		d.chainBroken()
		return
	case o.Verified != nil && len(o.Verified.Unlisted) > 0:
		return // what was not seen may have some
	}
	d.everywhere(func(l *LocationState) { l.Posture = state })
}

func (d *decider) findingPiece(v *baseline.Verdict, effect surface.Effect) piece {
	sum := sha256.Sum256([]byte(v.ID))
	return piece{key: findingPrefix + shortHash(sum[:]), event: Event{
		Name: lint.Event, Axis: Posture, Text: itemName(v.Kind, v.Item) + ": " + v.Rule,
		Data: &Facts{
			Kind: string(v.Kind), Item: plain.Line(v.Item, maxName), Rule: v.Rule, Effect: string(effect),
			Digest: d.digest(), Location: d.o.Location,
		},
	}}
}

// seeChain judges posture where no surface was seen: by the login chain alone.
func (d *decider) seeChain() {
	now := AvailabilityOf(d.o.Status)
	switch {
	case d.o.Kind == Review || d.o.Local:
	case d.o.ChainBroken:
		d.chainBroken()
	case d.m.Definition.AuthMode == AuthOAuth && (now == Up || now == Degraded) && d.st.OpenFindings == 0:
		d.everywhere(func(l *LocationState) { l.Posture = Clean })
	}
}

func (d *decider) chainBroken() {
	if d.st.OpenFindings == 0 {
		d.postureReason, d.postureText = reasonChain, "the login chain is broken: new clients cannot log in"
		d.postureItems = []string{}
	}
	d.everywhere(func(l *LocationState) { l.Posture = Flagged })
}

// ChangeKey is the same for the same change, from check to check: what it is, where,
// and what the text is now, but for dates, versions and numbers in it.
func ChangeKey(c surface.Change) string {
	after := string(c.After)
	var text string
	if json.Unmarshal(c.After, &text) == nil && c.Class != surface.ServerVersion && c.Class != surface.ProtocolVersion {
		after = surface.Template(text, []surface.MaskKind{surface.MaskDate, surface.MaskVersion, surface.MaskInteger})
	}
	sum := sha256.New()
	for _, part := range []string{string(c.Class), string(c.Kind), c.Item, c.Pointer, c.Renamed, c.Identity, after} {
		fmt.Fprintf(sum, "%d %s ", len(part), part)
	}
	return changePrefix + shortHash(sum.Sum(nil))
}

func shortHash(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:keySize]) }

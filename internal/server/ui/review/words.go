package review

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/changes"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/surface"
)

// who is an approver as people call it.
func who(approver string) string { return strings.ReplaceAll(approver, "user:", "") }

// back is the review that a single card is of.
func (pg *page) back() string {
	if pg.Whole && pg.Review.Before != nil {
		return pg.path() + "?whole=yes"
	}
	return pg.path()
}

// counts says how much the surface has.
func (pg *page) counts(ctx context.Context) string {
	var out []string
	for _, kind := range surface.Kinds() {
		if n := pg.Review.Items[string(kind)]; n > 0 {
			out = append(out, changes.KindCount(ctx, kind, int(n)))
		}
	}
	if len(out) == 0 {
		return "–"
	}
	return strings.Join(out, ", ")
}

// settled tells that there is nothing to decide: a person approved what is on screen,
// without an end.
func (pg *page) settled() bool {
	if pg.Review.Before == nil || pg.First || len(pg.Review.Proposals) > 0 ||
		slices.ContainsFunc(pg.Review.Approved, func(a ops.Approval) bool { return a.ExpiresAt != nil }) {
		return false
	}
	return !slices.ContainsFunc(pg.Set.Items, (*changes.Item).Decidable) &&
		!slices.ContainsFunc(pg.Review.Findings, func(f ops.ReviewFinding) bool { return f.Effect == surface.Fail && !f.Accepted })
}

// choices are how many boxes can be ticked on this part.
func (pg *page) choices() int {
	n := 0
	for _, c := range pg.Cards {
		if c.Open() > 0 || c.Item().Decidable() {
			n++
		}
	}
	return n
}

// open says how much fails until a person decides.
func (pg *page) open(ctx context.Context) string {
	items, findings, recorded := 0, 0, 0
	for _, i := range pg.Set.Items {
		if slices.ContainsFunc(i.Changes, func(c changes.Change) bool { return c.Effect == surface.Fail }) {
			items++
		} else if i.Decidable() {
			recorded++
		}
	}
	for _, f := range pg.Review.Findings {
		if f.Effect == surface.Fail && !f.Accepted {
			findings++
		}
	}
	out := []string{
		lang.N(ctx, items, "%d item that fails", "%d items that fail"),
		lang.N(ctx, findings, "%d finding that fails", "%d findings that fail"),
	}
	if recorded > 0 {
		out = append(out, lang.N(ctx, recorded, "%d item that is recorded only", "%d items that are recorded only"))
	}
	return strings.Join(out, ", ")
}

// selected says what a proposal is about.
func (pg *page) selected(ctx context.Context, p ops.Proposal) string {
	if p.All {
		return lang.T(ctx, "everything on screen, with every finding in it")
	}
	return lang.N(ctx, len(p.Changes), "%d change", "%d changes") + ", " + lang.N(ctx, len(p.Findings), "%d finding", "%d findings")
}

// maxNamed bounds the names that are listed of a proposal.
const maxNamed = 200

// names are the items that a proposal is about.
func (pg *page) names(p ops.Proposal) []string {
	chosen := map[string]bool{}
	for _, key := range slices.Concat(p.Changes, p.Findings) {
		chosen[key] = true
	}
	var out []string
	for _, i := range pg.Set.Items {
		if slices.ContainsFunc(i.Keys(), func(key string) bool { return chosen[key] }) {
			out = append(out, string(i.Kind)+" "+i.Name)
		}
		for _, f := range i.Findings {
			if chosen[f.ID] {
				out = append(out, f.Rule+": "+f.Excerpt)
			}
		}
	}
	return out
}

// onPart tells whether a group begins among the cards that are shown.
func (pg *page) onPart(g *changes.Group) bool { return slices.Contains(pg.Cards, g.Cards[0]) }

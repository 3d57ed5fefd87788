// Package review is the page where a person decides whether what a server tells agents
// now may steer them: what changed, what is found in it, and who accepted what.
package review

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/changes"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
}

type pages struct {
	ops *ops.Ops
}

const (
	partSize  = 100
	maxGroups = 100
)

// Routes are the page and what is decided on it.
func Routes(d Deps) []shell.Route {
	p := &pages{ops: d.Ops}
	route := func(permission people.Permission, method, path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: method, Path: path, Permission: permission, Serve: serve}
	}
	return []shell.Route{
		route(people.Read, http.MethodGet, "/monitors/{id}/review", p.review),
		route(people.Approve, http.MethodPost, "/monitors/{id}/review", p.accept),
		route(people.Approve, http.MethodPost, "/monitors/{id}/review/reject", p.reject),
		route(people.Approve, http.MethodPost, "/monitors/{id}/review/withdraw", p.withdraw),
		route(people.Approve, http.MethodPost, "/monitors/{id}/review/second", p.second),
		route(people.Approve, http.MethodPost, "/monitors/{id}/review/unpropose", p.unpropose),
	}
}

// decision is what a person put into the form.
type decision struct {
	// All: the whole surface. Otherwise what is chosen.
	All     bool
	Chosen  map[string]bool
	Reason  string
	Expires string
	Keep    bool
	// Withdrawal is the reason of the other form.
	Withdrawal string
}

// page is all that is shown.
type page struct {
	Monitor ops.Monitor
	Review  ops.Review
	Set     *changes.Set
	View    changes.View
	// Cards are those of the part, of Parts in all; Alone is set for a single one.
	Cards       []*changes.Card
	Part, Parts int
	Alone       bool
	// Whole: nothing is compared, all of the surface is shown.
	Whole bool
	// First: what is approved is the first surface, which no person has confirmed.
	First    bool
	Decision decision
	Refusal  *ops.Error
	// Decides: who asks may decide.
	Decides bool
	Account string
	Role    people.Role
	now     time.Time
}

func (p *pages) review(q *shell.Request) error {
	if q.Partial() && q.URL.Query().Get("part") != "" {
		pg, err := p.page(q, decision{})
		if err != nil {
			return err
		}
		return q.Part(pg.part())
	}
	return p.show(q, decision{}, nil)
}

// page reads what there is to review.
func (p *pages) page(q *shell.Request, d decision) (*page, error) {
	id, err := q.ID()
	if err != nil {
		return nil, err
	}
	r, err := p.ops.Review(q.Context(), q.Actor, id)
	if err != nil {
		return nil, err
	}
	m, err := p.ops.Monitor(q.Context(), q.Actor, id)
	if err != nil {
		return nil, err
	}
	pg := &page{
		Monitor: m, Review: r, Decision: d, Decides: q.Actor.Can(people.Approve), Account: q.Session.Account().Name, Role: q.Actor.Role(), now: q.Now(),
	}
	pg.First = len(r.Approved) > 0 && r.Approved[0].Source == watch.ApprovedFirst
	query := q.URL.Query()
	pg.Whole = r.Before == nil || query.Get("whole") != ""
	pg.Set = setOf(&r, pg.Whole)
	pg.View = changes.View{Extent: changes.Parts(), Alone: pg.path() + "?card=", Boxes: pg.Decides && r.Before != nil && !pg.Whole, Chosen: d.Chosen, Notes: pg.notes()}
	if card := pg.Set.Card(query.Get("card")); card != nil {
		pg.Alone, pg.Cards, pg.Parts = true, []*changes.Card{card}, 1
		pg.View.Extent, pg.View.Alone = changes.All(), ""
		return pg, nil
	}
	if pg.Whole && r.Before != nil {
		pg.View.Alone = pg.path() + "?whole=yes&card="
	}
	pg.Part, _ = strconv.Atoi(query.Get("part"))
	pg.Part = max(pg.Part, 1)
	pg.Cards, pg.Parts = pg.Set.Part(pg.Part, partSize)
	pg.Part = min(pg.Part, pg.Parts)
	return pg, nil
}

// setOf puts a review together by item.
func setOf(r *ops.Review, whole bool) *changes.Set {
	list := make([]changes.Change, 0, len(r.Changes))
	for _, c := range r.Changes {
		list = append(list, changes.Change{Key: c.Key, Change: c.Change})
	}
	found := make([]changes.Finding, 0, len(r.Findings))
	for _, f := range r.Findings {
		found = append(found, changes.Finding{Finding: f.Finding, Effect: f.Effect, New: f.New, Accepted: f.Accepted})
	}
	if whole {
		return changes.Of(nil, r.After, nil, found)
	}
	return changes.Of(r.Before, r.After, list, found)
}

// notes are the rejections by card.
func (pg *page) notes() map[string][]changes.Note {
	out := map[string][]changes.Note{}
	if len(pg.Review.Rejections) == 0 {
		return out
	}
	for _, c := range pg.Set.Cards {
		keys := c.Keys()
		for _, r := range pg.Review.Rejections {
			if len(r.Changes) > 0 && slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(r.Changes, key) }) {
				out[c.ID] = append(out[c.ID], changes.Note{By: r.By, Reason: r.Reason, At: r.At})
			}
		}
	}
	return out
}

func (pg *page) path() string {
	return "/monitors/" + strconv.FormatInt(pg.Monitor.ID, 10) + "/review"
}

// partPath is the address of another part.
func (pg *page) partPath(n int) string {
	v := url.Values{"part": {strconv.Itoa(n)}}
	if pg.Whole && pg.Review.Before != nil {
		v.Set("whole", "yes")
	}
	return pg.path() + "?" + v.Encode()
}

// part is a part of the cards, with what leads on to the next one.
func (pg *page) part() templ.Component { return part(pg) }

// show answers with the page. A refusal that the surface has moved leaves nothing chosen.
func (p *pages) show(q *shell.Request, d decision, refusal *ops.Error) error {
	if refusal != nil && (refusal.Code == ops.Moved || refusal.Code == ops.Conflict) {
		d = decision{Reason: d.Reason, Expires: d.Expires}
	}
	pg, err := p.page(q, d)
	if waits := shell.Refusal(err); waits != nil && (waits.Code == ops.Moved || waits.Code == ops.NotFound) {
		return p.nothing(q, waits)
	}
	if err != nil {
		return err
	}
	pg.Refusal = refusal
	out := shell.Page{
		Title: q.T("Review of %s", plain.Line(pg.Monitor.Name, 80)), Section: "overview", Modules: []string{"review.js"}, Body: reviewed(pg),
	}
	if refusal != nil {
		out.Status = shell.Status(refusal)
	}
	return q.Show(out)
}

// nothing says why there is nothing to review.
func (p *pages) nothing(q *shell.Request, why *ops.Error) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	m, err := p.ops.Monitor(q.Context(), q.Actor, id)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("Review of %s", plain.Line(m.Name, 80)), Section: "overview", Body: unseen(m, why)})
}

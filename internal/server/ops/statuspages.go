package ops

import (
	"context"
	"errors"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// StatusPageInput makes or replaces a status page.
type StatusPageInput struct {
	Title    string            `json:"title" minLength:"1" maxLength:"200"`
	Text     string            `json:"text,omitempty" maxLength:"4000" doc:"Stands below the title."`
	Monitors []string          `json:"monitors,omitempty" maxItems:"1000" doc:"Names of monitors. A page shows those of any of monitors, tags and groups."`
	Tags     []string          `json:"tags,omitempty" maxItems:"1000"`
	Groups   []string          `json:"groups,omitempty" maxItems:"1000"`
	Names    map[string]string `json:"names,omitempty" doc:"What monitors are called on the page, by their own names."`
	Surface  bool              `json:"surface,omitempty" doc:"Say whether what servers tell agents is approved."`
	Badges   bool              `json:"badges,omitempty" doc:"Let everybody load badges of it, even when it has a password."`
	Listed   bool              `json:"listed,omitempty" doc:"Let search engines list it."`
	// Password nil leaves it as it is, and an empty one takes it away.
	Password *string `json:"password,omitempty" maxLength:"1024" doc:"Who knows it sees the page. Left out, it stays as it is; empty, the page is open to everybody."`
}

// StatusPages are all status pages.
func (o *Ops) StatusPages(ctx context.Context, actor people.Actor) (Page[watch.StatusPage], error) {
	return list(ctx, o, actor, "status page", func(t *store.Tx) ([]watch.StatusPage, string, error) {
		pages, err := t.StatusPages(ctx)
		var out []watch.StatusPage
		for i := range pages {
			out = append(out, pages[i].StatusPage)
		}
		return out, "", err
	})
}

// StatusPage is the page of that slug.
func (o *Ops) StatusPage(ctx context.Context, actor people.Actor, slug string) (watch.StatusPage, error) {
	if err := may(actor, people.Read); err != nil {
		return watch.StatusPage{}, err
	}
	var out watch.StatusPage
	err := o.view(ctx, "status page", func(t *store.Tx) error {
		p, err := t.StatusPage(ctx, slug)
		if err == nil {
			out = p.StatusPage
		}
		return err
	})
	return out, err
}

// PutStatusPage makes or replaces the page of that slug; with fresh it has to be a new one.
func (o *Ops) PutStatusPage(ctx context.Context, actor people.Actor, slug string, in StatusPageInput, fresh bool) (out watch.StatusPage, made bool, err error) {
	if err := may(actor, people.Write); err != nil {
		return watch.StatusPage{}, false, err
	}
	now := o.now()
	page := store.StatusPage{StatusPage: watch.StatusPage{
		Slug: slug, Title: in.Title, Text: in.Text, Monitors: in.Monitors, Tags: in.Tags, Groups: in.Groups, Names: in.Names,
		Surface: in.Surface, Badges: in.Badges, Listed: in.Listed, CreatedAt: now, UpdatedAt: now,
	}}
	if problems := page.Validate(); len(problems) > 0 {
		return watch.StatusPage{}, false, invalid(problems...)
	}
	if in.Password != nil && *in.Password != "" {
		if page.Password, err = o.people.Hash(ctx, *in.Password); err != nil {
			return watch.StatusPage{}, false, Personal(err)
		}
	}
	err = o.change(ctx, "status page", func(t *store.Tx) error {
		stored, err := t.StatusPage(ctx, slug)
		made = errors.Is(err, store.ErrNotFound)
		switch {
		case made:
		case err != nil:
			return err
		case fresh:
			return &Error{
				Code: Exists, Text: "another status page has this address",
				Problems: []watch.Problem{{Field: "slug", Text: "is taken", Hint: "choose another one"}},
			}
		case in.Password == nil:
			page.Password = stored.Password
		}
		page.Protected = page.Password != ""
		if err := t.PutStatusPage(ctx, &page); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "status-page.put", "status-page:"+slug, shownTo(&page))
	})
	return page.StatusPage, made, err
}

// shownTo says who sees a page.
func shownTo(p *store.StatusPage) string {
	who := "for everybody"
	if p.Protected {
		who = "with a password"
	}
	if p.Badges {
		who += ", badges for everybody"
	}
	return who
}

// DeleteStatusPage removes a page.
func (o *Ops) DeleteStatusPage(ctx context.Context, actor people.Actor, slug string) error {
	if err := may(actor, people.Write); err != nil {
		return err
	}
	return o.change(ctx, "status page", func(t *store.Tx) error {
		if err := t.DeleteStatusPage(ctx, slug); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "status-page.delete", "status-page:"+slug, "")
	})
}

package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Rejection is that a person does not approve what a server shows, and why.
type Rejection struct {
	Digest  string   `json:"digest" minLength:"1" maxLength:"80" doc:"Of the surface that was shown."`
	Changes []string `json:"changes,omitempty" maxItems:"10000" doc:"Keys of changes; none for all of it."`
	Reason  string   `json:"reason" minLength:"1" maxLength:"2000"`
}

// Rejected is a rejection of the surface that is reviewed.
type Rejected struct {
	By      string    `json:"by" doc:"Name of the account."`
	Changes []string  `json:"changes,omitempty" doc:"Keys of changes; none for all of it."`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// Reject notes that a person looked at a surface and does not approve it, or some of its
// changes. Nothing is stored as approved by it and nothing is taken away: what fails
// goes on failing. It stands on the review until the server shows something else, on the
// timeline, and with the incident that is open about it.
func (o *Ops) Reject(ctx context.Context, actor people.Actor, id int64, in Rejection) (Review, error) {
	if err := may(actor, people.Approve); err != nil {
		return Review{}, err
	}
	reason := plain.Line(strings.TrimSpace(in.Reason), 500)
	if reason == "" {
		return Review{}, invalid(watch.Problem{Field: "reason", Text: "is empty", Hint: "say why, for those who look later"})
	}
	session, _ := actor.Session()
	var x *examined
	var items []string
	err := o.view(ctx, "monitor", func(t *store.Tx) (err error) {
		x, err = o.examine(ctx, t, id)
		switch {
		case err != nil:
			return err
		case x.state.Digest.String() != in.Digest:
			return moved()
		}
		items, err = x.named(in.Changes)
		return err
	})
	if err != nil {
		return Review{}, err
	}
	r := watch.Rejection{
		Monitor: id, Account: session.Account().Name, Digest: x.state.Digest, Changes: in.Changes, Reason: reason, CreatedAt: o.now(),
	}
	detail := fmt.Sprintf("%d changes of %s", len(in.Changes), in.Digest)
	if len(in.Changes) == 0 {
		detail = "all of " + in.Digest
	}
	var out Review
	err = o.change(ctx, "monitor", func(t *store.Tx) error {
		_, st, err := o.unmoved(ctx, t, x)
		if err != nil {
			return err
		}
		if err := t.Reject(ctx, &r); err != nil {
			return err
		}
		if err := t.InsertEvents(ctx, []watch.Event{r.Event(st.Surface.Incident, items)}); err != nil {
			return err
		}
		if err := o.audit(ctx, t, actor, "surface.reject", monitorNamed(x.monitor), detail); err != nil {
			return err
		}
		out, err = o.reviewOf(ctx, t, x)
		return err
	})
	return out, err
}

// named are the kinds and names of the items that changes are about.
func (x *examined) named(keys []string) ([]string, error) {
	items := map[string]string{}
	if x.result != nil {
		for _, c := range x.result.Changes {
			items[watch.ChangeKey(c)] = strings.TrimSpace(string(c.Kind) + " " + plain.Line(c.Item, 100))
		}
	}
	var out []string
	for i, key := range keys {
		item, ok := items[key]
		if !ok {
			return nil, invalid(watch.Problem{Field: indexed("changes", i), Text: "there is no such change", Hint: "take the key from what was shown"})
		}
		out = append(out, item)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func rejectionsOf(rejections []watch.Rejection) []Rejected {
	var out []Rejected
	for i := range rejections {
		r := &rejections[i]
		out = append(out, Rejected{By: r.Account, Changes: r.Changes, Reason: r.Reason, At: r.CreatedAt})
	}
	return out
}

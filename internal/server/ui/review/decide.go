package review

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/changes"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// decisionOf reads the form.
func decisionOf(q *shell.Request) decision {
	d := decision{
		All: q.Value("what") == "all", Chosen: map[string]bool{}, Reason: q.Value("reason"), Expires: q.Value("expires"), Keep: q.Value("keep") != "",
	}
	for _, field := range []string{"item", "group", "finding"} {
		for _, value := range q.Values(field) {
			d.Chosen[value] = true
		}
	}
	for _, card := range q.Values("whole") {
		d.Chosen[changes.Whole(card)] = true
	}
	return d
}

// keys are the changes that the decision names: those of the cards and groups that are
// ticked, whatever part they stand on.
func (d *decision) keys(s *changes.Set) []string {
	var out []string
	for _, g := range s.Groups {
		for _, c := range g.Cards {
			if d.Chosen[g.ID] || d.Chosen[c.ID] || d.Chosen[changes.Whole(c.ID)] {
				out = append(out, c.Keys()...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// findings are the ids of those that are ticked.
func (d *decision) findings(s *changes.Set) []string {
	var out []string
	add := func(found []changes.Finding) {
		for _, f := range found {
			if d.Chosen[f.ID] {
				out = append(out, f.ID)
			}
		}
	}
	add(s.General)
	for _, i := range s.Items {
		add(i.Findings)
	}
	for _, c := range s.Cards {
		if !d.Chosen[changes.Whole(c.ID)] {
			continue
		}
		for _, i := range c.Items {
			out = append(out, i.Open()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shown is the review that the form was about, or a refusal when there is another by now.
func (p *pages) shown(q *shell.Request) (*ops.Review, error) {
	id, err := q.ID()
	if err != nil {
		return nil, err
	}
	r, err := p.ops.Review(q.Context(), q.Actor, id)
	if err != nil {
		return nil, err
	}
	if r.Digest != q.Value("digest") || r.Compared != q.Value("compared") {
		return nil, &ops.Error{
			Code: ops.Moved, Text: q.T("Nothing was stored: the server shows something else by now, or somebody has decided meanwhile."),
			Hint: q.T("This is the new review. Nothing is chosen in it: read it and decide anew."),
		}
	}
	return &r, nil
}

func (p *pages) accept(q *shell.Request) error {
	d := decisionOf(q)
	r, err := p.shown(q)
	if err != nil {
		return p.refused(q, d, err)
	}
	a := ops.Acceptance{Digest: r.Digest, All: d.All, Reason: d.Reason, Keep: d.Keep, Proof: q.Proof()}
	if d.Expires != "" {
		day, err := time.Parse(time.DateOnly, d.Expires)
		if err != nil {
			return p.refused(q, d, wrong("expires", q.T("is no date"), q.T("such as 2027-03-31")))
		}
		end := day.Add(24 * time.Hour)
		a.ExpiresAt = &end
	}
	if !d.All {
		set := setOf(r, false)
		a.Changes, a.Findings = d.keys(set), d.findings(set)
		if len(a.Changes)+len(a.Findings) == 0 {
			return p.refused(q, d, wrong("what", q.T("Nothing is chosen."), q.T("Tick what you accept, or accept all of it.")))
		}
	}
	_, proposed, err := p.ops.Accept(q.Context(), q.Actor, r.Monitor, a)
	return p.done(q, d, r.Monitor, err, either(proposed, "proposed", "accepted"))
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func wrong(field, text, hint string) error {
	return &ops.Error{Code: ops.Invalid, Text: text, Hint: hint, Problems: []watch.Problem{{Field: field, Text: text, Hint: hint}}}
}

// done goes on to the review as it is now, or shows it again with why nothing was done.
func (p *pages) done(q *shell.Request, d decision, id int64, err error, what string) error {
	if err != nil {
		return p.refused(q, d, err)
	}
	return q.Go("/monitors/"+strconv.FormatInt(id, 10)+"/review", what)
}

// refused shows the review again. What is not the person's affair is returned.
func (p *pages) refused(q *shell.Request, d decision, err error) error {
	refusal := shell.Refusal(err)
	if refusal == nil {
		return err
	}
	for _, problem := range refusal.Problems { // as the operation calls it
		switch {
		case strings.HasPrefix(problem.Field, "changes"), strings.HasPrefix(problem.Field, "findings"), problem.Field == "all":
			refusal = &ops.Error{Code: refusal.Code, Text: q.T("Nothing was stored."), Hint: problem.Text + ": " + problem.Hint, Problems: refusal.Problems}
		case problem.Field == "expires_at":
			refusal.Problems = append(refusal.Problems, watch.Problem{Field: "expires", Text: problem.Text, Hint: problem.Hint})
		}
	}
	return p.show(q, d, refusal)
}

func (p *pages) reject(q *shell.Request) error {
	d := decisionOf(q)
	r, err := p.shown(q)
	if err != nil {
		return p.refused(q, d, err)
	}
	in := ops.Rejection{Digest: r.Digest, Reason: d.Reason}
	if !d.All {
		if in.Changes = d.keys(setOf(r, false)); len(in.Changes) == 0 {
			return p.refused(q, d, wrong("what", q.T("Nothing is chosen."), q.T("Tick what you reject, or choose all of it.")))
		}
	}
	_, err = p.ops.Reject(q.Context(), q.Actor, r.Monitor, in)
	return p.done(q, d, r.Monitor, err, "rejected")
}

func (p *pages) withdraw(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	d := decision{Withdrawal: q.Value("withdrawal")}
	if d.Withdrawal == "" {
		return p.refused(q, d, wrong("withdrawal", q.T("is empty"), q.T("Say why, for those who look later.")))
	}
	_, err = p.ops.EndApproval(q.Context(), q.Actor, id, d.Withdrawal, q.Proof())
	return p.done(q, d, id, err, "revoked")
}

// second accepts what a first person proposed.
func (p *pages) second(q *shell.Request) error {
	r, err := p.shown(q)
	if err != nil {
		return p.refused(q, decision{}, err)
	}
	proposal, err := strconv.ParseInt(q.Value("proposal"), 10, 64)
	if err != nil || proposal < 1 {
		return shell.NotFound(q)
	}
	_, _, err = p.ops.Accept(q.Context(), q.Actor, r.Monitor, ops.Acceptance{Digest: r.Digest, Proposal: proposal, Proof: q.Proof()})
	return p.done(q, decision{}, r.Monitor, err, "accepted")
}

func (p *pages) unpropose(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	proposal, err := strconv.ParseInt(q.Value("proposal"), 10, 64)
	if err != nil || proposal < 1 {
		return shell.NotFound(q)
	}
	_, err = p.ops.WithdrawProposal(q.Context(), q.Actor, id, proposal)
	return p.done(q, decision{}, id, err, "revoked")
}

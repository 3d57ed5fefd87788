package settings

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// maxTold bounds what is shown of a test incident.
	maxTold = 60
	// maxNames bounds lists of monitors.
	maxNames = 50
)

func (a *area) policyRoutes() []shell.Route {
	return []shell.Route{
		get("/settings/escalations", people.Read, a.policies),
		get("/settings/escalations/new", people.Administer, a.newPolicy),
		get("/settings/escalations/policy", people.Read, a.policy),
		get("/settings/escalations/edit", people.Administer, a.editPolicy),
		post("/settings/escalations/save", people.Administer, a.savePolicy),
		post("/settings/escalations/preview", people.Administer, a.previewPolicy),
		post("/settings/escalations/delete", people.Administer, a.deletePolicy),
	}
}

// states are those that page, in the order in which they are shown.
func states() []string {
	return []string{watch.Down, watch.Changed, watch.Inconsistent, watch.Flagged, watch.Blind, watch.Misconfigured, watch.Degraded}
}

func axisOf(state string) watch.Axis {
	switch state {
	case watch.Changed, watch.Inconsistent:
		return watch.Surface
	case watch.Flagged:
		return watch.Posture
	case watch.Blind:
		return watch.System
	}
	return watch.Availability
}

func hasDefault(policies []watch.Escalation) bool {
	return slices.ContainsFunc(policies, func(p watch.Escalation) bool { return p.Name == watch.DefaultEscalation })
}

// policyRow is a policy in the list.
type policyRow struct {
	watch.Escalation
	followers int
}

func (a *area) policies(q *shell.Request) error {
	policies, err := a.Ops.Escalations(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	reach, err := a.Ops.Reach(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	var rows []policyRow
	for _, p := range policies.Items {
		rows = append(rows, policyRow{p, len(reach.Followers(p.Name))})
	}
	body := policyList(rows, hasDefault(policies.Items), administers(q))
	return show(q, shell.Page{Title: q.T("Escalation"), Body: body}, nil)
}

// told is one message of an incident.
type told struct {
	at       time.Time
	after    time.Duration
	channels []string
}

// rehearse tells who would hear of an incident that opened now, and when, if nobody
// acknowledged it: by what decides of real ones.
func rehearse(e *watch.Escalation, state string, now time.Time) (out []told) {
	now = now.Truncate(time.Millisecond)
	i := watch.Incident{Monitor: 1, Axis: axisOf(state), State: state, Key: "rehearsal", OpenedAt: now, Due: now}
	for !i.Due.IsZero() && len(out) < maxTold {
		at := i.Due
		next, sent := watch.Escalate(i, e, watch.Holds{}, at)
		if len(sent) > 0 {
			one := told{at: at, after: at.Sub(now)}
			for _, n := range sent {
				one.channels = append(one.channels, n.Channel)
			}
			out = append(out, one)
		}
		if !next.Due.After(at) {
			break
		}
		i = next
	}
	return out
}

// policyPage is one policy.
type policyPage struct {
	watch.Escalation
	administers bool
	followers   []watch.Monitor
	state       string
	told        []told
	now         time.Time
	refused     *ops.Error
}

func (a *area) policy(q *shell.Request) error {
	return a.showPolicy(q, q.URL.Query().Get("name"), nil)
}

func (a *area) showPolicy(q *shell.Request, name string, refused *ops.Error) error {
	e, err := a.Ops.Escalation(q.Context(), q.Actor, name)
	if err != nil {
		return err
	}
	reach, err := a.Ops.Reach(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	p := policyPage{
		Escalation: e, administers: administers(q), followers: reach.Followers(e.Name),
		state: q.URL.Query().Get("state"), now: q.Now(), refused: refused,
	}
	if !slices.Contains(states(), p.state) {
		p.state = e.Pages()[0]
	}
	p.told = rehearse(&e, p.state, p.now)
	return show(q, shell.Page{Title: e.Name, Body: policyDetail(p)}, refused)
}

// step is one of a form.
type step struct {
	delay    string
	channels []string
}

// policyForm is the form of a policy. The name of one that is there stays.
type policyForm struct {
	name     string
	known    bool
	on       []string
	steps    []step
	repeat   string
	channels []string // those there are
	refused  *ops.Error
}

func (f *policyForm) title(ctx context.Context) string {
	if f.known {
		return lang.T(ctx, "Edit the policy")
	}
	return lang.T(ctx, "New policy")
}

// problem is that of the first field whose name begins so.
func (f *policyForm) problem(prefix string) string {
	if f.refused == nil {
		return ""
	}
	for _, p := range f.refused.Problems {
		if strings.HasPrefix(p.Field, prefix) {
			return strings.TrimSpace(p.Text + " " + p.Hint)
		}
	}
	return ""
}

// names are the channels that a step can tell: those there are, and those it told that
// are gone.
func (f *policyForm) names(s step) []string {
	out := slices.Clone(f.channels)
	for _, name := range s.channels {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func stepField(i int, name string) string { return fmt.Sprintf("steps[%d].%s", i, name) }

// firstPolicy is the form of a policy for all monitors that tells a channel at once.
func firstPolicy(channel string) templ.SafeURL {
	return templ.SafeURL("/settings/escalations/new?" + url.Values{"name": {watch.DefaultEscalation}, "channel": {channel}}.Encode())
}

func (a *area) newPolicy(q *shell.Request) error {
	asked := q.URL.Query()
	f := &policyForm{name: asked.Get("name"), on: (&watch.Escalation{}).Pages(), steps: []step{{delay: "0", channels: asked["channel"]}}, repeat: "0"}
	return a.showPolicyForm(q, f)
}

func (a *area) editPolicy(q *shell.Request) error {
	e, err := a.Ops.Escalation(q.Context(), q.Actor, q.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	if e.Source == watch.FromFile {
		return &ops.Error{Code: ops.FileOwned, Text: q.T("This policy belongs to the configuration file."), Hint: q.T("Edit the file; it is read again when it changes.")}
	}
	f := &policyForm{name: e.Name, known: true, on: e.Pages(), repeat: strconv.Itoa(e.Repeat)}
	for _, s := range e.Steps {
		f.steps = append(f.steps, step{delay: span(time.Duration(s.Delay)), channels: s.Channels})
	}
	return a.showPolicyForm(q, f)
}

func (a *area) showPolicyForm(q *shell.Request, f *policyForm) error {
	channels, err := a.Ops.Channels(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	for _, c := range channels.Items {
		f.channels = append(f.channels, c.Name)
	}
	body := policyEdit(f)
	return show(q, shell.Page{Title: f.title(q.Context()), Body: body}, f.refused)
}

// sentPolicy is the form that was sent, and the policy it says. Problems are of what
// cannot be read.
func sentPolicy(q *shell.Request) (*policyForm, watch.Escalation, []watch.Problem) {
	f := &policyForm{name: q.Value("name"), known: q.Value("known") == "yes", on: q.Values("on"), repeat: q.Value("repeat")}
	e := watch.Escalation{Name: f.name, Source: watch.FromAPI, On: f.on}
	var problems []watch.Problem
	n, _ := strconv.Atoi(q.Value("steps"))
	for i := range min(max(n, 0), watch.MaxSteps) {
		s := step{delay: q.Value(stepField(i, "delay")), channels: q.Values(stepField(i, "channels"))}
		f.steps = append(f.steps, s)
		one := watch.Step{Channels: s.channels}
		if s.delay != "" {
			d, err := duration(s.delay)
			if err != nil {
				problems = append(problems, watch.Problem{Field: stepField(i, "delay"), Text: q.T("is no duration"), Hint: q.T("write 0, 10m or 1h30m")})
			}
			one.Delay = watch.Duration(d)
		}
		e.Steps = append(e.Steps, one)
	}
	if f.repeat != "" {
		var err error
		if e.Repeat, err = strconv.Atoi(f.repeat); err != nil {
			problems = append(problems, watch.Problem{Field: "repeat", Text: q.T("is no number"), Hint: q.T("write 0 to 100")})
		}
	}
	if len(f.on) == 0 {
		problems = append(problems, watch.Problem{Field: "on", Text: q.T("is empty"), Hint: q.T("choose at least one state")})
	}
	return f, e, problems
}

// duration reads 10m, 1h30m, 2d, or 0.
func duration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 1000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	return time.ParseDuration(s)
}

func (a *area) savePolicy(q *shell.Request) error {
	f, e, problems := sentPolicy(q)
	act, which, _ := strings.Cut(q.Value("do"), "-")
	switch act {
	case "add":
		if len(f.steps) < watch.MaxSteps {
			f.steps = append(f.steps, step{delay: "10m"})
		}
		return a.showPolicyForm(q, f)
	case "remove":
		if i, err := strconv.Atoi(which); err == nil && i >= 0 && i < len(f.steps) && len(f.steps) > 1 {
			f.steps = slices.Delete(f.steps, i, i+1)
		}
		return a.showPolicyForm(q, f)
	}
	if !f.known && f.name != "" {
		switch _, err := a.Ops.Escalation(q.Context(), q.Actor, f.name); {
		case err == nil:
			problems = append(problems, watch.Problem{Field: "name", Text: q.T("is taken"), Hint: q.T("choose another one")})
		case shell.Refusal(err) == nil:
			return err
		}
	}
	if len(problems) > 0 {
		f.refused = &ops.Error{Code: ops.Invalid, Text: q.T("Some of it cannot be taken as it is."), Problems: problems}
		return a.showPolicyForm(q, f)
	}
	_, err := a.Ops.PutEscalation(q.Context(), q.Actor, e.Name, ops.EscalationInput{On: e.On, Steps: e.Steps, Repeat: e.Repeat, Proof: q.Proof()})
	if f.refused = shell.Refusal(err); f.refused != nil {
		return a.showPolicyForm(q, f)
	}
	if err != nil {
		return err
	}
	done := "created"
	if f.known {
		done = "saved"
	}
	return q.Go(string(policyPath(e.Name)), done)
}

// previewPolicy says in words what the form would do.
func (a *area) previewPolicy(q *shell.Request) error {
	_, e, _ := sentPolicy(q)
	return q.Part(words(e))
}

func (a *area) deletePolicy(q *shell.Request) error {
	name := q.Value("name")
	err := a.Ops.DeleteEscalation(q.Context(), q.Actor, name, q.Proof())
	if refused := shell.Refusal(err); refused != nil && refused.Code != ops.NotFound && !q.Partial() {
		return a.showPolicy(q, name, refused)
	}
	if err != nil {
		return err
	}
	return q.Go("/settings/escalations", "deleted")
}

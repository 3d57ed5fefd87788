package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// maxChannels are those whose last delivery a list looks up.
	maxChannels = 200
	// logPart is how many deliveries a part of the log has.
	logPart = 50
)

func (a *area) channelRoutes() []shell.Route {
	return []shell.Route{
		get("/settings/channels", people.Read, a.channels),
		get("/settings/channels/new", people.Administer, a.newChannel),
		post("/settings/channels", people.Administer, a.putChannel),
		get("/settings/channels/{id}", people.Read, a.channel),
		get("/settings/channels/{id}/edit", people.Administer, a.editChannel),
		post("/settings/channels/{id}", people.Administer, a.putChannel),
		post("/settings/channels/{id}/test", people.Administer, a.testChannel),
		post("/settings/channels/{id}/delete", people.Administer, a.deleteChannel),
	}
}

// channelRow is a channel in the list.
type channelRow struct {
	watch.Channel
	policies []string
	last     *watch.Delivery
}

func channelPath(id int64) string { return "/settings/channels/" + strconv.FormatInt(id, 10) }

func (a *area) channelRows(q *shell.Request) ([]channelRow, error) {
	channels, err := a.Ops.Channels(q.Context(), q.Actor)
	if err != nil {
		return nil, err
	}
	policies, err := a.Ops.Escalations(q.Context(), q.Actor)
	if err != nil {
		return nil, err
	}
	var out []channelRow
	for i, c := range channels.Items {
		row := channelRow{Channel: c, policies: tellers(policies.Items, c.Name)}
		if i < maxChannels {
			last, err := a.Ops.Deliveries(q.Context(), q.Actor, c.ID, 0, 1)
			if err != nil {
				return nil, err
			}
			if len(last.Items) > 0 {
				row.last = &last.Items[0]
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// tellers are the policies that tell a channel.
func tellers(policies []watch.Escalation, channel string) []string {
	var out []string
	for _, p := range policies {
		if slices.ContainsFunc(p.Steps, func(s watch.Step) bool { return slices.Contains(s.Channels, channel) }) {
			out = append(out, p.Name)
		}
	}
	return out
}

func (a *area) channels(q *shell.Request) error {
	rows, err := a.channelRows(q)
	if err != nil {
		return err
	}
	return show(q, shell.Page{Title: q.T("Channels"), Body: channelList(rows, administers(q))}, nil)
}

// channelPage is one channel with its log.
type channelPage struct {
	channelRow
	administers bool
	// hasDefault: there is a policy for monitors that name none.
	hasDefault bool
	log        []watch.Delivery
	next       string
	// answer is what the receiver answered to a test; refused why something was not done.
	answer  string
	refused *ops.Error
}

func (a *area) channel(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	after, err := ops.Cursor(q.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	if q.Partial() && after > 0 {
		log, err := a.Ops.Deliveries(q.Context(), q.Actor, id, after, logPart)
		if err != nil {
			return err
		}
		return q.Part(deliveryTable(id, log.Items, log.Next))
	}
	return a.showChannel(q, id, after, "", nil)
}

func (a *area) showChannel(q *shell.Request, id, after int64, answer string, refused *ops.Error) error {
	c, err := a.Ops.Channel(q.Context(), q.Actor, id)
	if err != nil {
		return err
	}
	policies, err := a.Ops.Escalations(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	log, err := a.Ops.Deliveries(q.Context(), q.Actor, id, after, logPart)
	if err != nil {
		return err
	}
	p := channelPage{
		channelRow: channelRow{Channel: c, policies: tellers(policies.Items, c.Name)}, administers: administers(q),
		hasDefault: slices.ContainsFunc(policies.Items, func(e watch.Escalation) bool { return e.Name == watch.DefaultEscalation }),
		log:        log.Items, next: log.Next, answer: answer, refused: refused,
	}
	return show(q, shell.Page{Title: c.Name, Body: channelDetail(p)}, refused)
}

func (a *area) testChannel(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	answer, err := a.Ops.TestChannel(q.Context(), q.Actor, id)
	refused := shell.Refusal(err)
	if err != nil && (refused == nil || refused.Code == ops.NotFound) {
		return err
	}
	if q.Partial() {
		return q.Part(tested(answer, refused))
	}
	return a.showChannel(q, id, 0, answer, refused)
}

func (a *area) deleteChannel(q *shell.Request) error {
	id, err := q.ID()
	if err == nil {
		err = a.Ops.DeleteChannel(q.Context(), q.Actor, id)
	}
	if refused := shell.Refusal(err); refused != nil && refused.Code != ops.NotFound && !q.Partial() {
		return a.showChannel(q, id, 0, "", refused)
	}
	if err != nil {
		return err
	}
	return q.Go("/settings/channels", "deleted")
}

// channelForm is the form of a channel.
type channelForm struct {
	id     int64
	name   string
	kind   alert.Type
	values map[string]string // of fields that are no secrets
	kept   []string          // secrets that are stored
	// policies tell it: then a change takes a proof.
	policies []string
	// retype: a secret was typed, which is never sent back.
	retype  bool
	refused *ops.Error
}

func (f channelForm) path() string {
	if f.id == 0 {
		return "/settings/channels"
	}
	return channelPath(f.id)
}

func (f channelForm) proof() bool { return len(f.policies) > 0 || shell.AsksProof(f.refused) }

func kindOf(name string) (alert.Type, bool) {
	for _, t := range alert.Types() {
		if t.Name == name {
			return t, true
		}
	}
	return alert.Type{}, false
}

func (a *area) newChannel(q *shell.Request) error {
	kind, ok := kindOf(q.URL.Query().Get("type"))
	if !ok {
		return show(q, shell.Page{Title: q.T("New channel"), Body: channelKinds(alert.Types())}, nil)
	}
	return a.showChannelForm(q, channelForm{kind: kind})
}

func (a *area) editChannel(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	f, err := a.storedChannel(q, id)
	if err != nil {
		return err
	}
	return a.showChannelForm(q, f)
}

// storedChannel is the form of a channel as it is.
func (a *area) storedChannel(q *shell.Request, id int64) (channelForm, error) {
	c, err := a.Ops.ChannelSettings(q.Context(), q.Actor, id)
	if err != nil {
		return channelForm{}, err
	}
	policies, err := a.Ops.Escalations(q.Context(), q.Actor)
	if err != nil {
		return channelForm{}, err
	}
	if c.Source == watch.FromFile {
		return channelForm{}, &ops.Error{Code: ops.FileOwned, Text: q.T("This channel belongs to the configuration file."), Hint: q.T("Edit the file; it is read again when it changes.")}
	}
	kind, _ := kindOf(c.Type)
	return channelForm{id: id, name: c.Name, kind: kind, values: c.Open, kept: c.Kept, policies: tellers(policies.Items, c.Name)}, nil
}

func (a *area) showChannelForm(q *shell.Request, f channelForm) error {
	title := q.T("New channel")
	if f.id != 0 {
		title = q.T("Edit the channel")
	}
	return show(q, shell.Page{Title: title, Body: channelEdit(f, title)}, f.refused)
}

func (a *area) putChannel(q *shell.Request) error {
	var f channelForm
	if q.PathValue("id") != "" {
		id, err := q.ID()
		if err != nil {
			return err
		}
		if f, err = a.storedChannel(q, id); err != nil {
			return err
		}
	}
	kind, ok := kindOf(q.Value("type"))
	if !ok {
		return &ops.Error{Code: ops.Invalid, Text: q.T("There is no such type of channels.")}
	}
	if f.kind.Name != kind.Name {
		f.kept = nil
	}
	f.kind, f.name, f.values = kind, q.Value("name"), map[string]string{}
	in := ops.ChannelInput{Name: f.name, Type: kind.Name, Settings: map[string]string{}, Proof: q.Proof()}
	for _, field := range kind.Fields {
		value := q.Value("settings." + field.Name)
		if field.Long {
			value = strings.ReplaceAll(value, "\r\n", "\n")
		}
		if value == "" {
			continue
		}
		in.Settings[field.Name] = value
		if field.Secret {
			f.retype = true
		}
	}
	maps.Copy(f.values, in.Settings)
	maps.DeleteFunc(f.values, func(name, _ string) bool { return secret(kind, name) })
	if f.name == "" {
		f.refused = missing("name", q.T("is missing"))
		return a.showChannelForm(q, f)
	}
	c, err := a.Ops.PutChannel(q.Context(), q.Actor, f.id, in)
	if f.refused = shell.Refusal(err); f.refused != nil && f.refused.Code != ops.NotFound {
		return a.showChannelForm(q, f)
	}
	if err != nil {
		return err
	}
	done := "saved"
	if f.id == 0 {
		done = "created"
	}
	return q.Go(channelPath(c.ID), done)
}

func secret(kind alert.Type, name string) bool {
	return slices.ContainsFunc(kind.Fields, func(f alert.Field) bool { return f.Name == name && f.Secret })
}

// missing is the refusal for a field that the operation does not judge.
func missing(field, text string) *ops.Error {
	return &ops.Error{Code: ops.Invalid, Text: "the request cannot be carried out as it is", Problems: []watch.Problem{{Field: field, Text: text}}}
}

// labels are what fields of channels are called.
var labels = map[string]string{
	"url": "Address", "secret": "Signing key", "headers": "Headers", "body": "Body", "content_type": "Media type",
	"host": "Server", "port": "Port", "tls": "TLS", "username": "User", "password": "Password", "from": "From", "to": "To",
	"topic": "Topic", "token": "Token", "priority": "Priority", "tags": "Tags", "api_key": "API key", "labels": "Labels",
	"routing_key": "Integration key",
}

// kindNames are what types of channels are called.
var kindNames = map[string]string{
	"webhook": "Webhook", "email": "Mail", "slack": "Slack", "teams": "Microsoft Teams", "discord": "Discord", "pagerduty": "PagerDuty",
	"opsgenie": "Opsgenie", "alertmanager": "Alertmanager", "ntfy": "ntfy", "shoutrrr": "Other services (shoutrrr)",
}

package mcpserver

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const defaultPage, maxPage = 50, 200

// which names a monitor.
type which struct {
	Name string `json:"name,omitempty" jsonschema:"name of the monitor"`
	ID   int64  `json:"id,omitempty" jsonschema:"id of the monitor, in place of its name"`
}

type listInput struct {
	Text   string `json:"text,omitempty" jsonschema:"part of the name, the address, a tag or the group"`
	Tag    string `json:"tag,omitempty"`
	Group  string `json:"group,omitempty"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"at most 200; 50 when left out"`
}

type listOutput struct {
	Monitors []monitor `json:"monitors"`
	Next     string    `json:"next,omitempty" jsonschema:"give it as cursor for the page that follows; absent at the end"`
}

type eventsInput struct {
	which
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"at most 200; 50 when left out"`
}

type eventsOutput struct {
	Events []event `json:"events"`
	Next   string  `json:"next,omitempty" jsonschema:"give it as cursor for the page that follows; absent at the end"`
}

type headerInput struct {
	Name  string `json:"name"`
	Value string `json:"value" jsonschema:"stored encrypted and never given out"`
}

type createInput struct {
	Name          string        `json:"name" jsonschema:"unique among all monitors"`
	URL           string        `json:"url" jsonschema:"the MCP endpoint, such as https://mcp.example.com/mcp"`
	Transport     string        `json:"transport,omitempty" jsonschema:"streamable-http (when left out) or sse"`
	AuthMode      string        `json:"auth_mode,omitempty" jsonschema:"none (when left out), header, or oauth, which judges the discovery chain and lists nothing"`
	Headers       []headerInput `json:"headers,omitempty" jsonschema:"in auth_mode header: what is sent with every request"`
	DriftPolicy   string        `json:"drift_policy,omitempty" jsonschema:"alert (when left out), record or seed"`
	ExpectedTools []string      `json:"expected_tools,omitempty" jsonschema:"names of tools that have to be listed, at most 100"`
	MaxTools      int           `json:"max_tools,omitempty" jsonschema:"more tools fail the check; 0 means no cap"`
	Interval      string        `json:"interval,omitempty" jsonschema:"how often it is checked, such as 30s or 10m (when left out)"`
	Timeout       string        `json:"timeout,omitempty" jsonschema:"what a check may take, 20s when left out"`
	Group         string        `json:"group,omitempty"`
	Tags          []string      `json:"tags,omitempty"`
	Escalation    string        `json:"escalation,omitempty" jsonschema:"name of the policy that says who is told"`
	Locations     []string      `json:"locations,omitempty" jsonschema:"where it is checked from; local when left out"`
}

type runOutput struct {
	// Finished is false when the check takes longer than was waited for.
	Finished bool    `json:"finished" jsonschema:"false: the check still runs, and get_monitor has its result later"`
	Monitor  monitor `json:"monitor"`
}

func pageOf(cursor string, limit int) (after int64, size int, err error) {
	size = defaultPage
	if limit > 0 {
		size = min(limit, maxPage)
	}
	if cursor == "" {
		return 0, size, nil
	}
	after, err = strconv.ParseInt(cursor, 10, 64)
	if err != nil || after <= 0 {
		return 0, 0, &ops.Error{Code: ops.Invalid, Text: "the cursor is none", Hint: "give what next of the page before was"}
	}
	return after, size, nil
}

func (t *tools) list(ctx context.Context, actor people.Actor, in listInput) (listOutput, error) {
	out := listOutput{Monitors: []monitor{}}
	after, size, err := pageOf(in.Cursor, in.Limit)
	if err != nil {
		return out, err
	}
	page, err := t.Ops.Monitors(ctx, actor, store.MonitorFilter{Text: in.Text, Tag: in.Tag, Group: in.Group, After: after, Limit: size})
	if err != nil {
		return out, err
	}
	for i := range page.Items {
		out.Monitors = append(out.Monitors, monitorOf(&page.Items[i]))
	}
	out.Next = page.Next
	return out, nil
}

// find is the monitor that w names.
func (t *tools) find(ctx context.Context, actor people.Actor, w which) (ops.Monitor, error) {
	switch {
	case w.ID != 0 && w.Name != "":
		return ops.Monitor{}, &ops.Error{Code: ops.Invalid, Text: "both a name and an id are given", Hint: "give one of them"}
	case w.ID != 0:
		return t.Ops.Monitor(ctx, actor, w.ID)
	case w.Name != "":
		return t.Ops.MonitorByName(ctx, actor, w.Name)
	}
	return ops.Monitor{}, &ops.Error{Code: ops.Invalid, Text: "no monitor is named", Hint: "give its name or id; list_monitors has them"}
}

func (t *tools) get(ctx context.Context, actor people.Actor, in which) (monitor, error) {
	m, err := t.find(ctx, actor, in)
	return monitorOf(&m), err
}

func (t *tools) events(ctx context.Context, actor people.Actor, in eventsInput) (eventsOutput, error) {
	out := eventsOutput{Events: []event{}}
	after, size, err := pageOf(in.Cursor, in.Limit)
	if err != nil {
		return out, err
	}
	filter := store.EventFilter{After: after, Limit: size}
	if in.which != (which{}) {
		m, err := t.find(ctx, actor, in.which)
		if err != nil {
			return out, err
		}
		filter.Monitor = m.ID
	}
	page, err := t.Ops.Events(ctx, actor, filter)
	if err != nil {
		return out, err
	}
	for i := range page.Items {
		out.Events = append(out.Events, eventOf(&page.Items[i]))
	}
	out.Next = page.Next
	return out, nil
}

func (t *tools) create(ctx context.Context, actor people.Actor, in createInput) (monitor, error) {
	fields := ops.Fields{
		Name: in.Name, URL: in.URL, Transport: in.Transport, AuthMode: in.AuthMode, DriftPolicy: in.DriftPolicy,
		ExpectedTools: in.ExpectedTools, MaxTools: in.MaxTools, Group: in.Group, Tags: in.Tags, Escalation: in.Escalation, Locations: in.Locations,
	}
	for _, h := range in.Headers {
		fields.Headers = append(fields.Headers, ops.Header{Name: h.Name, Value: h.Value})
	}
	for _, d := range []struct {
		name, text string
		to         *watch.Duration
	}{{"interval", in.Interval, &fields.Interval}, {"timeout", in.Timeout, &fields.Timeout}} {
		if d.text == "" {
			continue
		}
		if err := d.to.UnmarshalText([]byte(d.text)); err != nil {
			return monitor{}, &ops.Error{Code: ops.Invalid, Text: fmt.Sprintf("%s: %s", d.name, err)}
		}
	}
	m, err := t.Ops.CreateMonitor(ctx, actor, ops.MonitorInput{Fields: fields})
	return monitorOf(&m), err
}

func (t *tools) pause(ctx context.Context, actor people.Actor, in which) (monitor, error) {
	return t.change(ctx, actor, in, t.Ops.PauseMonitor)
}

func (t *tools) resume(ctx context.Context, actor people.Actor, in which) (monitor, error) {
	return t.change(ctx, actor, in, t.Ops.ResumeMonitor)
}

func (t *tools) change(ctx context.Context, actor people.Actor, in which, do func(context.Context, people.Actor, int64) (ops.Monitor, error)) (monitor, error) {
	m, err := t.find(ctx, actor, in)
	if err == nil {
		m, err = do(ctx, actor, m.ID)
	}
	return monitorOf(&m), err
}

func (t *tools) run(ctx context.Context, actor people.Actor, in which) (runOutput, error) {
	m, err := t.find(ctx, actor, in)
	if err != nil {
		return runOutput{}, err
	}
	before := m.Status.LastCheck
	if m, err = t.Ops.RunNow(ctx, actor, m.ID); err != nil {
		return runOutput{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	for {
		if now := m.Status.LastCheck; now != nil && (before == nil || now.After(*before)) {
			return runOutput{Finished: true, Monitor: monitorOf(&m)}, nil
		}
		select {
		case <-ctx.Done():
			return runOutput{Monitor: monitorOf(&m)}, nil
		case <-time.After(look):
		}
		latest, err := t.Ops.Monitor(ctx, actor, m.ID)
		if err != nil && ctx.Err() == nil {
			return runOutput{}, err
		} else if err == nil {
			m = latest
		}
	}
}

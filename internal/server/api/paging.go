package api

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

type incidentsRequest struct {
	Paged
	Monitor int64      `query:"monitor" minimum:"1"`
	Axis    watch.Axis `query:"axis" enum:"availability,surface,posture,system"`
	Open    string     `query:"open" enum:"true,false"`
	Stage   string     `query:"stage" enum:"open,acknowledged,snoozed,resolved" doc:"How far people are with it; open: nobody looks after it."`
	Assign  string     `query:"assignee" maxLength:"100" doc:"Name of an account."`
	Text    string     `query:"text" maxLength:"200" doc:"Part of name, URL, tag or group of its monitor."`
}

func (a *API) incidents(ctx context.Context, in *incidentsRequest) (*body[ops.Page[watch.Incident]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.Incidents(ctx, actorOf(ctx), store.IncidentFilter{
		Monitor: in.Monitor, Axis: in.Axis, Open: truth(in.Open), Stage: watch.Stage(in.Stage), Assignee: in.Assign, Text: in.Text,
		After: after, Limit: in.Limit,
	}))
}

func (a *API) incident(ctx context.Context, in *ByID) (*body[watch.Incident], error) {
	return answer(a.ops.Incident(ctx, actorOf(ctx), in.ID))
}

// Comment is what a person adds to an act.
type Comment struct {
	Comment string `json:"comment,omitempty" maxLength:"2000"`
}

func (a *API) acknowledge(ctx context.Context, in *struct {
	ByID
	Body *Comment
},
) (*body[watch.Incident], error) {
	comment := ""
	if in.Body != nil {
		comment = in.Body.Comment
	}
	return answer(a.ops.Acknowledge(ctx, actorOf(ctx), in.ID, comment))
}

// Assignment says whose an incident is.
type Assignment struct {
	Assignee string `json:"assignee" maxLength:"100" doc:"Name of an account; empty: nobody's."`
}

func (a *API) assign(ctx context.Context, in *struct {
	ByID
	Body Assignment
},
) (*body[watch.Incident], error) {
	return answer(a.ops.Assign(ctx, actorOf(ctx), in.ID, in.Body.Assignee))
}

func (a *API) comment(ctx context.Context, in *struct {
	ByID
	Body struct {
		Comment string `json:"comment" minLength:"1" maxLength:"2000"`
	}
},
) (*body[watch.Incident], error) {
	return answer(a.ops.Comment(ctx, actorOf(ctx), in.ID, in.Body.Comment))
}

// Snooze says until when nobody wants to hear of an incident.
type Snooze struct {
	Until *time.Time `json:"until,omitempty" doc:"At most 7 days from now. Without it, a snooze ends."`
}

func (a *API) snooze(ctx context.Context, in *struct {
	ByID
	Body Snooze
},
) (*body[watch.Incident], error) {
	var until time.Time
	if in.Body.Until != nil {
		until = *in.Body.Until
	}
	return answer(a.ops.Snooze(ctx, actorOf(ctx), in.ID, until))
}

type notificationsRequest struct {
	Paged
	Incident int64  `query:"incident" minimum:"1"`
	Channel  string `query:"channel" maxLength:"200"`
	State    string `query:"status" enum:"pending,sent,failed"`
}

func (a *API) notifications(ctx context.Context, in *notificationsRequest) (*body[ops.Page[watch.Notification]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.Notifications(ctx, actorOf(ctx), store.NotificationFilter{
		Incident: in.Incident, Channel: in.Channel, Status: in.State, After: after, Limit: in.Limit,
	}))
}

func (a *API) channelTypes(context.Context, *none) (*body[ops.Page[alert.Type]], error) {
	return &body[ops.Page[alert.Type]]{Body: ops.Page[alert.Type]{Items: filled(alert.Types())}}, nil
}

func (a *API) channels(ctx context.Context, _ *none) (*body[ops.Page[watch.Channel]], error) {
	return answer(a.ops.Channels(ctx, actorOf(ctx)))
}

func (a *API) channel(ctx context.Context, in *ByID) (*body[watch.Channel], error) {
	return answer(a.ops.Channel(ctx, actorOf(ctx), in.ID))
}

func (a *API) createChannel(ctx context.Context, in *struct{ Body ops.ChannelInput }) (*body[watch.Channel], error) {
	return answer(a.ops.PutChannel(ctx, actorOf(ctx), 0, in.Body))
}

func (a *API) putChannel(ctx context.Context, in *struct {
	ByID
	Body ops.ChannelInput
},
) (*body[watch.Channel], error) {
	return answer(a.ops.PutChannel(ctx, actorOf(ctx), in.ID, in.Body))
}

func (a *API) deleteChannel(ctx context.Context, in *ByID) (*none, error) {
	return &none{}, a.ops.DeleteChannel(ctx, actorOf(ctx), in.ID)
}

// Tested is the answer to a test message.
type Tested struct {
	Detail string `json:"detail" doc:"What the receiver answered."`
}

func (a *API) testChannel(ctx context.Context, in *ByID) (*body[Tested], error) {
	detail, err := a.ops.TestChannel(ctx, actorOf(ctx), in.ID)
	return answer(Tested{Detail: detail}, err)
}

func (a *API) deliveries(ctx context.Context, in *struct {
	ByID
	Paged
},
) (*body[ops.Page[watch.Delivery]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.Deliveries(ctx, actorOf(ctx), in.ID, after, in.Limit))
}

// ByName names a policy.
type ByName struct {
	Name string `path:"name" minLength:"1" maxLength:"200"`
}

func (a *API) escalations(ctx context.Context, _ *none) (*body[ops.Page[watch.Escalation]], error) {
	return answer(a.ops.Escalations(ctx, actorOf(ctx)))
}

func (a *API) escalation(ctx context.Context, in *ByName) (*body[watch.Escalation], error) {
	return answer(a.ops.Escalation(ctx, actorOf(ctx), in.Name))
}

func (a *API) putEscalation(ctx context.Context, in *struct {
	ByName
	Body ops.EscalationInput
},
) (*body[watch.Escalation], error) {
	return answer(a.ops.PutEscalation(ctx, actorOf(ctx), in.Name, in.Body))
}

func (a *API) deleteEscalation(ctx context.Context, in *struct {
	ByName
	Body *ops.Proof
},
) (*none, error) {
	return &none{}, a.ops.DeleteEscalation(ctx, actorOf(ctx), in.Name, proofOf(in.Body))
}

func (a *API) locations(ctx context.Context, _ *none) (*body[ops.Page[ops.Location]], error) {
	return answer(a.ops.Locations(ctx, actorOf(ctx)))
}

func (a *API) windows(ctx context.Context, _ *none) (*body[ops.Page[watch.Window]], error) {
	return answer(a.ops.Windows(ctx, actorOf(ctx)))
}

func (a *API) window(ctx context.Context, in *ByID) (*body[watch.Window], error) {
	return answer(a.ops.Window(ctx, actorOf(ctx), in.ID))
}

func (a *API) createWindow(ctx context.Context, in *struct{ Body ops.WindowInput }) (*body[watch.Window], error) {
	return answer(a.ops.PutWindow(ctx, actorOf(ctx), 0, in.Body))
}

func (a *API) putWindow(ctx context.Context, in *struct {
	ByID
	Body ops.WindowInput
},
) (*body[watch.Window], error) {
	return answer(a.ops.PutWindow(ctx, actorOf(ctx), in.ID, in.Body))
}

func (a *API) deleteWindow(ctx context.Context, in *ByID) (*none, error) {
	return &none{}, a.ops.DeleteWindow(ctx, actorOf(ctx), in.ID)
}

type auditRequest struct {
	Paged
	Actor  string `query:"actor" maxLength:"200" doc:"Such as user:ann."`
	Action string `query:"action" maxLength:"100"`
}

func (a *API) audit(ctx context.Context, in *auditRequest) (*body[ops.Page[people.AuditEntry]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.AuditLog(ctx, actorOf(ctx), store.AuditFilter{Actor: in.Actor, Action: in.Action, After: after, Limit: in.Limit}))
}

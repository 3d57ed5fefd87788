package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Paged are lists that are read in parts.
type Paged struct {
	After string `query:"after" maxLength:"100" doc:"What next of the part before was."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (p Paged) cursor() (int64, error) { return ops.Cursor(p.After) }

type monitorsRequest struct {
	Paged
	Text         string       `query:"text" maxLength:"200" doc:"Part of name, URL, tag or group, in any case."`
	Tag          string       `query:"tag" maxLength:"200"`
	Group        string       `query:"group" maxLength:"200"`
	Source       watch.Source `query:"source" enum:"api,file"`
	Availability string       `query:"availability" enum:"up,degraded,down,misconfigured,unknown"`
	Surface      string       `query:"surface" enum:"approved,changed,inconsistent,unknown"`
	Posture      string       `query:"posture" enum:"clean,flagged,unknown"`
	Paused       string       `query:"paused" enum:"true,false"`
}

func (a *API) listMonitors(ctx context.Context, in *monitorsRequest) (*body[ops.Page[ops.Monitor]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.Monitors(ctx, actorOf(ctx), store.MonitorFilter{
		Text: in.Text, Tag: in.Tag, Group: in.Group, Source: in.Source, Availability: in.Availability,
		Surface: in.Surface, Posture: in.Posture, Paused: truth(in.Paused), After: after, Limit: in.Limit,
	}))
}

// truth is nil when nothing is asked.
func truth(text string) *bool {
	if text == "" {
		return nil
	}
	value := text == "true"
	return &value
}

func (a *API) createMonitor(ctx context.Context, in *struct{ Body ops.MonitorInput }) (*body[ops.Monitor], error) {
	return answer(a.ops.CreateMonitor(ctx, actorOf(ctx), in.Body))
}

func (a *API) getMonitor(ctx context.Context, in *ByID) (*body[ops.Monitor], error) {
	return answer(a.ops.Monitor(ctx, actorOf(ctx), in.ID))
}

// MonitorPatch is a change of a monitor, and what it is based on.
type MonitorPatch struct {
	ops.MonitorEdit
	Revision int64 `json:"revision,omitempty" minimum:"0" doc:"The revision that the change is based on; another one by now is a conflict."`
	ops.Proof
}

func (a *API) editMonitor(ctx context.Context, in *struct {
	ByID
	Body MonitorPatch
},
) (*body[ops.Monitor], error) {
	return answer(a.ops.EditMonitor(ctx, actorOf(ctx), in.ID, in.Body.Revision, in.Body.MonitorEdit, in.Body.Proof))
}

// proven is a request whose body is a proof at most.
type proven struct {
	ByID
	Body *ops.Proof
}

func proofOf(body *ops.Proof) ops.Proof {
	if body == nil {
		return ops.Proof{}
	}
	return *body
}

func (a *API) deleteMonitor(ctx context.Context, in *proven) (*none, error) {
	return &none{}, a.ops.DeleteMonitor(ctx, actorOf(ctx), in.ID, proofOf(in.Body))
}

func (a *API) pauseMonitor(ctx context.Context, in *ByID) (*body[ops.Monitor], error) {
	return answer(a.ops.PauseMonitor(ctx, actorOf(ctx), in.ID))
}

func (a *API) resumeMonitor(ctx context.Context, in *ByID) (*body[ops.Monitor], error) {
	return answer(a.ops.ResumeMonitor(ctx, actorOf(ctx), in.ID))
}

func (a *API) runMonitor(ctx context.Context, in *ByID) (*body[ops.Monitor], error) {
	return answer(a.ops.RunNow(ctx, actorOf(ctx), in.ID))
}

// ByExternalID names a monitor by the id that the caller gave it.
type ByExternalID struct {
	ExternalID string `path:"external_id" minLength:"1" maxLength:"200"`
}

func (a *API) getMonitorByExternalID(ctx context.Context, in *ByExternalID) (*body[ops.Monitor], error) {
	return answer(a.ops.MonitorByExternalID(ctx, actorOf(ctx), in.ExternalID))
}

// MonitorPut is all of a monitor.
type MonitorPut struct {
	ops.MonitorInput
	ops.Proof
}

// madeOrReplaced answers 201, 202 or 200.
type madeOrReplaced struct {
	Status int
	Body   ops.Monitor
}

func (a *API) putMonitor(ctx context.Context, in *struct {
	ByExternalID
	Body MonitorPut
},
) (*madeOrReplaced, error) {
	m, created, err := a.ops.PutMonitor(ctx, actorOf(ctx), in.ExternalID, in.Body.MonitorInput, in.Body.Proof)
	if err != nil {
		return nil, err
	}
	out := &madeOrReplaced{Status: http.StatusOK, Body: m}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (a *API) review(ctx context.Context, in *ByID) (*body[ops.Review], error) {
	return answer(a.ops.Review(ctx, actorOf(ctx), in.ID))
}

func (a *API) approvals(ctx context.Context, in *ByID) (*body[ops.Page[ops.Approval]], error) {
	approvals, err := a.ops.Approvals(ctx, actorOf(ctx), in.ID)
	return answer(ops.Page[ops.Approval]{Items: filled(approvals)}, err)
}

func (a *API) accept(ctx context.Context, in *struct {
	ByID
	Body ops.Acceptance
},
) (*madeOrReplaced, error) {
	m, proposed, err := a.ops.Accept(ctx, actorOf(ctx), in.ID, in.Body)
	if err != nil {
		return nil, err
	}
	out := &madeOrReplaced{Status: http.StatusOK, Body: m}
	if proposed {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

func (a *API) withdrawProposal(ctx context.Context, in *struct {
	ByID
	Proposal int64 `path:"proposal" minimum:"1"`
},
) (*body[ops.Monitor], error) {
	return answer(a.ops.WithdrawProposal(ctx, actorOf(ctx), in.ID, in.Proposal))
}

func (a *API) reject(ctx context.Context, in *struct {
	ByID
	Body ops.Rejection
},
) (*body[ops.Review], error) {
	return answer(a.ops.Reject(ctx, actorOf(ctx), in.ID, in.Body))
}

func (a *API) search(ctx context.Context, in *struct {
	Text  string `query:"q" required:"true" minLength:"2" maxLength:"200" doc:"What is looked for, in any case."`
	Past  bool   `query:"past" doc:"In surfaces that were shown before, too."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
},
) (*body[ops.Found], error) {
	return answer(a.ops.Search(ctx, actorOf(ctx), ops.Search{Text: in.Text, Past: in.Past, Limit: in.Limit}))
}

// Withdrawal is why an approval is withdrawn.
type Withdrawal struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
	ops.Proof
}

func (a *API) withdraw(ctx context.Context, in *struct {
	ByID
	Body Withdrawal
},
) (*body[ops.Monitor], error) {
	return answer(a.ops.EndApproval(ctx, actorOf(ctx), in.ID, in.Body.Reason, in.Body.Proof))
}

// Span are lists of what was in a time.
type Span struct {
	From time.Time `query:"from" doc:"RFC 3339."`
	To   time.Time `query:"to" doc:"Not included."`
}

// or gives the time with defaults: the last d until now.
func (p Span) or(now time.Time, d time.Duration) (from, to time.Time) {
	if from, to = p.From.UTC(), p.To.UTC(); to.IsZero() {
		to = now.UTC()
	}
	if from.IsZero() {
		from = to.Add(-d)
	}
	return from, to
}

type eventsRequest struct {
	Paged
	Span
	Monitor int64    `query:"monitor" minimum:"1"`
	Names   []string `query:"name" maxItems:"20" doc:"Names of events, with commas between."`
	Order   string   `query:"order" enum:"asc,desc" default:"desc"`
}

func (a *API) events(ctx context.Context, in *eventsRequest) (*body[ops.Page[watch.Event]], error) {
	after, err := in.cursor()
	if err != nil {
		return nil, err
	}
	return answer(a.ops.Events(ctx, actorOf(ctx), store.EventFilter{
		Monitor: in.Monitor, Names: in.Names, From: in.From, To: in.To, After: after, Limit: in.Limit, Ascending: in.Order == "asc",
	}))
}

func (a *API) results(ctx context.Context, in *struct {
	ByID
	Paged
	Span
},
) (*body[ops.Page[watch.Result]], error) {
	return answer(a.ops.Results(ctx, actorOf(ctx), store.ResultFilter{
		Monitor: in.ID, From: in.From, To: in.To, After: in.After, Limit: in.Limit,
	}))
}

func (a *API) rollups(ctx context.Context, in *struct {
	ByID
	Span
	Period string `query:"period" enum:"5m,1h,1d" default:"1h"`
},
) (*body[ops.Page[store.Rollup]], error) {
	length := map[string]time.Duration{"5m": store.FiveMinutes, "1h": store.Hourly, "1d": store.Daily}[in.Period]
	from, to := in.or(a.now(), 100*length)
	return answer(a.ops.Rollups(ctx, actorOf(ctx), in.ID, length, from, to))
}

func (a *API) uptime(ctx context.Context, in *struct {
	ByID
	Span
},
) (*body[store.Uptime], error) {
	from, to := in.or(a.now(), 30*24*time.Hour)
	return answer(a.ops.Uptime(ctx, actorOf(ctx), in.ID, from, to))
}

func (a *API) reports(ctx context.Context, in *ByID) (*body[ops.Page[store.StoredReport]], error) {
	return answer(a.ops.Reports(ctx, actorOf(ctx), in.ID))
}

func (a *API) sightings(ctx context.Context, in *ByID) (*body[ops.Page[ops.Sighting]], error) {
	return answer(a.ops.Sightings(ctx, actorOf(ctx), in.ID))
}

func saved(s *surface.Surface, err error) (*body[document], error) {
	if err != nil {
		return nil, err
	}
	return &body[document]{Body: s.Save()}, nil
}

func (a *API) surface(ctx context.Context, in *struct {
	Digest string `path:"digest" maxLength:"100"`
},
) (*body[document], error) {
	return saved(a.ops.Surface(ctx, actorOf(ctx), in.Digest))
}

func (a *API) surfaceAt(ctx context.Context, in *struct {
	ByID
	At time.Time `query:"at" doc:"RFC 3339; now by default."`
},
) (*body[document], error) {
	return saved(a.ops.SurfaceAt(ctx, actorOf(ctx), in.ID, in.At.UTC()))
}

// file is the configuration file that is exported.
type file struct {
	Type string `header:"Content-Type"`
	Body []byte
}

func (a *API) export(ctx context.Context, _ *none) (*file, error) {
	out, err := a.ops.Export(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return &file{Type: "application/yaml", Body: out}, nil
}

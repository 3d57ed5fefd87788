package api

import (
	"context"
	"net/http"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// BySlug names a status page.
type BySlug struct {
	Slug string `path:"slug" minLength:"1" maxLength:"60"`
}

func (a *API) statusPages(ctx context.Context, _ *none) (*body[ops.Page[watch.StatusPage]], error) {
	return answer(a.ops.StatusPages(ctx, actorOf(ctx)))
}

func (a *API) statusPage(ctx context.Context, in *BySlug) (*body[watch.StatusPage], error) {
	return answer(a.ops.StatusPage(ctx, actorOf(ctx), in.Slug))
}

type putPage struct {
	Status int
	Body   watch.StatusPage
}

func (a *API) putStatusPage(ctx context.Context, in *struct {
	BySlug
	Body ops.StatusPageInput
},
) (*putPage, error) {
	page, made, err := a.ops.PutStatusPage(ctx, actorOf(ctx), in.Slug, in.Body, false)
	if err != nil {
		return nil, err
	}
	out := &putPage{Status: http.StatusOK, Body: page}
	if made {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (a *API) deleteStatusPage(ctx context.Context, in *BySlug) (*none, error) {
	return &none{}, a.ops.DeleteStatusPage(ctx, actorOf(ctx), in.Slug)
}

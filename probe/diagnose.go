package probe

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// diagnose takes the looks that a plain check leaves out. None of them changes
// the verdict.
func (r *run) diagnose(ctx context.Context) {
	r.log.SetStep("")
	if r.o.Diagnose {
		if r.session != nil && r.t.Kind() == target.HTTP {
			r.session.LookAtGET(ctx)
		}
		if r.session != nil && r.session.Era() == wire.EraLegacy && r.t.Kind() != target.Stdio {
			wire.LookForEcho(ctx, r.peer, r.config)
		}
		r.lookForLegacySSE(ctx)
		r.proveCredential(ctx)
		if r.refusal.status == http.StatusUnauthorized && r.t.Kind() != target.Stdio {
			r.walk(ctx, r.refusal.status, r.refusal.challenges)
		}
	}
	if opened := r.report.Result(StepInitialize); r.o.Revisions && opened != nil && !opened.Skipped && opened.Status != StatusMisconfigured {
		r.report.Revisions = r.tryRevisions(ctx)
	}
}

// lookForLegacySSE explains an endpoint that refuses POST and streams on GET.
func (r *run) lookForLegacySSE(ctx context.Context) {
	res := r.report.Result(StepInitialize)
	hc, ok := r.peer.(wire.HTTPConfig)
	if !ok || res == nil || res.Passed || res.Skipped || r.session != nil {
		return
	}
	if wire.LookForLegacySSE(ctx, hc, r.config) {
		res.Status, res.Reason = StatusMisconfigured, Reason(wire.ReasonLegacySSE)
		res.Message = "the endpoint speaks the HTTP+SSE transport of 2024-11-05, not Streamable HTTP"
		res.Hint = fmt.Sprintf("check it with --sse %s (transport: sse)", plain.Line(weburl.RedactText(r.t.Endpoint), 300))
		res.Error.Message = res.Message
	}
}

// tryRevisions opens the server once with every known revision. Over HTTP they
// are tried beside each other; a stdio server is started once for each.
func (r *run) tryRevisions(ctx context.Context) []Revision {
	all := wire.Revisions()
	out := make([]Revision, len(all))
	try := func(i int) {
		budget := r.budgets.of(target.Protocol)
		if r.t.Kind() == target.Stdio {
			budget += r.budgets.startup
		}
		ctx, cancel := context.WithTimeoutCause(ctx, budget, errStep)
		defer cancel()
		out[i].Version = all[i]
		out[i].Supported, out[i].Answer = wire.OpenPinned(ctx, r.peer, r.config, all[i])
	}
	if r.t.Kind() == target.Stdio {
		for i := range all {
			try(i)
		}
		return out
	}
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { try(i) })
	}
	wg.Wait()
	return out
}

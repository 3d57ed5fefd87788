package api

import (
	"context"
	"io"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

func (a *API) factors(ctx context.Context, _ *none) (*body[people.Factors], error) {
	own, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	f, err := a.people.Factors(ctx, own)
	return answer(f, ops.Personal(err))
}

type shownRequest struct{ Body *ops.Proof }

func shownBy(ctx context.Context, in *shownRequest) (*people.Session, people.Factor, error) {
	own, err := sessionOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	factor, err := ops.Shown(own, proofOf(in.Body))
	return own, factor, err
}

func (a *API) beginTOTP(ctx context.Context, in *shownRequest) (*body[people.Enrolment], error) {
	own, factor, err := shownBy(ctx, in)
	if err != nil {
		return nil, err
	}
	begun, err := a.people.BeginTOTP(ctx, own, factor)
	return answer(begun, ops.Personal(err))
}

// RecoveryCodes are shown this once.
type RecoveryCodes struct {
	Codes []string `json:"recovery_codes" nullable:"false" doc:"They are not shown again."`
}

type confirmTOTPRequest struct {
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"100" doc:"The one that the app shows now."`
	} `nameHint:"ConfirmTOTPRequest"`
}

func (a *API) confirmTOTP(ctx context.Context, in *confirmTOTPRequest) (*body[RecoveryCodes], error) {
	own, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	codes, err := a.people.ConfirmTOTP(ctx, own, in.Body.Code)
	return answer(RecoveryCodes{filled(codes)}, ops.Personal(err))
}

func (a *API) removeTOTP(ctx context.Context, in *shownRequest) (*none, error) {
	own, factor, err := shownBy(ctx, in)
	if err != nil {
		return nil, err
	}
	return &none{}, ops.Personal(a.people.RemoveTOTP(ctx, own, factor))
}

func (a *API) newRecoveryCodes(ctx context.Context, in *shownRequest) (*body[RecoveryCodes], error) {
	own, factor, err := shownBy(ctx, in)
	if err != nil {
		return nil, err
	}
	codes, err := a.people.NewRecoveryCodes(ctx, own, factor)
	return answer(RecoveryCodes{filled(codes)}, ops.Personal(err))
}

func (a *API) resetFactors(ctx context.Context, in *proven) (*none, error) {
	return &none{}, a.ops.ResetFactors(ctx, actorOf(ctx), in.ID, proofOf(in.Body))
}

func (a *API) endSessions(ctx context.Context, in *ByID) (*none, error) {
	return &none{}, a.ops.EndSessions(ctx, actorOf(ctx), in.ID)
}

func (a *API) auditState(ctx context.Context, _ *none) (*body[people.AuditCheck], error) {
	return answer(a.ops.CheckAudit(ctx, actorOf(ctx)))
}

// exportAudit sends lines as they are read. When something fails on the way, the last
// line says so, and is no entry for who verifies the file.
func (a *API) exportAudit(ctx context.Context, _ *none) (*huma.StreamResponse, error) {
	actor := actorOf(ctx)
	return &huma.StreamResponse{Body: func(to huma.Context) {
		to.SetHeader("Content-Type", "application/x-ndjson")
		to.SetHeader("Content-Disposition", `attachment; filename="mcpvigil-audit.ndjson"`)
		if err := a.ops.AuditExport(ctx, actor, to.BodyWriter()); err != nil {
			if ctx.Err() == nil {
				a.logger.ErrorContext(ctx, "an export of the audit ended early", "error", err)
			}
			_, _ = io.WriteString(to.BodyWriter(), `{"error":"the export failed; the server's log says why"}`+"\n")
		}
	}}, nil
}

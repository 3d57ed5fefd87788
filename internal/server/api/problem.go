package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

// Problem is why a request was refused (RFC 9457).
type Problem struct { //nolint:errname // RFC 9457 names it so, and so does the document of the API
	Type   string  `json:"type" doc:"urn:mcpvigil:problem: and the code."`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Code   string  `json:"code" doc:"Stable."`
	Detail string  `json:"detail,omitempty"`
	Hint   string  `json:"hint,omitempty" doc:"What to do."`
	Errors []Wrong `json:"errors,omitempty"`

	retryAfter time.Duration
}

// Wrong is one thing that is wrong with a request.
type Wrong struct {
	Location string `json:"location,omitempty" doc:"Such as body.interval or query.limit."`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the status of the answer.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problem details.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders are those that go with it.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="mcpvigil"`)
	}
	return h
}

func (p *Problem) complete() *Problem {
	p.Type = "urn:mcpvigil:problem:" + p.Code
	p.Title = http.StatusText(p.Status)
	return p
}

var problemType = reflect.TypeFor[Problem]()

// status is the status of an operation's refusal.
func status(code ops.Code) int {
	switch code {
	case ops.Invalid:
		return http.StatusUnprocessableEntity
	case ops.Unauthenticated, ops.WrongPassword, ops.CodeRequired:
		return http.StatusUnauthorized
	case ops.Forbidden, ops.ProofRequired, ops.FactorRequired, ops.SignInAgain:
		return http.StatusForbidden
	case ops.NotFound:
		return http.StatusNotFound
	case ops.Exists, ops.Conflict, ops.Moved, ops.FileOwned, ops.InUse, ops.Busy, ops.Paused:
		return http.StatusConflict
	case ops.TooMany:
		return http.StatusTooManyRequests
	case ops.Undeliverable:
		return http.StatusUnprocessableEntity
	case ops.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// problem is the answer to an error. What is not the caller's affair is logged, and not
// told.
func (a *API) problem(ctx context.Context, err error) *Problem {
	var (
		refused *ops.Error
		p       *Problem
	)
	switch {
	case errors.As(err, &p):
	case errors.As(err, &refused):
		p = &Problem{
			Status: status(refused.Code), Code: string(refused.Code), Detail: refused.Text, Hint: refused.Hint,
			retryAfter: refused.RetryAfter,
		}
		for _, w := range refused.Problems {
			p.Errors = append(p.Errors, Wrong{Location: location(w.Field), Message: w.Text, Hint: w.Hint})
		}
	default:
		if ctx.Err() == nil {
			a.logger.ErrorContext(ctx, "a request failed", "error", err)
		}
		p = &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "the request failed; the server's log says why"}
		if out := ops.Outage(err); out != nil {
			p = &Problem{Status: status(out.Code), Code: string(out.Code), Detail: out.Text, Hint: out.Hint, retryAfter: out.RetryAfter}
		}
	}
	return p.complete()
}

// location is where in the request a field of an operation is.
func location(field string) string {
	switch field {
	case "":
		return "body"
	case "after", "from", "to", "period":
		return "query." + field
	default:
		return "body." + field
	}
}

// ours makes problems of the errors of the library, without the values that it quotes:
// they may be secrets.
func ours(_ huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *Problem:
		return e.complete(), nil
	case *huma.ErrorModel:
		p := &Problem{Status: e.Status, Code: libraryCode(e.Status), Detail: e.Detail}
		if e.Status == http.StatusUnsupportedMediaType {
			p.Hint = "send JSON, with the header Content-Type: application/json"
		}
		for _, d := range e.Errors {
			if d != nil {
				p.Errors = append(p.Errors, Wrong{Location: d.Location, Message: plain.Line(d.Message, 500)})
			}
		}
		return p.complete(), nil
	default:
		return v, nil
	}
}

func libraryCode(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "malformed"
	case http.StatusUnprocessableEntity:
		return string(ops.Invalid)
	case http.StatusRequestEntityTooLarge:
		return "too-large"
	case http.StatusUnsupportedMediaType:
		return "unsupported-media-type"
	case http.StatusRequestTimeout:
		return "timeout"
	default:
		return "internal"
	}
}

// write answers outside of the library.
func (a *API) write(w http.ResponseWriter, p *Problem) {
	body, err := json.Marshal(p.complete())
	if err != nil { // a Problem holds nothing that has no JSON
		body = []byte("{}")
	}
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(plain.JSON(body), '\n'))
}

package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

type contextKey int

const (
	actorKey contextKey = iota
	requestKey
)

// actorOf is who makes the request. On routes that are open it is nobody.
func actorOf(ctx context.Context) people.Actor {
	actor, _ := ctx.Value(actorKey).(people.Actor)
	return actor
}

// requestOf is the request itself, for addresses and cookies.
func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey).(*http.Request)
	return r
}

// recovered answers for a handler that panics.
func (a *API) recovered(ctx huma.Context, next func(huma.Context)) {
	defer func() {
		if cause := recover(); cause != nil {
			_, w := humago.Unwrap(ctx)
			a.logger.ErrorContext(ctx.Context(), "a request panicked", "operation", ctx.Operation().OperationID, "cause", cause)
			a.write(w, &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "the request failed; the server's log says why"})
		}
	}()
	next(ctx)
}

// admit lets a request on to its operation when who makes it may.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	ctx = huma.WithValue(ctx, requestKey, r)
	route := routeOf(ctx.Operation())
	if route.Permission == Open {
		if problem := a.admitOpen(r); problem != nil {
			a.write(w, problem)
			return
		}
		next(ctx)
		return
	}
	actor, problem := a.authenticate(r)
	if problem == nil {
		problem = route.forbids(actor)
	}
	if problem != nil {
		a.write(w, problem)
		return
	}
	next(huma.WithValue(ctx, actorKey, actor))
}

// admitOpen bounds requests that need no credential, by address.
func (a *API) admitOpen(r *http.Request) *Problem {
	if err := a.cross.Check(r); err != nil {
		return crossOrigin()
	}
	if wait := a.requests.Take("address " + web.Address(r)); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func crossOrigin() *Problem {
	return &Problem{Status: http.StatusForbidden, Code: "cross-origin", Detail: "the request comes from another site", Hint: "set --public-url to the address that the browser shows"}
}

func tooMany(wait time.Duration) *Problem {
	return &Problem{Status: http.StatusTooManyRequests, Code: "too-many", Detail: "too many requests", Hint: "wait as long as Retry-After says", retryAfter: wait}
}

// authenticate finds who makes a request. A key counts before a cookie.
func (a *API) authenticate(r *http.Request) (people.Actor, *Problem) {
	from := web.Address(r)
	if wait := a.failures.Spent(from); wait > 0 {
		return people.Actor{}, tooMany(wait)
	}
	actor, credential, err := a.identify(r)
	switch {
	case errors.Is(err, errCrossOrigin):
		return people.Actor{}, crossOrigin()
	case errors.Is(err, people.ErrUnauthenticated):
		if credential != "" {
			a.failures.Take(from)
		}
		return people.Actor{}, &Problem{
			Status: http.StatusUnauthorized, Code: "unauthenticated", Detail: "no credential that counts came with the request",
			Hint: "sign in with POST " + Prefix + "/session, or send Authorization: Bearer with an API key",
		}
	case err != nil:
		return people.Actor{}, a.problem(r.Context(), err)
	}
	sum := sha256.Sum256([]byte(credential))
	if wait := a.requests.Take(string(sum[:])); wait > 0 {
		return people.Actor{}, tooMany(wait)
	}
	return actor, nil
}

var errCrossOrigin = errors.New("cross-origin request with a cookie")

func (a *API) identify(r *http.Request) (actor people.Actor, credential string, err error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, key, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return people.Actor{}, header, people.ErrUnauthenticated
		}
		key = strings.TrimSpace(key)
		actor, err = a.people.AuthenticateKey(r.Context(), key)
		return actor, key, err
	}
	token := web.Token(r, a.secure)
	if token == "" {
		return people.Actor{}, "", people.ErrUnauthenticated
	}
	if err := a.cross.Check(r); err != nil {
		return people.Actor{}, token, errCrossOrigin
	}
	actor, err = a.people.AuthenticateSession(r.Context(), token)
	return actor, token, err
}

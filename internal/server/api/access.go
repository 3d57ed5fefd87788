package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// body is an answer that is nothing but its body.
type body[T any] struct{ Body T }

func answer[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{Body: v}, nil
}

// none is an answer without a body, or a request without anything.
type none struct{}

// ByID are requests about one thing.
type ByID struct {
	ID int64 `path:"id" minimum:"1"`
}

// document is JSON that is answered as it is.
type document json.RawMessage

// MarshalJSON gives the document.
func (d document) MarshalJSON() ([]byte, error) { return d, nil }

// Schema says that it is some object.
func (document) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func (a *API) openAPI(context.Context, *none) (*body[document], error) {
	return &body[document]{Body: a.document}, nil
}

// signedIn is the answer to signing in.
type signedIn struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   Me
}

// Me is who makes a request.
type Me struct {
	Name        string              `json:"name" doc:"Such as user:ann or key:ci."`
	Role        people.Role         `json:"role"`
	Permissions []people.Permission `json:"permissions" nullable:"false"`
	ExpiresAt   *time.Time          `json:"expires_at,omitempty" doc:"When the session ends."`
}

func meOf(actor people.Actor) Me {
	me := Me{Name: actor.Name(), Role: actor.Role(), Permissions: []people.Permission{}}
	for _, p := range []people.Permission{people.Read, people.Write, people.Approve, people.Administer} {
		if actor.Can(p) {
			me.Permissions = append(me.Permissions, p)
		}
	}
	if session, ok := actor.Session(); ok {
		ends := session.ExpiresAt()
		me.ExpiresAt = &ends
	}
	return me
}

func (a *API) me(ctx context.Context, _ *none) (*body[Me], error) {
	return &body[Me]{Body: meOf(actorOf(ctx))}, nil
}

type setupRequest struct {
	Body struct {
		Token    string `json:"token" minLength:"1" maxLength:"200" doc:"As the server shows it at its start."`
		Name     string `json:"name" minLength:"1" maxLength:"100"`
		Password string `json:"password" minLength:"1" maxLength:"1024"`
	} `nameHint:"SetupRequest"`
}

func (a *API) setup(ctx context.Context, in *setupRequest) (*body[people.Account], error) {
	account, err := a.people.Setup(ctx, in.Body.Token, in.Body.Name, in.Body.Password)
	return answer(account, ops.Personal(err))
}

type signInRequest struct {
	Body struct {
		Name     string `json:"name" minLength:"1" maxLength:"100"`
		Password string `json:"password" minLength:"1" maxLength:"1024"`
		Code     string `json:"code,omitempty" maxLength:"100" doc:"Of the code app, or a recovery code: needed where the answer is code-required."`
	} `nameHint:"SignInRequest"`
}

func (a *API) signIn(ctx context.Context, in *signInRequest) (*signedIn, error) {
	r := requestOf(ctx)
	token, session, err := a.people.Login(ctx, in.Body.Name, in.Body.Password, in.Body.Code, r.RemoteAddr, r.UserAgent())
	if err != nil {
		return nil, ops.Personal(err)
	}
	return &signedIn{Cookie: web.Session(token, session.ExpiresAt(), a.secure), Body: meOf(session.Actor())}, nil
}

type signedOut struct {
	Cookie http.Cookie `header:"Set-Cookie"`
}

func (a *API) signOut(ctx context.Context, _ *none) (*signedOut, error) {
	session, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.people.Logout(ctx, session); err != nil {
		return nil, ops.Personal(err)
	}
	return &signedOut{Cookie: web.Session("", a.now(), a.secure)}, nil
}

// sessionOf is the session of the person who makes the request; a key has none.
func sessionOf(ctx context.Context) (*people.Session, error) {
	session, ok := actorOf(ctx).Session()
	if !ok {
		return nil, personOnly()
	}
	return session, nil
}

// Session is a session of the own account.
type Session struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Address   string    `json:"address"`
	Agent     string    `json:"agent" doc:"What the browser says it is."`
	Current   bool      `json:"current"`
}

func (a *API) sessions(ctx context.Context, _ *none) (*body[ops.Page[Session]], error) {
	own, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.people.Sessions(ctx, own)
	out := ops.Page[Session]{Items: make([]Session, 0, len(rows))}
	for _, row := range rows {
		out.Items = append(out.Items, Session{
			ID: row.Token, CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, ExpiresAt: row.ExpiresAt,
			Address: row.Address, Agent: row.Agent, Current: row.Token == own.ID(),
		})
	}
	return answer(out, ops.Personal(err))
}

func (a *API) revokeSession(ctx context.Context, in *struct {
	ID string `path:"id" minLength:"1" maxLength:"100"`
},
) (*none, error) {
	own, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	return &none{}, ops.Personal(a.people.RevokeSession(ctx, own, in.ID))
}

type createAccountRequest struct{ Body ops.AccountInput }

func (a *API) accounts(ctx context.Context, _ *none) (*body[ops.Page[people.Account]], error) {
	accounts, err := a.ops.Accounts(ctx, actorOf(ctx))
	return answer(ops.Page[people.Account]{Items: filled(accounts)}, err)
}

func (a *API) createAccount(ctx context.Context, in *createAccountRequest) (*body[people.Account], error) {
	return answer(a.ops.CreateAccount(ctx, actorOf(ctx), in.Body))
}

func (a *API) editAccount(ctx context.Context, in *struct {
	ByID
	Body ops.AccountEdit
},
) (*body[people.Account], error) {
	return answer(a.ops.EditAccount(ctx, actorOf(ctx), in.ID, in.Body))
}

func (a *API) keys(ctx context.Context, _ *none) (*body[ops.Page[people.Key]], error) {
	keys, err := a.ops.Keys(ctx, actorOf(ctx))
	return answer(ops.Page[people.Key]{Items: filled(keys)}, err)
}

func (a *API) createKey(ctx context.Context, in *struct{ Body ops.KeyInput }) (*body[ops.NewKey], error) {
	return answer(a.ops.CreateKey(ctx, actorOf(ctx), in.Body))
}

func (a *API) revokeKey(ctx context.Context, in *ByID) (*none, error) {
	return &none{}, a.ops.RevokeKey(ctx, actorOf(ctx), in.ID)
}

func filled[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

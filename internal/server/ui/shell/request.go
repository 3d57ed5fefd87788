package shell

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Request is what a page is asked for, and the answer to it.
type Request struct {
	*http.Request
	// Actor is who asks; on open pages it may be nobody, and Session nil.
	Actor    people.Actor
	Session  *people.Session
	Language *lang.Language

	w        http.ResponseWriter
	shell    *Shell
	answered bool
}

// Page is what stands in the frame.
type Page struct {
	// Title is that of the page, in the language of who asks.
	Title string
	// Section is the entry of the navigation that it belongs to: overview, incidents,
	// compare, settings.
	Section string
	// Modules are the scripts that it needs beside those of every page, such as chart.js.
	Modules []string
	// Bare leaves out the navigation, as for who is not signed in.
	Bare bool
	// Status is that of HTTP; 0: 200.
	Status int
	Body   templ.Component
}

// Partial tells whether a script of the page asks, for a part of it.
func (q *Request) Partial() bool { return q.Header.Get("HX-Request") == "true" }

// Writer is for answers that are no page.
func (q *Request) Writer() http.ResponseWriter { return q.w }

// Secure tells whether browsers reach the server by https.
func (q *Request) Secure() bool { return q.shell.secure }

// Now is the time.
func (q *Request) Now() time.Time { return q.shell.Now().UTC() }

// PublicURL is the address that browsers know the server by, without a slash at its end.
func (q *Request) PublicURL() string { return strings.TrimRight(q.shell.PublicURL, "/") }

// Show answers with a page.
func (q *Request) Show(p Page) error {
	if p.Status == 0 {
		p.Status = http.StatusOK
	}
	return q.write(p.Status, q.shell.frame(q, p))
}

// Part answers with a part of a page.
func (q *Request) Part(c templ.Component) error { return q.PartWith(http.StatusOK, c) }

// PartWith answers with a part of a page and a status, which is put in place whatever it is.
func (q *Request) PartWith(status int, c templ.Component) error { return q.write(status, c) }

// Own answers with a page that has a frame of its own, as one that everybody may see.
func (q *Request) Own(status int, c templ.Component) error { return q.write(status, c) }

// Asset is the address of a file that pages load, such as app.css.
func (q *Request) Asset(name string) string { return q.shell.assets.Path(name) }

// write sends what was rendered to its end, so that no error follows half a page.
func (q *Request) write(status int, c templ.Component) error {
	var body bytes.Buffer
	if err := c.Render(q.Context(), &body); err != nil {
		return fmt.Errorf("render %s: %w", q.Pattern, err)
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", q.Language.Tag)
	h.Add("Vary", "Accept-Language, Cookie, HX-Request, Accept-Encoding")
	out := body.Bytes()
	if len(out) > packedFrom && strings.Contains(q.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		out = q.shell.pack(out)
	}
	q.w.WriteHeader(status)
	_, _ = q.w.Write(out)
	return nil
}

// packedFrom is from how many bytes on a page is packed.
const packedFrom = 4 << 10

// pack packs a page, fast rather than well.
func (s *Shell) pack(page []byte) []byte {
	var out bytes.Buffer
	w, ok := s.packers.Get().(*gzip.Writer)
	if ok {
		w.Reset(&out)
	} else {
		w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed) // which is a level
	}
	_, _ = w.Write(page) // to memory
	_ = w.Close()
	s.packers.Put(w)
	return out.Bytes()
}

// Go sends the browser on to a path of this server, after something was done. done is
// one of the keys of Done, or empty.
func (q *Request) Go(path, done string) error {
	if done != "" {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + "done=" + url.QueryEscape(done)
	}
	if q.Partial() {
		q.w.Header().Set("HX-Redirect", path)
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(q.w, q.Request, path, http.StatusSeeOther)
	return nil
}

// ID is the number in the path.
func (q *Request) ID() (int64, error) {
	id, err := strconv.ParseInt(q.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, &ops.Error{Code: ops.NotFound, Text: "there is nothing at this address"}
	}
	return id, nil
}

// SignedIn starts the session of a token.
func (q *Request) SignedIn(token string, expires time.Time) {
	cookie := web.Session(token, expires, q.shell.secure)
	http.SetCookie(q.w, &cookie)
}

// SignedOut removes the cookie of the session.
func (q *Request) SignedOut() { q.SignedIn("", q.Now()) }

// Value is a field of the form that was sent, without blanks around it. Its lines end as
// they were typed: browsers send each end as two characters.
func (q *Request) Value(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(q.PostFormValue(name), "\r\n", "\n"))
}

// Values are all values of a field that are not blank.
func (q *Request) Values(name string) []string {
	_ = q.PostFormValue(name) // reads the form
	var out []string
	for _, v := range q.PostForm[name] {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// Lines are the lines or the comma-separated parts of a field.
func (q *Request) Lines(name string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(q.PostFormValue(name), func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Refusal is the operation's refusal in err, or nil when err is something else: then the
// handler returns err.
func Refusal(err error) *ops.Error {
	var refused *ops.Error
	errors.As(err, &refused)
	return refused
}

// Problems are what is wrong with the fields of a form, by their names.
type Problems map[string]watch.Problem

// ProblemsOf are those of a refusal, which may be nil.
func ProblemsOf(e *ops.Error) Problems {
	if e == nil {
		return nil
	}
	out := Problems{}
	for _, p := range e.Problems {
		if _, there := out[p.Field]; !there {
			out[p.Field] = p
		}
	}
	return out
}

// Status is the status of HTTP for a refusal.
func Status(e *ops.Error) int {
	switch e.Code {
	case ops.NotFound:
		return http.StatusNotFound
	case ops.Forbidden, ops.ProofRequired, ops.FactorRequired, ops.SignInAgain:
		return http.StatusForbidden
	case ops.Unauthenticated, ops.WrongPassword, ops.CodeRequired:
		return http.StatusUnauthorized
	case ops.TooMany:
		return http.StatusTooManyRequests
	case ops.Unavailable:
		return http.StatusServiceUnavailable
	case ops.Exists, ops.Conflict, ops.Moved, ops.FileOwned, ops.InUse, ops.Busy, ops.Paused:
		return http.StatusConflict
	default:
		return http.StatusUnprocessableEntity
	}
}

// RetryAfter tells programs when to try again, when a refusal says so.
func (q *Request) RetryAfter(e *ops.Error) {
	if e.RetryAfter > 0 {
		q.w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())+1))
	}
}

// fail answers with what went wrong.
func (q *Request) fail(err error) {
	refused := Refusal(err)
	var status int
	if refused == nil {
		refused, status = q.failed(err)
	} else {
		status = Status(refused)
	}
	q.RetryAfter(refused)
	var shown error
	if q.Header.Get("Accept") == "application/json" { // a script that asks for no page
		var text []byte
		if text, shown = json.Marshal(map[string]string{"text": refused.Text, "hint": refused.Hint}); shown == nil {
			shown = q.JSON(status, text)
		}
	} else if q.Partial() {
		q.w.Header().Set("HX-Retarget", "#notice")
		q.w.Header().Set("HX-Reswap", "innerHTML")
		shown = q.write(status, Refused(refused))
	} else {
		title := q.T("Not done")
		if refused.Code == ops.NotFound {
			title = q.T("Not found")
		}
		shown = q.Show(Page{Title: title, Bare: q.Session == nil, Status: status, Body: failure(refused)})
	}
	if shown != nil && q.Context().Err() == nil { // otherwise nobody waits for it
		q.Log(q.Context(), "an error page failed", shown)
		http.Error(q.w, "the page failed", http.StatusInternalServerError)
	}
}

// failed is what is said of an error that is not the affair of who asked, and its status.
func (q *Request) failed(err error) (*ops.Error, int) {
	late := errors.Is(context.Cause(q.Context()), errPageTime)
	if q.Context().Err() == nil || late {
		q.Log(q.Context(), "a page failed", err)
	}
	out := ops.Outage(err)
	if late { // and who asked still waits
		q.Request = q.WithContext(context.WithoutCancel(q.Context()))
		out = &ops.Error{Code: ops.Unavailable, RetryAfter: pageTime}
	}
	if out == nil {
		return &ops.Error{Text: q.T("This page failed."), Hint: q.T("The server's log says why.")}, http.StatusInternalServerError
	}
	out.Text, out.Hint = q.T("The database cannot be used now."), q.T("Load the page again in a moment: nothing that was stored is lost. The server's log says why.")
	return out, Status(out)
}

// NotFound answers for what is not there.
func NotFound(*Request) error {
	return &ops.Error{Code: ops.NotFound, Text: "there is nothing at this address"}
}

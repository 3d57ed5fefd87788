// Package shell is what all pages share: who asks and may ask what, the frame around a
// page, forms, errors, and the parts that pages are put together from.
//
// An area of the pages is a package beside this one with a function Routes. Its
// handlers take a [*Request] and call package ops; they check nothing of who may do
// what, as the table of routes and package ops do.
package shell

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/assets"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// Open is the permission of pages that need nobody to be signed in.
const Open people.Permission = ""

// Route is one page, or one thing that a page does.
type Route struct {
	// Method and Path are its address, in the form of [http.ServeMux].
	Method, Path string
	// Permission is what who asks needs, or Open.
	Permission people.Permission
	// Serve answers. What it returns is shown to who asked: an [*ops.Error] in its
	// words, anything else as a failure that the log explains.
	Serve func(*Request) error
	// Slow: it may take longer than pageTime, and sees to it that it ends.
	Slow bool
}

// pageTime is how long a page may take: what waits for a database that does not answer
// is told so.
const pageTime = 45 * time.Second

// errPageTime is the cause of a context that ended for that.
var errPageTime = errors.New("the page took too long")

// Deps are what the frame needs.
type Deps struct {
	People *people.People
	// PublicURL is the address that browsers know the server by.
	PublicURL string
	Version   string
	Logger    *slog.Logger
	Now       func() time.Time
}

// Shell puts pages together. It is safe for concurrent use.
type Shell struct {
	Deps
	languages *lang.Languages
	assets    *assets.Files
	secure    bool
	requests  *web.Limiter // of who is not signed in, by address
	packers   sync.Pool    // of *gzip.Writer
	pageTime  time.Duration
}

// New makes a shell.
func New(d Deps, files *assets.Files) (*Shell, error) {
	languages, err := lang.Load()
	if err != nil {
		return nil, err
	}
	return &Shell{
		Deps: d, languages: languages, assets: files, secure: strings.HasPrefix(d.PublicURL, "https:"),
		requests: web.NewLimiter(20, 100, d.Now), pageTime: pageTime,
	}, nil
}

// Handler answers a route.
func (s *Shell) Handler(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secured(w.Header())
		q := &Request{Request: r, w: w, shell: s, Language: s.languages.Of(r)}
		ctx := lang.With(r.Context(), q.Language)
		if !route.Slow {
			limited, cancel := context.WithTimeoutCause(ctx, s.pageTime, errPageTime)
			defer cancel()
			ctx = limited
		}
		q.Request = r.WithContext(ctx)
		if err := s.admit(q, route.Permission); err != nil {
			q.fail(err)
			return
		}
		if q.answered {
			return
		}
		if q.Session != nil {
			q.Request = q.WithContext(withProof(q.Context(), q))
		}
		if err := route.Serve(q); err != nil {
			q.fail(err)
		}
	})
}

// secured says what a page may do: load what this server sends, and nothing else.
func secured(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; report-uri "+ReportPath)
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=(), publickey-credentials-create=(self), publickey-credentials-get=(self)")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// ReportPath is where browsers send what the policy of a page kept from happening.
const ReportPath = "/csp-report"

// admit finds who asks, and sends who is not signed in to where that is done.
func (s *Shell) admit(q *Request, need people.Permission) error {
	actor, err := s.People.AuthenticateSession(q.Context(), web.Token(q.Request, s.secure))
	switch {
	case errors.Is(err, people.ErrUnauthenticated):
		if wait := s.requests.Take(web.Address(q.Request)); wait > 0 {
			return &ops.Error{Code: ops.TooMany, Text: "too many requests", Hint: "wait a moment", RetryAfter: wait}
		}
	case err != nil:
		return err
	default:
		q.Actor = actor
		q.Session, _ = actor.Session()
	}
	switch {
	case need == Open:
		return nil
	case q.Session == nil:
		return q.signIn()
	case !q.Actor.Can(need):
		return &ops.Error{Code: ops.Forbidden, Text: "your role does not allow this", Hint: "ask an administrator for a role that may " + string(need)}
	}
	return nil
}

// signIn sends a browser to where a person signs in, or to where the first account is
// made when there is none, and a script is told to.
func (q *Request) signIn() error {
	q.answered = true
	needed, err := q.shell.People.NeedsSetup(q.Context())
	if err != nil {
		return err
	}
	target := "/sign-in"
	switch {
	case needed:
		target = "/setup"
	case q.Method == http.MethodGet && !q.Partial():
		target += "?next=" + url.QueryEscape(q.URL.RequestURI())
	}
	if q.Partial() || strings.HasPrefix(q.URL.Path, "/live/") {
		q.w.Header().Set("HX-Redirect", target)
		q.w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	http.Redirect(q.w, q.Request, target, http.StatusSeeOther)
	return nil
}

// Local is a path of this server to go on to, or / when next is none.
func Local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// maxAsked bounds a parameter of an address, in bytes.
const maxAsked = 200

// Asked is a parameter of the address, without blanks around it, and cut where nobody
// would ask for more.
func (q *Request) Asked(name string) string {
	text := q.URL.Query().Get(name)
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), maxAsked)], ""))
}

// T is a text in the language of who asks.
func (q *Request) T(english string, args ...any) string { return lang.T(q.Context(), english, args...) }

// Log notes what went wrong and is not the affair of who asked. That a browser left
// before its answer was made is nothing that went wrong.
func (q *Request) Log(ctx context.Context, what string, err error) {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(q.Context()), context.Canceled) {
		return
	}
	q.shell.Logger.ErrorContext(ctx, "a page did not work", "what", what, "error", err)
}

// Warn notes what went wrong elsewhere, which who looks after the server may want to know.
func (q *Request) Warn(ctx context.Context, what string, err error) {
	q.shell.Logger.WarnContext(ctx, "a page was not answered as it was meant", "what", what, "error", err)
}

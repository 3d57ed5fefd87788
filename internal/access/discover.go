package access

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Verdict is what a rung of the ladder shows.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // usable, but some clients refuse
	Failed  Verdict = "failed"  // a new client gets no further
	Unknown Verdict = "unknown" // it could not be found out
	Skipped Verdict = "skipped" // nothing to look at
)

// The rungs, in the order in which a client climbs.
const (
	RungChallenge        = "challenge"
	RungResourceMetadata = "resource-metadata"
	RungResource         = "resource"
	RungServer           = "authorization-server"
	RungIssuer           = "issuer"
	RungEndpoints        = "endpoints"
	RungPKCE             = "pkce"
	RungRegistration     = "registration"

	rungs = 8
)

// Rung is one step of the chain. Its texts and URLs are safe to show.
type Rung struct {
	Name string
	// URL, HTTPStatus and Duration are of the request that decided, if any.
	URL        string
	HTTPStatus int
	Duration   time.Duration
	Verdict    Verdict
	Reason     string // a stable code; "" when the verdict is ok
	Kind       string // of a resource-mismatch, one of the Kind constants
	Text       string
	Hint       string
	// Tries are all requests of the rung, in order.
	Tries []Try
	// Notes are what else was found here, of no more weight than the verdict.
	Notes []Note
}

// Try is one request for a document.
type Try struct {
	URL        string
	HTTPStatus int
	Duration   time.Duration
	Text       string // what came of it
}

// Note is a remark that decides nothing.
type Note struct{ Reason, Text, Hint string }

// Ladder is the chain that a client walks from a 401 to the place where it can
// ask for a token, as far as it got. It is plain data.
type Ladder struct {
	Rungs []Rung // all eight, in order

	// What was learnt. ResourceMetadata can be set although the resource is
	// another's; Resource is set only if it stands for the endpoint.
	ResourceMetadata *ResourceMetadata
	// Server is set only if its issuer is the one asked for.
	Server   *ServerMetadata
	Resource string
	// Scopes are those of the challenge, else those of the resource metadata.
	Scopes []string
	// Legacy: the server was found in the way of revision 2025-03-26 only.
	Legacy bool
	// ResourceDocument and ServerDocument are what ResourceMetadata and the
	// server's metadata were read from, byte for byte, whether or not they stand
	// for what was asked for; nil when there is none.
	ResourceDocument, ServerDocument []byte
	// Incomplete: a place could not be asked, so that a document may be there
	// which is missing here, or another than the one that was found.
	Incomplete bool

	// The endpoints that may be used.
	token, authorization *url.URL
}

// First returns the first broken rung: failed, or else unknown. It reports false
// when the chain is intact.
func (l *Ladder) First() (Rung, bool) {
	for _, v := range []Verdict{Failed, Unknown} {
		for _, r := range l.Rungs {
			if r.Verdict == v {
				return r, true
			}
		}
	}
	return Rung{}, false
}

// Rung returns the rung of that name.
func (l *Ladder) Rung(name string) Rung {
	for _, r := range l.Rungs {
		if r.Name == name {
			return r
		}
	}
	return Rung{Name: name, Verdict: Skipped}
}

// AuditConfig is what [Audit] starts from.
type AuditConfig struct {
	// Endpoint is the MCP URL. Required.
	Endpoint *url.URL
	// Status is the status of the answer to a request without credentials, and
	// Challenge its raw WWW-Authenticate values. Status 0: nobody asked, and the
	// first rung is skipped.
	Status    int
	Challenge []string
	// PinnedIssuer is the only authorization server to look at, or "".
	PinnedIssuer string
	// ClientIDConfigured: the operator has a registered client, so that no way
	// of registering is needed.
	ClientIDConfigured bool
	HTTP               HTTP
}

// Audit walks the chain that a client without a token walks: the challenge, the
// metadata of the resource (RFC 9728), that of its authorization server (RFC
// 8414, OpenID Connect Discovery), and what a login needs of it. It logs in
// nowhere and sends no credential; it makes at most eight requests, each to a
// well-known place or, on the endpoint's origin, to where the challenge points.
//
// It never fails: the ladder says what broke. When ctx ends, the rung at hand is
// unknown.
func Audit(ctx context.Context, cfg AuditConfig) *Ladder {
	a := &auditor{cfg: cfg, client: cfg.HTTP.client(), ladder: &Ladder{Rungs: make([]Rung, 0, rungs)}}
	a.trust.loopback = isLoopback(cfg.Endpoint.Hostname())
	if pinned, err := url.Parse(cfg.PinnedIssuer); err == nil && cfg.PinnedIssuer != "" {
		a.trust.loopback = a.trust.loopback || isLoopback(pinned.Hostname())
	}
	advertised := a.challenge()
	a.resourceMetadata(ctx, advertised)
	a.resource()
	a.authorizationServer(ctx)
	a.endpoints()
	a.pkce()
	a.registration()
	return a.ladder
}

type auditor struct {
	cfg      AuditConfig
	client   *client
	ladder   *Ladder
	trust    trust
	requests int
	bearer   Challenge
	noneAt   bool // nothing points to resource metadata, and there is none
	server   *ServerMetadata
}

// rung adds a rung. The pointer stays good: there is room for all of them.
func (a *auditor) rung(name string) *Rung {
	a.ladder.Rungs = append(a.ladder.Rungs, Rung{Name: name, Verdict: OK})
	return &a.ladder.Rungs[len(a.ladder.Rungs)-1]
}

func (a *auditor) skip(name, text string) {
	r := a.rung(name)
	r.Verdict, r.Text = Skipped, text
}

// mark records a finding: the worst one becomes the verdict, the others notes.
func (r *Rung) mark(v Verdict, reason, text, hint string) {
	if weight(v) <= weight(r.Verdict) {
		r.Notes = append(r.Notes, Note{reason, text, hint})
		return
	}
	if r.Reason != "" {
		r.Notes = append(r.Notes, Note{r.Reason, r.Text, r.Hint})
	}
	r.Verdict, r.Reason, r.Text, r.Hint = v, reason, text, hint
}

func weight(v Verdict) int {
	return slices.Index([]Verdict{Skipped, OK, Warning, Unknown, Failed}, v)
}

// challenge reads the 401, and returns its resource_metadata.
func (a *auditor) challenge() string {
	r := a.rung(RungChallenge)
	r.URL, r.HTTPStatus = showURL(a.cfg.Endpoint), a.cfg.Status
	bearer, ok := Bearer(ParseChallenges(a.cfg.Challenge))
	a.bearer = bearer
	a.ladder.Scopes = splitScopes(bearer.Params["scope"])
	const hint = `answer 401 with WWW-Authenticate: Bearer resource_metadata="https://…"`
	switch status := a.cfg.Status; {
	case status == 0:
		r.Verdict, r.Text = Skipped, "nobody asked without a credential"
	case status >= 200 && status < 300:
		r.mark(Failed, ReasonAuthNotRequired, fmt.Sprintf("the server answered %d to a request without a credential", status), "protect the endpoint, or check it without OAuth")
	case status != http.StatusUnauthorized:
		r.mark(Failed, ReasonAuthStatus, fmt.Sprintf("the server answered %d, not 401, to a request without a credential", status), hint)
	case !ok:
		r.mark(Warning, ReasonAuthNotAdvertised, "the 401 carries no Bearer challenge, so many clients find no login", hint)
	case bearer.Params["resource_metadata"] == "":
		r.mark(Warning, ReasonNotInChallenge, "the Bearer challenge names no resource_metadata, so clients must guess where it is", hint)
	default:
		r.Text = "401 with a Bearer challenge that names the resource metadata"
	}
	return bearer.Params["resource_metadata"]
}

// advertised adds the challenge's URL to the places to ask, if it may be asked.
func (a *auditor) advertised(r *Rung, raw string) *url.URL {
	given, err := url.Parse(raw)
	if err == nil && len(raw) <= maxURL && given.Scheme == "" {
		given = a.cfg.Endpoint.ResolveReference(given)
		raw = given.String()
		r.mark(Warning, ReasonMetadataRelative, "resource_metadata is no absolute URL", "write the whole URL into the challenge")
	}
	u, fault := a.trust.check(raw)
	shown := a.client.quote(raw)
	if given != nil && err == nil {
		shown = showURL(given)
	}
	switch {
	case fault != nil:
		r.mark(Failed, fault.reason, "the resource_metadata of the challenge, "+shown+", "+fault.text, schemeHint(fault.reason))
	case originOf(u) == originOf(a.cfg.Endpoint):
		return u
	case u.Scheme != a.cfg.Endpoint.Scheme && strings.EqualFold(u.Hostname(), a.cfg.Endpoint.Hostname()):
		r.mark(Failed, ReasonMetadataScheme, "the challenge of an "+a.cfg.Endpoint.Scheme+" endpoint points to "+shown, schemeHint(ReasonMetadataScheme))
	default:
		r.mark(Warning, ReasonMetadataOtherOrigin, "the challenge points to another origin, "+shown+", which is not used", "serve the resource metadata from the endpoint's own origin")
	}
	return nil
}

func schemeHint(reason string) string {
	switch reason {
	case ReasonMetadataScheme:
		return "build the metadata from the public URL: let the server see the proxy's X-Forwarded-Proto and X-Forwarded-Host"
	case ReasonMetadataLoopback:
		return "write the public URL into the metadata"
	}
	return "write an absolute https URL"
}

func (a *auditor) resourceMetadata(ctx context.Context, advertised string) {
	r := a.rung(RungResourceMetadata)
	var places []*url.URL
	if advertised != "" {
		if u := a.advertised(r, advertised); u != nil {
			places = append(places, u)
		}
	}
	named := len(places)
	for _, u := range resourceLocations(a.cfg.Endpoint) {
		if named == 0 || u.String() != places[0].String() {
			places = append(places, u)
		}
	}
	var doc *ResourceMetadata
	var wrong []string
	at, faults := a.search(ctx, r, places, false, func(data []byte) (err error) {
		if doc, wrong, err = parseResourceMetadata(data); err == nil {
			a.ladder.ResourceDocument = data
		}
		return err
	})
	if doc == nil {
		nothing := a.notFound(r, faults, "the server publishes no resource metadata", "serve it at "+showURL(resourceLocations(a.cfg.Endpoint)[0]))
		a.noneAt = nothing && advertised == ""
		return
	}
	a.ladder.ResourceMetadata = doc
	if len(a.ladder.Scopes) == 0 {
		a.ladder.Scopes = doc.Scopes
	}
	if named > 0 && at > 0 {
		// A client that was given a place does not look for another.
		f := faults[0]
		r.mark(f.verdict, f.reason, f.text+", while "+showURL(places[at])+" holds the document", "let the challenge point there")
		faults = faults[1:]
	}
	a.oddities(r, faults, wrong)
	if r.Text == "" {
		r.Text = "found at " + showURL(places[at])
	}
}

// oddities notes what went wrong before the document was found, and in it.
func (a *auditor) oddities(r *Rung, faults []fault, wrong []string) {
	for _, f := range faults {
		if f.reason != ReasonMetadataMissing {
			r.Notes = append(r.Notes, Note{f.reason, f.text, f.hint})
		}
	}
	if len(wrong) > 0 {
		r.mark(Warning, ReasonMetadataMalformed, "members of a wrong type: "+a.client.quote(strings.Join(wrong, ", ")), "compare the document with RFC 9728 and RFC 8414")
	}
}

// fault is why a place gave no document.
type fault struct {
	verdict            Verdict
	reason, text, hint string
}

// notFound marks the most telling fault. It reports whether every place said
// that there is nothing.
func (a *auditor) notFound(r *Rung, faults []fault, text, hint string) (nothing bool) {
	for _, f := range faults {
		if f.reason != ReasonMetadataMissing {
			r.mark(f.verdict, f.reason, f.text, f.hint)
			return false
		}
	}
	if r.Reason == ReasonMetadataOtherOrigin {
		r.Verdict = Failed
		return false
	}
	r.mark(Failed, ReasonMetadataMissing, text, hint)
	return true
}

// search asks the places in order until parse accepts a document, and returns
// which place that was. server says whose places they are.
func (a *auditor) search(ctx context.Context, r *Rung, places []*url.URL, server bool, parse func([]byte) error) (at int, faults []fault) {
	for i, u := range places {
		if a.requests++; a.requests > maxRequests {
			a.ladder.Incomplete = true
			return -1, append(faults, fault{Unknown, ReasonMetadataUnavailable, "too many requests were needed", ""})
		}
		ans := a.client.get(ctx, u)
		r.URL, r.HTTPStatus, r.Duration = showURL(u), ans.status, ans.duration
		f := a.faultOf(ans, server)
		if f == nil {
			if err := parse(ans.body); err != nil {
				f = &fault{Failed, ReasonMetadataMalformed, "the document at " + showURL(u) + " " + err.Error(), "serve the metadata as a JSON object"}
			}
		}
		try := Try{URL: r.URL, HTTPStatus: ans.status, Duration: ans.duration, Text: "found"}
		if f != nil {
			try.Text = f.text
		}
		r.Tries = append(r.Tries, try)
		if f == nil {
			a.contentType(r, ans)
			return i, faults
		}
		faults = append(faults, *f)
		a.ladder.Incomplete = a.ladder.Incomplete || slices.Contains([]string{ReasonMetadataUnavailable, ReasonServerUnavailable, ReasonAddressNotAllowed}, f.reason)
		if ans.failure != nil {
			break // the same host will not do better
		}
	}
	return -1, faults
}

func (a *auditor) contentType(r *Rung, ans answer) {
	given := ans.header.Get("Content-Type")
	media, _, _ := strings.Cut(given, ";")
	if media = strings.ToLower(strings.TrimSpace(media)); media == "application/json" || strings.HasSuffix(media, "+json") {
		return
	}
	r.Notes = append(r.Notes, Note{ReasonMetadataType, fmt.Sprintf("the document is served as %q", a.client.quote(given)), "serve it as application/json"})
}

// faultOf says why an answer is no document. Whose fault a failing server is
// depends on the server: one's own is broken, another's leaves all open.
func (a *auditor) faultOf(ans answer, server bool) *fault {
	where := showURL(ans.url)
	down := fault{Failed, ReasonMetadataUnavailable, "", "look at the server's log"}
	if server {
		down = fault{Unknown, ReasonServerUnavailable, "", "the authorization server is in trouble; try again later"}
	}
	switch status := ans.status; {
	case ans.failure != nil:
		down.text = "no answer from " + where + ": " + ans.failure.Text
		if ans.failure.Local || ans.ended {
			down.verdict = Unknown
		}
		if ans.failure.Hint != "" {
			down.hint = ans.failure.Hint
		}
		if ans.failure.Reason == ReasonAddressNotAllowed {
			down.verdict, down.reason = Failed, ReasonAddressNotAllowed
		}
		return &down
	case status >= 500 || status == http.StatusTooManyRequests:
		down.text = fmt.Sprintf("%s answered %d", where, status)
		if status == http.StatusTooManyRequests {
			down.verdict = Unknown
		}
		return &down
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &fault{Failed, ReasonMetadataNeedsAuth, fmt.Sprintf("%s answered %d: metadata must be readable without a credential", where, status), "open the /.well-known/ path for everybody"}
	case status >= 300 && status < 400:
		return &fault{Failed, ReasonMetadataRedirect, fmt.Sprintf("%s answered %d: redirects of metadata are not followed", where, status), "serve the document at this URL itself"}
	case status != http.StatusOK:
		return &fault{Failed, ReasonMetadataMissing, fmt.Sprintf("%s answered %d", where, status), ""}
	case ans.tooLarge:
		return &fault{Failed, ReasonMetadataTooLarge, fmt.Sprintf("the document at %s is larger than %d KiB", where, maxDocument>>10), "serve the members that clients need, and no more"}
	}
	return nil
}

package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

const projectURL = "https://github.com/mcpvigil/mcpvigil"

// configure settles everything that needs no network. False: it is wrong, and
// a failed step says so.
func (r *run) configure(ctx context.Context) bool {
	if p := r.t.Validate(); p != nil {
		r.misconfigured(failure{reason: Reason(p.Reason), text: p.Text, hint: p.Hint})
		return false
	}
	if pin := r.t.ProtocolVersion; pin != "" && !wire.Known(pin) {
		r.misconfigured(failure{reason: reasonUnknownPin, text: fmt.Sprintf("the pinned protocol version \"%s\" is not known", plain.Line(pin, 40)), hint: "pin one of " + strings.Join(wire.Revisions(), ", ")})
		return false
	}
	for _, value := range hidden(r.t) {
		r.remember(value)
	}
	r.config = wire.Config{
		Client: wire.Implementation{Name: firstSet(r.o.Client.Name, "mcpvigil"), Version: firstSet(r.o.Client.Version, moduleVersion())},
		Pin:    r.t.ProtocolVersion,
		Limits: wire.Limits{
			ResponseBytes: firstSet(r.o.Limits.ResponseBytes, r.t.Limits.ResponseBytes, DefaultResponseBytes),
			Pages:         firstSet(r.o.Limits.Pages, r.t.Limits.Pages, DefaultPages),
			Entries:       firstSet(r.o.Limits.Entries, r.t.Limits.Entries, DefaultEntries),
		},
		Budget:  r.budgets.of(target.Protocol),
		First:   r.budgets.of(target.Reachability),
		Startup: r.budgets.startup,
		Redact:  r.redact,
		Log:     r.log,
	}
	var bad *failure
	if r.t.Kind() == target.Stdio {
		r.peer, bad = r.stdioPeer(ctx)
	} else {
		r.peer, bad = r.httpPeer(ctx)
	}
	if bad != nil {
		r.misconfigured(*bad)
		return false
	}
	if r.t.Checks != nil && r.t.Judges(target.Configuration) {
		r.pass(StepConfiguration, "the target is usable as configured", 0, nil)
	}
	return true
}

// misconfigured adds the failed configuration step, whatever the table says
// about the reason.
func (r *run) misconfigured(f failure) {
	f.status = StatusMisconfigured
	r.fail(StepConfiguration, f)
}

// reveal reads a secret and remembers it for redaction.
func (r *run) reveal(ctx context.Context, s target.Secret, what string) (string, *failure) {
	value, err := s.Reveal(ctx)
	if err != nil {
		return "", &failure{reason: reasonUnreadableSecret, text: fmt.Sprintf("the value of %s cannot be read: %s", what, plain.Line(err.Error(), 300)), hint: "set it before the check, and see that this user may read it"}
	}
	r.remember(value)
	return value, nil
}

// remember keeps a secret of the operator out of what is shown.
func (r *run) remember(value string) {
	if len(value) < shortestShared {
		r.redact.Add(value)
	} else {
		r.secrets.Add(value)
	}
}

// inspectHeader learns when a credential in a header ends, if it tells.
func (r *run) inspectHeader(name, value string) {
	if !credentialHeader.MatchString(name) {
		return
	}
	kind := "header"
	scheme, token, found := strings.Cut(value, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		token = value
	} else {
		kind = "bearer"
	}
	expires, audience := access.Inspect(token)
	r.noteCredential(kind, expires, audience)
}

func (r *run) stdioPeer(ctx context.Context) (wire.Peer, *failure) {
	c := r.t.Command
	var extra []string
	for _, v := range c.Env {
		value, bad := r.reveal(ctx, v.Value, "the variable "+v.Name)
		if bad != nil {
			return nil, bad
		}
		extra = append(extra, v.Name+"="+value)
	}
	env := wire.SafeEnv(os.Environ(), extra)
	if c.InheritEnv {
		env = append(os.Environ(), extra...)
	}
	return wire.StdioConfig{Path: c.Path, Args: c.Args, Dir: c.Dir, Env: env, Inherited: c.InheritEnv, StdinGrace: c.StdinGrace, TermGrace: c.TermGrace}, nil
}

func (r *run) httpPeer(ctx context.Context) (wire.Peer, *failure) {
	u, err := url.Parse(r.t.Endpoint)
	if err != nil {
		return nil, &failure{reason: "invalid-endpoint", text: "the endpoint is not a URL"}
	}
	var bad *failure
	if r.net, bad = r.network(); bad != nil {
		return nil, bad
	}
	hc := wire.HTTPConfig{URL: u, Header: http.Header{}, UserAgent: r.userAgent(), Net: r.net, Credential: hasCredential(r.t)}
	for _, h := range r.t.Headers {
		value, bad := r.reveal(ctx, h.Value, "the header "+h.Name)
		if bad != nil {
			return nil, bad
		}
		hc.Header.Add(h.Name, h.Prefix+value)
		r.inspectHeader(h.Name, h.Prefix+value)
	}
	if r.t.OAuth != nil {
		if r.oauth, bad = r.newOAuth(ctx, u, func() wire.Peer { return hc }); bad != nil {
			return nil, bad
		}
		hc.Authorize = r.oauth
	}
	if r.t.Kind() == target.SSE {
		return wire.SSEConfig(hc), nil
	}
	return hc, nil
}

func (r *run) userAgent() string {
	c := r.config.Client
	return firstSet(r.o.Client.UserAgent, fmt.Sprintf("%s/%s (+%s)", c.Name, c.Version, projectURL))
}

// moduleVersion is the version this package was built at.
var moduleVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == "github.com/mcpvigil/mcpvigil" && m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "dev"
})

// head judges reachability with a HEAD of its own.
func (r *run) head(ctx context.Context) {
	var status int
	hc, ok := r.peer.(wire.HTTPConfig)
	if !ok { // configure made it one for every target of transport http
		panic("HEAD over a transport that is not HTTP")
	}
	d, err := r.step(ctx, target.Reachability, func(ctx context.Context) (err error) {
		status, err = wire.Head(ctx, hc, r.config)
		return err
	})
	switch {
	case err != nil:
		f := failureOf(err)
		r.failAfter(StepConnect, f, d).Stages = r.firstStages()
		r.bar(StepConnect, f)
	case status == 0:
		r.pass(StepConnect, "connected; HEAD was not answered, which proves nothing", d, r.transportDetails()).Stages = r.firstStages()
	default:
		res := r.pass(StepConnect, fmt.Sprintf("HEAD was answered with %d", status), d, r.transportDetails())
		res.Stages = r.firstStages()
		res.Details["status"] = status
	}
}

// transportDetails say how the server was reached; the address is that of the first
// exchange.
func (r *run) transportDetails() map[string]any {
	details := map[string]any{"transportType": string(r.t.Kind())}
	if x := r.log.Exchanges(); len(x) > 0 && x[0].Address != "" {
		details["address"] = x[0].Address
	}
	return details
}

// open connects and settles on a revision, and adds the steps that follow from
// it: connect, authentication and initialize.
func (r *run) open(ctx context.Context) {
	start := time.Now()
	var err error
	if r.t.Kind() == target.Stdio {
		if !r.budgets.within {
			r.clock.allow(r.budgets.startup)
		}
		r.session, err = wire.Open(ctx, r.peer, r.config) // has budgets of its own
		if err != nil && ctx.Err() != nil {
			err = r.interruption(ctx, target.Protocol, err)
		}
	} else {
		_, err = r.step(ctx, target.Protocol, func(ctx context.Context) (err error) {
			r.session, err = wire.Open(ctx, r.peer, r.config)
			return err
		})
	}
	took := time.Since(start)
	if r.t.Kind() == target.Stdio && r.session != nil && !r.budgets.within {
		r.clock.startedUp(r.session.Spawn())
	}
	if err != nil {
		r.openingFailed(failureOf(err), took)
		return
	}
	connect := r.connectTime()
	if r.report.Result(StepConnect) == nil {
		r.pass(StepConnect, string(r.t.Kind())+" transport connected", connect, r.transportDetails()).Stages = r.firstStages()
	}
	if !r.judgeCredential() && (hasCredential(r.t) || r.t.Checks != nil && r.t.Judges(target.Authentication)) {
		r.pass(StepAuthentication, r.letIn(), 0, nil)
	}
	r.begin(StepInitialize)
	r.pass(StepInitialize, r.agreement(), max(0, took-connect), r.agreementDetails())
}

func (r *run) letIn() string {
	if !hasCredential(r.t) {
		return "the server answered without a credential"
	}
	return "the server answered with the configured credential"
}

// openingFailed finds the step that a failed opening belongs to.
func (r *run) openingFailed(f failure, took time.Duration) {
	step := StepInitialize
	switch f.dimension() {
	case target.Reachability:
		step = StepConnect
	case target.Authentication:
		step = StepAuthentication
	}
	if f.reason == Reason(wire.ReasonTimeout) && r.connectTime() > 0 || f.reason == Reason(wire.ReasonAborted) && r.report.Result(StepConnect) != nil {
		step = StepInitialize // the connection stood
	}
	if !r.wantsSession() && !f.answered {
		step = StepConnect // all that was asked for is an answer, and there was none
	}
	connect := r.connectTime()
	if step == StepAuthentication && !r.connected() {
		r.skip(StepConnect, "not run, because there was no credential to send", false)
	}
	if step != StepConnect && r.report.Result(StepConnect) == nil {
		r.pass(StepConnect, string(r.t.Kind())+" transport connected", connect, r.transportDetails()).Stages = r.firstStages()
		took = max(0, took-connect)
	}
	if step != StepConnect && !r.wantsSession() {
		r.skip(StepInitialize, "not asked for", true) // any answer shows that it can be reached
		return
	}
	if step == StepAuthentication {
		r.explainRefusal(&f)
	}
	res := r.failAfter(step, f, took)
	if step == StepConnect {
		res.Stages = r.firstStages()
	}
	r.bar(step, f)
	if step == StepAuthentication {
		r.skip(StepInitialize, "not run, because "+StepAuthentication+" failed; this says nothing about the protocol", false)
	}
	if step == StepConnect {
		r.skipBarred(StepInitialize)
	}
}

// explainRefusal adds what the challenge of a 401 or 403 says.
func (r *run) explainRefusal(f *failure) {
	challenges := access.ParseChallenges(f.challenges)
	r.refusal = refusal{status: f.httpStatus, challenges: f.challenges}
	r.explainToken(f)
	f.details = withDetail(f.details, "challenges", r.showChallenges(challenges))
	if bearer, ok := access.Bearer(challenges); ok && lacksScope(f.reason, bearer) {
		f.reason = Reason(wire.ReasonInsufficientScope)
	}
	if f.hint == "" {
		f.hint = r.accessHint(f.reason, challenges)
	}
	if len(challenges) == 0 && f.reason == Reason(wire.ReasonAuthRequired) {
		r.log.Note(string(reasonAuthNotAdvertised), "the refusal carries no WWW-Authenticate header", "")
	}
}

// lacksScope reports whether a challenge asks for a scope that the token lacks
// (RFC 6750, section 3.1). The Go SDK names the scope and leaves out the error.
func lacksScope(reason Reason, bearer access.Challenge) bool {
	code := bearer.Params["error"]
	return code == "insufficient_scope" || code == "" && reason == Reason(wire.ReasonForbidden) && bearer.Params["scope"] != ""
}

// showChallenges writes challenges safe to show.
func (r *run) showChallenges(challenges []access.Challenge) []string {
	out := []string{}
	for _, c := range challenges {
		text := plain.Line(r.redact.String(c.Scheme), 40)
		for _, name := range []string{"realm", "error", "error_description", "scope", "resource_metadata"} {
			if v := c.Params[name]; v != "" {
				text += fmt.Sprintf(" %s=\"%s\"", name, plain.Line(r.redact.String(v), 200))
			}
		}
		out = append(out, text)
	}
	return out
}

// accessHint reads the next step out of the challenge, or nothing.
func (r *run) accessHint(reason Reason, challenges []access.Challenge) string {
	bearer, ok := access.Bearer(challenges)
	said := func(name string) string { return plain.Line(r.redact.String(bearer.Params[name]), 200) }
	switch {
	case reason == Reason(wire.ReasonInsufficientScope) && ok:
		return "get a token with the scope " + firstSet(said("scope"), "the server names")
	case reason == Reason(wire.ReasonTokenRejected) && bearer.Params["error_description"] != "":
		return "the server says: " + said("error_description") + "; renew the credential, or hand over the right one"
	case reason != Reason(wire.ReasonAuthRequired) || len(challenges) == 0:
		return ""
	case ok && bearer.Params["resource_metadata"] != "":
		return "hand over a token (--bearer-env NAME, auth.bearer_env); the server describes how to get one at " + plain.Line(weburl.RedactText(bearer.Params["resource_metadata"]), 200)
	case !ok:
		return "hand over a credential of the scheme " + plain.Line(r.redact.String(challenges[0].Scheme), 40)
	}
	return ""
}

// agreement says what was agreed on.
func (r *run) agreement() string {
	s := r.session.Server()
	name := strings.TrimSpace(firstSet(s.Name, "(unnamed)") + " " + versionText(s.Version))
	return fmt.Sprintf("protocol v%s, server: %s", r.session.Revision(), name)
}

func versionText(v string) string {
	if v != "" && v[0] >= '0' && v[0] <= '9' {
		return "v" + v
	}
	return v
}

func (r *run) agreementDetails() map[string]any {
	caps := map[string]bool{}
	for _, name := range []string{"tools", "resources", "prompts", "logging", "completions"} {
		if r.session.Declares(name) {
			caps[name] = true
		}
	}
	s := r.session.Server()
	return map[string]any{"protocolVersion": r.session.Revision(), "serverName": s.Name, "serverVersion": s.Version, "capabilities": caps}
}

// judgeOpening fills in what the session tells about the server.
func (r *run) judgeOpening() {
	s := r.session.Server()
	r.report.Era = string(r.session.Era())
	r.report.Server = &ServerInfo{Name: s.Name, Version: s.Version, Title: s.Title, ProtocolVersion: r.session.Revision()}
	r.report.Inventory = &Inventory{Opening: r.session.Opening()}
	if r.session.Disputed() { // it says which lists there are
		r.report.Inventory.Disputed = []surface.Kind{surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt}
	}
	if r.session.Revision() < wire.Rev20250618 {
		r.log.Note(string(reasonOldRevision), "the server settles on "+r.session.Revision(), "")
	}
}

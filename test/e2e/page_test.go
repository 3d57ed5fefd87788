package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// page is a tab with a profile of its own. What goes wrong in it fails the test at its
// end: an error on the console, an exception, a failed request or one to another host, a
// dialog, anything that the Content-Security-Policy kept from happening.
type page struct {
	t    testing.TB
	ctx  context.Context
	base string
	// close closes the tab, which otherwise happens at the end of the test.
	close func()
	// failed: the test had failed before.
	failed bool

	mu       sync.Mutex
	faults   []string
	expected []*regexp.Regexp
	requests map[network.RequestID]string
	dialogs  int
}

// open opens a tab of an account, or of nobody.
func (s *server) open(t testing.TB, account string) *page {
	t.Helper()
	p := blank(t, s.url)
	if account != "" {
		p.cookie(web.SessionCookie, s.token(account))
	}
	return p
}

// blank opens a tab that may load what is below base.
func blank(t testing.TB, base string) *page {
	t.Helper()
	p := &page{t: t, base: base, failed: t.Failed(), requests: map[network.RequestID]string{}}
	var end context.CancelFunc
	p.ctx, end = chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	p.close = sync.OnceFunc(func() {
		p.finish()
		end()
	})
	t.Cleanup(p.close)
	if err := chromedp.Listen(p.ctx, p.hear); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, runtime.Enable, cdp.Empty{})
	call(p, cdppage.Enable, cdppage.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, audits.Enable, cdp.Empty{})
	call(p, runtime.AddBinding, runtime.AddBindingParams{Name: "e2eFault"})
	call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		document.addEventListener("securitypolicyviolation", (e) => e2eFault("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile + ":" + e.lineNumber + " " + e.sample));`})
	p.size(1280, 900)
	return p
}

// call sends a command of the protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	out, err := try(p, command, params)
	if err != nil {
		p.t.Fatalf("the browser's %s: %v", command.Method, err)
	}
	return out
}

func try[P, R any](p *page, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

// hear notes what goes wrong. It may not use the browser.
func (p *page) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.fault("exception: %s (%s:%d)", text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1)
	case *runtime.EventConsoleAPICalled:
		if kind := string(e.Type); kind == "error" || kind == "assert" || kind == "warning" {
			var text []string
			for _, a := range e.Args {
				text = append(text, string(a.Value)+a.Description)
			}
			p.fault("console.%s: %s", kind, strings.Join(text, " "))
		}
	case *runtime.EventBindingCalled:
		p.fault("%s", e.Payload)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			p.fault("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if code := string(e.Issue.Code); strings.Contains(code, "ContentSecurityPolicy") || strings.Contains(code, "MixedContent") {
			details, _ := json.Marshal(e.Issue.Details)
			p.fault("issue: %s %s", code, details)
		}
	case *cdppage.EventJavascriptDialogOpening:
		p.fault("dialog: %s %q", e.Type, e.Message)
		go func() {
			_, _ = try(p, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: true})
		}()
	case *network.EventRequestWillBeSent:
		p.sent(e)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			p.fault("answer: %d %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		p.mu.Lock()
		u := p.requests[e.RequestID]
		p.mu.Unlock()
		// A page that is left ends its requests.
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" {
			p.fault("request: %s %s %s", e.ErrorText, e.BlockedReason, u)
		}
	}
}

func (p *page) sent(e *network.EventRequestWillBeSent) {
	p.mu.Lock()
	p.requests[e.RequestID] = e.Request.Method + " " + e.Request.URL
	p.mu.Unlock()
	u, err := url.Parse(e.Request.URL)
	if err != nil || u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about" {
		return
	}
	if own, _ := url.Parse(p.base); u.Host != own.Host {
		p.fault("request to another host: %s", e.Request.URL)
	} else if strings.HasPrefix(u.Path, "/csp-report") {
		p.fault("report: %s", e.Request.URL)
	}
}

func (p *page) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) < 100 {
		p.faults = append(p.faults, text)
	}
}

// expect makes what matches no fault, as where a test looks for a refusal.
func (p *page) expect(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, regexp.MustCompile(pattern))
}

// refusal makes an answer with this status no fault.
func (p *page) refusal(status int) {
	p.expect(fmt.Sprintf(`^answer: %d |^log: Failed to load resource: the server responded with a status of %d`, status, status))
}

// wrong are the faults that nobody expected.
func (p *page) wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, f := range p.faults {
		if !slices.ContainsFunc(p.expected, func(r *regexp.Regexp) bool { return r.MatchString(f) }) {
			out = append(out, f)
		}
	}
	return out
}

func (p *page) finish() {
	if wrong := p.wrong(); len(wrong) > 0 {
		p.t.Errorf("in the browser went wrong:\n  %s", strings.Join(wrong, "\n  "))
	}
	if p.t.Failed() && !p.failed && p.ctx.Err() == nil {
		p.keep()
	}
}

var fileName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// keep leaves what a failed test saw.
func (p *page) keep() {
	name := fileName.ReplaceAllString(p.t.Name(), "-")
	path := artifacts(p.t, "failed", name)
	for i := 2; ; i++ {
		if _, err := os.Stat(path + ".html"); err != nil || i > 20 {
			break
		}
		path = artifacts(p.t, "failed", fmt.Sprintf("%s-%d", name, i))
	}
	if data, err := p.picture(false); err == nil {
		_ = os.WriteFile(path+".png", data, 0o644)
	}
	if html, err := evaluate[string](p, `"<!-- " + location.href + " -->\n" + document.documentElement.outerHTML`); err == nil {
		_ = os.WriteFile(path+".html", []byte(html), 0o644)
	}
	p.t.Logf("the page as it was at the end: %s.png, %s.html", path, path)
}

// size makes the window so wide and high; below 600 pixels it is that of a phone.
func (p *page) size(width, height int64) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}

// theme makes the system prefer light or dark.
func (p *page) theme(name string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// language makes the browser prefer a language.
func (p *page) language(tag string) {
	p.t.Helper()
	version, err := chromedp.CallBrowser(p.ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		p.t.Fatal(err)
	}
	call(p, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: version.UserAgent, AcceptLanguage: tag})
}

func (p *page) cookie(name, value string) {
	p.t.Helper()
	yes := true
	call(p, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: p.base, Path: "/", HTTPOnly: &yes, SameSite: "Lax"})
}

// visit loads a path of the server and waits until it is there with its scripts.
func (p *page) visit(path string) {
	p.t.Helper()
	target := path
	if strings.HasPrefix(path, "/") {
		target = p.base + path
	}
	p.mark()
	got := call(p, cdppage.Navigate, cdppage.NavigateParams{URL: target})
	if got.ErrorText != "" {
		p.t.Fatalf("load %s: %s", target, got.ErrorText)
	}
	p.arrived("load " + path)
}

// mark makes the next page known from this one.
func (p *page) mark() { _, _ = evaluate[bool](p, `window.e2eLeft = true`) }

func (p *page) arrived(what string) {
	p.t.Helper()
	p.until(what, `!window.e2eLeft && document.readyState === "complete"`)
}

// evaluate runs an expression in the page.
func evaluate[T any](p *page, expression string) (out T, err error) {
	yes := true
	got, err := try(p, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes})
	switch {
	case err != nil:
		return out, err
	case got.ExceptionDetails != nil:
		return out, &chromedp.ExceptionError{ExceptionDetails: got.ExceptionDetails}
	case len(got.Result.Value) == 0:
		return out, nil // undefined
	}
	return out, json.Unmarshal(got.Result.Value, &out)
}

// ask is evaluate for what has to work.
func ask[T any](p *page, expression string) T {
	p.t.Helper()
	out, err := evaluate[T](p, expression)
	if err != nil {
		p.t.Fatalf("%v\nin %.300s", err, expression)
	}
	return out
}

// until waits until an expression is true.
func (p *page) until(what, expression string) {
	p.t.Helper()
	p.wait(what, func() (bool, string) {
		ok, err := evaluate[bool](p, `!!(`+expression+`)`)
		if err != nil {
			return false, err.Error()
		}
		return ok, expression
	})
}

// within is until for what may take longer than a step.
func (p *page) within(long time.Duration, what, expression string) {
	p.t.Helper()
	p.waitFor(long, what, func() (bool, string) {
		ok, err := evaluate[bool](p, `!!(`+expression+`)`)
		return ok && err == nil, expression
	})
}

// reloaded is until for a page that has to be loaded again to show it.
func (p *page) reloaded(what, expression string) {
	p.t.Helper()
	p.wait(what, func() (bool, string) {
		ok, err := evaluate[bool](p, `!!(`+expression+`)`)
		if ok && err == nil {
			return true, ""
		}
		time.Sleep(300 * time.Millisecond)
		_, _ = evaluate[bool](p, `(location.reload(), true)`)
		time.Sleep(300 * time.Millisecond)
		return false, expression
	})
}

// wait tries until done says so. why is what it said last.
func (p *page) wait(what string, done func() (ok bool, why string)) {
	p.t.Helper()
	p.waitFor(patience, what, done)
}

func (p *page) waitFor(long time.Duration, what string, done func() (ok bool, why string)) {
	p.t.Helper()
	deadline := time.Now().Add(long)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		ok, why := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			where, _ := evaluate[string](p, `location.href + "\n" + document.title + "\n" + (document.querySelector("main, body")?.innerText ?? "").slice(0, 1500)`)
			p.t.Fatalf("%s: not within %s\nlast: %s\nthe page is %s\n%s", what, long, why, where, strings.Join(p.wrong(), "\n"))
		}
		time.Sleep(pause)
	}
}

// sees waits until the page shows a text.
func (p *page) sees(text string) {
	p.t.Helper()
	p.until("see "+text, fmt.Sprintf(`document.body.innerText.includes(%s)`, quote(text)))
}

// path is where the page is.
func (p *page) path() string { p.t.Helper(); return ask[string](p, `location.pathname`) }

// quote is a string as a script writes it.
func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// picture is what the page looks like; whole also shows what is below the window.
func (p *page) picture(whole bool) ([]byte, error) {
	params := cdppage.CaptureScreenshotParams{Format: "png"}
	if whole {
		box, err := evaluate[struct{ W, H float64 }](p, `({W: innerWidth, H: Math.min(4000, document.documentElement.scrollHeight)})`)
		if err != nil {
			return nil, err
		}
		yes := true
		params.CaptureBeyondViewport, params.Clip = &yes, &cdppage.Viewport{Width: box.W, Height: box.H, Scale: 1}
	}
	got, err := try(p, cdppage.CaptureScreenshot, params)
	return got.Data, err
}

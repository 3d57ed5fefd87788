package statuspages_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const secret = "a page of our own"

// put makes the page "pay" of everything with the tag "public".
func put(t *testing.T, w *uitest.World, change func(*ops.StatusPageInput)) {
	t.Helper()
	in := ops.StatusPageInput{Title: "Payments", Tags: []string{"public"}, Surface: true}
	if change != nil {
		change(&in)
	}
	if _, _, err := w.Ops.PutStatusPage(context.Background(), w.Actor("editor"), "pay", in, false); err != nil {
		t.Fatal(err)
	}
}

func tagged(m *watch.Monitor) { m.Definition.Tags = []string{"public"} }

func fails(w *uitest.World, m *watch.Monitor) {
	for range 2 {
		w.Observe(m, &watch.Observation{Result: watch.Result{Status: "unhealthy", Reason: "connection-refused"}})
	}
}

func hasNot(t *testing.T, a uitest.Answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(strings.ToLower(a.Body), strings.ToLower(text)) {
			t.Errorf("there is %q in:\n%s", text, a.Body)
		}
	}
}

func TestPublicPage(t *testing.T) {
	w := uitest.New(t)
	up, down := w.Monitor("payments-eu", tagged), w.Monitor("refunds", tagged)
	w.Monitor("internal")
	w.See(up, uitest.Surface(t, "", uitest.Named(1)...))
	w.See(down, uitest.Surface(t, ""))
	fails(w, down)
	put(t, w, func(in *ops.StatusPageInput) { in.Names = map[string]string{"payments-eu": "Payments"} })
	a := w.Get("", "/status/pay")
	if a.Status != http.StatusOK || a.Header.Get("X-Robots-Tag") != "noindex" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	uitest.Has(t, a, "Payments", "refunds", "1 service does not work.", "Outage", "Tools approved", "<svg", "Last updated:", "since")
	hasNot(t, a, "payments-eu", "internal", "connection-refused", "mcp.example.com", "tool_0000")
	part := w.Get("", "/status/pay", "HX-Request", "true")
	uitest.Has(t, part, "refunds")
	hasNot(t, part, "<html")
	uitest.Has(t, w.Get("", "/status/pay", "Accept-Language", "de"), "1 Dienst funktioniert nicht.", "Ausfall")

	var page struct {
		State    string
		Counts   map[string]int
		Monitors []struct {
			ID          int64
			Name, State string
			Days        []*float64
		}
		Incidents []struct{ Name, State string }
	}
	out := w.Get("", "/status/pay.json")
	if err := json.Unmarshal([]byte(out.Body), &page); err != nil {
		t.Fatal(err)
	}
	if page.State != "outage" || len(page.Monitors) != 2 || page.Monitors[0].Name != "refunds" || len(page.Monitors[0].Days) != 90 ||
		len(page.Incidents) != 1 || page.Incidents[0].Name != "refunds" {
		t.Errorf("%s", out.Body)
	}
	hasNot(t, out, "payments-eu", "password", "connection-refused", "example.com", secret)
}

// What a server says gets on no page and no badge, whatever it is.
func TestNothingOfServers(t *testing.T) {
	w := uitest.New(t)
	const hostile = "HOSTILE<script>alert(1)</script>\u202e\x1b[31m"
	m := w.Monitor("good", tagged)
	first := uitest.Surface(t, hostile, uitest.Tool{Name: "tool"})
	w.See(m, first)
	w.Observe(m, &watch.Observation{
		Result:  watch.Result{Status: "healthy", Reason: "HOSTILE"},
		Surface: uitest.Surface(t, hostile, uitest.Tool{Name: hostile, Description: hostile, Title: hostile}), Server: hostile, Protocol: hostile, Era: hostile,
	})
	for range 2 {
		w.Observe(m, &watch.Observation{Result: watch.Result{Status: "unhealthy", Reason: hostile}})
	}
	put(t, w, func(in *ops.StatusPageInput) { in.Badges = true })
	for _, path := range []string{
		"/status/pay", "/status/pay.json", "/badge/pay/status.svg", fmt.Sprintf("/badge/pay/%d/status.svg", m.ID),
		fmt.Sprintf("/badge/pay/%d/approved.svg", m.ID), fmt.Sprintf("/badge/pay/%d/uptime.svg", m.ID), fmt.Sprintf("/badge/pay/%d/latency.svg?days=7", m.ID),
	} {
		a := w.Get("", path)
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d", path, a.Status)
		}
		hasNot(t, a, "HOSTILE", "\u202e", "\x1b", "https://mcp.")
	}
}

// Names that people gave are shown as text, also when they look like something else.
func TestNamesAreText(t *testing.T) {
	w := uitest.New(t)
	const name = `"><script>alert('1')</script>&`
	m := w.Monitor(name, tagged)
	put(t, w, func(in *ops.StatusPageInput) { in.Badges, in.Title = true, name })
	hasNot(t, w.Get("", "/status/pay"), "<script>alert")
	hasNot(t, w.Get("editor", "/settings/status-pages/pay"), "<script>alert")
	for _, path := range []string{"/badge/pay/status.svg", fmt.Sprintf("/badge/pay/%d/status.svg", m.ID)} {
		a := w.Get("", path)
		hasNot(t, a, "<script")
		decoder := xml.NewDecoder(strings.NewReader(a.Body))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v\n%s", path, err, a.Body)
			}
		}
	}
}

func TestPassword(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("search", tagged)
	put(t, w, nil)
	uitest.Has(t, w.Get("", "/status/pay"), "search")
	// A password counts at once.
	put(t, w, func(in *ops.StatusPageInput) { in.Password = new(string); *in.Password = secret })
	closed, none := w.Get("", "/status/pay"), w.Get("", "/status/none")
	if closed.Status != none.Status || closed.Body != none.Body || closed.Header.Get("X-Robots-Tag") != none.Header.Get("X-Robots-Tag") {
		t.Errorf("a page with a password (%d) and none (%d) answer differently", closed.Status, none.Status)
	}
	hasNot(t, closed, "Payments", "search")
	if a, b := w.Get("", "/status/pay.json"), w.Get("", "/status/none.json"); a.Status != http.StatusNotFound || a.Body != b.Body {
		t.Errorf("JSON: %d %s", a.Status, a.Body)
	}
	wrong, wrongNone := w.Post("", "/status/pay", url.Values{"password": {"not the one here"}}), w.Post("", "/status/none", url.Values{"password": {secret}})
	if wrong.Status != http.StatusUnauthorized || wrongNone.Status != wrong.Status || wrong.Body != wrongNone.Body || wrong.Header.Get("Set-Cookie") != "" {
		t.Errorf("wrong passwords: %d and %d", wrong.Status, wrongNone.Status)
	}
	right := w.Post("", "/status/pay", url.Values{"password": {secret}})
	cookie, _, _ := strings.Cut(right.Header.Get("Set-Cookie"), ";")
	if right.Status != http.StatusSeeOther || right.Location != "/status/pay" || cookie == "" || !strings.Contains(right.Header.Get("Set-Cookie"), "HttpOnly") {
		t.Fatalf("the password: %d %v", right.Status, right.Header)
	}
	uitest.Has(t, w.Get("", "/status/pay", "Cookie", cookie), "Payments", "search")
	uitest.Has(t, w.Get("", "/status/pay.json", "Cookie", cookie), "search")
	uitest.Has(t, w.Get("viewer", "/status/pay"), "search")
	// A cookie is for one page, for a time, and for one password.
	name, value, _ := strings.Cut(cookie, "=")
	at, mac, _ := strings.Cut(value, ".")
	for _, forged := range []string{name + "=9" + at + "." + mac, name + "=" + at + "." + strings.Repeat("0", 64), name + "=", name + "=" + at} {
		hasNot(t, w.Get("", "/status/pay", "Cookie", forged), "search")
	}
	if a := w.Get("", fmt.Sprintf("/badge/pay/%d/status.svg", m.ID)); a.Status != http.StatusNotFound {
		t.Errorf("a badge of a page without badges: %d", a.Status)
	}
	form := url.Values{"title": {"Payments"}, "tags": {"public"}, "password": {"another of our own"}, "badges": {"yes"}}
	if a := w.Post("editor", "/settings/status-pages/pay", form); a.Status != http.StatusSeeOther {
		t.Fatalf("another password: %d\n%s", a.Status, a.Body)
	}
	hasNot(t, w.Get("", "/status/pay", "Cookie", cookie), "search")
	if a := w.Get("", fmt.Sprintf("/badge/pay/%d/status.svg", m.ID)); a.Status != http.StatusOK {
		t.Errorf("a badge of a page with badges and a password: %d", a.Status)
	}
}

func TestPasswordsAreLimited(t *testing.T) {
	w := uitest.New(t)
	for range 6 {
		w.Post("", "/status/none", url.Values{"password": {"guess after guess"}})
	}
	if a := w.Post("", "/status/none", url.Values{"password": {"guess after guess"}}); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("the seventh: %d", a.Status)
	}
}

func TestBadges(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("search", tagged)
	other := w.Monitor("internal")
	s := uitest.Surface(t, "", uitest.Named(1)...)
	w.See(m, s)
	put(t, w, func(in *ops.StatusPageInput) { in.Badges, in.Surface = true, false })
	a := w.Get("", fmt.Sprintf("/badge/pay/%d/status.svg", m.ID))
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "image/svg+xml; charset=utf-8" || a.Header.Get("Cache-Control") != "public, max-age=60" ||
		a.Header.Get("Cross-Origin-Resource-Policy") != "cross-origin" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	uitest.Has(t, a, "search: operational", "textLength=")
	uitest.Has(t, w.Get("", fmt.Sprintf("/badge/pay/%d/uptime.svg?days=30", m.ID)), "search uptime 30d: unknown")
	none := w.Get("", "/badge/none/status.svg")
	for _, path := range []string{
		fmt.Sprintf("/badge/pay/%d/status.svg", other.ID), fmt.Sprintf("/badge/pay/%d/approved.svg", m.ID), fmt.Sprintf("/badge/pay/%d/status", m.ID),
		fmt.Sprintf("/badge/pay/%d/other.svg", m.ID), "/badge/pay/4711/status.svg", "/badge/pay/x/status.svg", "/badge/..%2f/status.svg",
	} {
		if a := w.Get("", path); a.Status != http.StatusNotFound || a.Body != none.Body {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	rollup(t, w, m.ID, store.Daily, -1, 999, 1)
	put(t, w, func(in *ops.StatusPageInput) { in.Badges = true })
	uitest.Has(t, w.Get("", fmt.Sprintf("/badge/pay/%d/approved.svg", m.ID)), "search tools: approved")
	fresh := uitest.New(t)
	m = fresh.Monitor("search", tagged)
	fresh.See(m, s)
	rollup(t, fresh, m.ID, store.Daily, -1, 9999, 1)
	rollup(t, fresh, m.ID, store.Daily, -40, 0, 10_000)
	put(t, fresh, func(in *ops.StatusPageInput) { in.Badges = true })
	uitest.Has(t, fresh.Get("", fmt.Sprintf("/badge/pay/%d/uptime.svg?days=30", m.ID)), "search uptime 30d: 99.99%")
	uitest.Has(t, fresh.Get("", "/badge/pay/uptime.svg"), "Payments uptime 90d: 49.99%")
	uitest.Has(t, fresh.Get("", fmt.Sprintf("/badge/pay/%d/latency.svg", m.ID)), "search latency 90d: 100 ms")
	uitest.Has(t, fresh.Get("", fmt.Sprintf("/badge/pay/%d/approved.svg", m.ID)), "search tools: approved")
	uitest.Has(t, fresh.Get("", "/status/pay"), "49.99 % of checks worked", "Trouble on 2 of the last 90 days.")
}

func rollup(t *testing.T, w *uitest.World, monitor int64, period time.Duration, day int, up, down int64) {
	t.Helper()
	at := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, day)
	_, err := w.Store.DB().ExecContext(context.Background(), `insert into rollups (monitor, period, bucket, checks, up, degraded, down, misconfigured, unknown, skipped, maintenance, stages)
		values ($1, $2, $3, $4, $5, 0, $6, 0, 0, 0, 0, $7)`, monitor, period.Milliseconds(), at.UnixMilli(), up+down, up, down, `{"total":{"avg":99.5}}`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestSettings(t *testing.T) {
	w := uitest.New(t)
	w.Monitor("search", tagged)
	form := url.Values{"slug": {"pay"}, "title": {"Payments"}, "tags": {"public\r\n"}, "names": {"search = Find = Things\r\n"}, "badges": {"yes"}}
	wrong := func(name, value string) {
		t.Helper()
		bad := url.Values{}
		for k, v := range form {
			bad[k] = v
		}
		bad.Set(name, value)
		a := w.Post("editor", "/settings/status-pages", bad)
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, "aria-invalid") || !strings.Contains(a.Body, "public") {
			t.Errorf("%s %q: %d", name, value, a.Status)
		}
	}
	wrong("slug", "Pay ments")
	wrong("slug", "new")
	wrong("title", "")
	wrong("names", "no sign")
	wrong("password", "short")
	if a := w.Post("editor", "/settings/status-pages", form); a.Status != http.StatusSeeOther || a.Location != "/settings/status-pages/pay?done=saved" {
		t.Fatalf("%d to %s\n%s", a.Status, a.Location, a.Body)
	}
	if a := w.Post("editor", "/settings/status-pages", form); a.Status != http.StatusConflict {
		t.Errorf("a second one of that address: %d", a.Status)
	}
	page, err := w.Ops.StatusPage(context.Background(), w.Actor("viewer"), "pay")
	if err != nil || page.Names["search = Find"] != "Things" || !page.Badges {
		t.Errorf("%+v, %v", page, err)
	}
	uitest.Has(t, w.Get("editor", "/settings/status-pages/pay"), "[![Payments](http://localhost/badge/pay/status.svg)](http://localhost/status/pay)", "&lt;img src=&#34;http://localhost/badge/pay/1/status.svg")
	uitest.Has(t, w.Get("viewer", "/settings/status-pages"), "/status/pay")
	hasNot(t, w.Get("viewer", "/settings/status-pages/pay"), "<textarea", "/delete")
	if a := w.Post("editor", "/settings/status-pages/pay/delete", nil); a.Status != http.StatusSeeOther {
		t.Errorf("delete: %d", a.Status)
	}
	if a := w.Get("", "/status/pay"); a.Status != http.StatusNotFound {
		t.Errorf("deleted: %d", a.Status)
	}
}

// A page of ten thousand monitors is made in a moment, and shown from memory after that.
func TestMany(t *testing.T) {
	w := uitest.New(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	ctx := context.Background()
	err := w.Store.InTx(ctx, func(tx *store.Tx) error {
		var states []watch.State
		for n := range 10_000 {
			m := &watch.Monitor{Source: watch.FromAPI, Revision: 1, CreatedAt: now, UpdatedAt: now, Definition: watch.Definition{
				Name: fmt.Sprintf("service %05d", n), URL: "https://mcp.example.com/", Tags: []string{"public"}, AuthMode: watch.AuthNone,
			}}
			m.Definition.Normalize()
			if err := tx.InsertMonitor(ctx, m); err != nil {
				return err
			}
			states = append(states, watch.State{Monitor: m.ID, LastCheck: now, Availability: watch.AxisState{State: watch.Up}})
		}
		return tx.SaveStates(ctx, states)
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, nil)
	start := time.Now()
	a := w.Get("", "/status/pay")
	first := time.Since(start)
	uitest.Has(t, a, "Part 1 of 100")
	start = time.Now()
	for range 20 {
		w.Get("", "/status/pay?part=1")
	}
	again := time.Since(start) / 20
	t.Logf("%d bytes, first %s, then %s", len(a.Body), first, again)
	if first > 5*time.Second || again > 100*time.Millisecond || len(a.Body) > 400<<10 {
		t.Errorf("%d bytes, first %s, then %s", len(a.Body), first, again)
	}
	uitest.Has(t, w.Get("", "/status/pay?q=service+09999"), "service 09999")
	if a := w.Get("", "/status/pay?part=100"); strings.Count(a.Body, `class="service"`) != 100 {
		t.Errorf("%d on the last part", strings.Count(a.Body, `class="service"`))
	}
	// Neither does how long it takes tell that there is a page with a password.
	put(t, w, func(in *ops.StatusPageInput) { in.Password = new(string); *in.Password = secret })
	start = time.Now()
	w.Get("", "/status/pay")
	w.Get("", "/badge/pay/status.svg")
	if closed := time.Since(start); closed > first/2 {
		t.Errorf("a page with a password is read for who does not have it: %s of %s", closed, first)
	}
}

// Many who look at once, while the page changes, see it.
func TestAtOnce(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("search", tagged)
	put(t, w, func(in *ops.StatusPageInput) { in.Badges = true })
	var all sync.WaitGroup
	for n := range 24 {
		all.Go(func() {
			path := []string{"/status/pay", "/status/pay.json", "/badge/pay/uptime.svg", fmt.Sprintf("/badge/pay/%d/latency.svg?days=%d", m.ID, n+1)}[n%4]
			if a := w.Get("", path); a.Status != http.StatusOK {
				t.Errorf("%s: %d", path, a.Status)
			}
		})
	}
	put(t, w, func(in *ops.StatusPageInput) { in.Badges = true })
	all.Wait()
}

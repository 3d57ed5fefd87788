package monitors_test

import (
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// filled is the form of a new monitor, with changes: names and values in turn.
func filled(name string, changes ...string) url.Values {
	v := url.Values{
		"name": {name}, "url": {"https://mcp.example.com/" + name}, "transport": {"streamable-http"}, "auth_mode": {"none"},
		"drift_policy": {"alert"}, "interval": {"10m"}, "timeout": {"20s"}, "failure_threshold": {"2"}, "recovery_threshold": {"1"},
		"max_tools": {"0"}, "escalation": {"default"}, "locations": {"local"}, "header_name": {""}, "header_value": {""},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		v[changes[i]] = strings.Split(changes[i+1], "|")
	}
	return v
}

func stored(t *testing.T, w *uitest.World, name string) (m *watch.Monitor, headers map[string]string) {
	t.Helper()
	err := w.Store.View(t.Context(), func(tx *store.Tx) (err error) {
		if m, err = tx.MonitorByName(t.Context(), name); err == nil {
			headers, err = tx.Headers(t.Context(), m.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, headers
}

// want says which texts a page has, and which it has not.
func want(t *testing.T, got uitest.Answer, status int, has []string, not ...string) {
	t.Helper()
	body := html.UnescapeString(got.Body)
	if got.Status != status {
		t.Errorf("%d, want %d, to %q\n%s", got.Status, status, got.Location, body)
	}
	for _, text := range has {
		if !strings.Contains(body, text) {
			t.Errorf("there is no %q in\n%s", text, body)
		}
	}
	for _, text := range not {
		if strings.Contains(body, text) {
			t.Errorf("there is %q", text)
		}
	}
}

func TestCreate(t *testing.T) {
	w := uitest.New(t)
	want(t, w.Get("editor", "/monitors/new"), http.StatusOK, []string{`action="/monitors"`, `name="url"`, `value="10m"`})
	form := filled(
		"search", "group", "team", "tags", "prod, eu", "auth_mode", "header", "header_name", "Authorization||X-Two", "header_value", "Bearer hush-hush||second",
		"expected_tools", "search\nfetch", "max_tools", "40", "drift_policy", "record", "effect-tool-added", "fail", "interval", "30s", "timeout", "5s",
		"failure_threshold", "3", "recovery_threshold", "2", "locations", "local\nother", "protocol_version", "2025-06-18", "transport", "sse",
		"dependency", "base|", "dependency_critical", "yes|no",
	)
	got := w.Post("editor", "/monitors", form)
	want(t, got, http.StatusUnprocessableEntity, []string{"there is no such monitor", `value="Authorization"`, `value="X-Two"`, "prod\neu"}, "hush-hush")
	w.Monitor("base")
	got = w.Post("editor", "/monitors", form)
	m, headers := stored(t, w, "search")
	if got.Status != http.StatusSeeOther || got.Location != fmt.Sprintf("/monitors/%d/first?done=created", m.ID) {
		t.Errorf("%d to %q", got.Status, got.Location)
	}
	d := m.Definition
	if d.Group != "team" || strings.Join(d.Tags, " ") != "prod eu" || strings.Join(d.ExpectedTools, " ") != "search fetch" || d.MaxTools != 40 ||
		d.DriftPolicy != "record" || d.DriftEffects["tool-added"] != "fail" || d.Interval != watch.Duration(30*time.Second) || d.Timeout != watch.Duration(5*time.Second) ||
		d.FailureThreshold != 3 || d.RecoveryThreshold != 2 || len(d.Locations) != 2 || d.ProtocolVersion != "2025-06-18" || d.Transport != "sse" ||
		len(d.Dependencies) != 1 || !d.Dependencies[0].Critical {
		t.Errorf("%+v", d)
	}
	if headers["Authorization"] != "Bearer hush-hush" || headers["X-Two"] != "second" || len(headers) != 2 {
		t.Errorf("headers %v", headers)
	}
	// What the form says again makes the same monitor.
	page := w.Get("editor", fmt.Sprintf("/monitors/%d/edit", m.ID))
	want(t, page, http.StatusOK, []string{`value="30s"`, `value="40"`, `value="X-Two"`, `value="base"`, "prod\neu"}, "hush-hush", "second")
}

func TestProblems(t *testing.T) {
	w := uitest.New(t)
	w.Monitor("taken")
	for name, c := range map[string]struct {
		form url.Values
		text string
	}{
		"name":      {filled("taken"), "is taken"},
		"url":       {filled("a", "url", "ftp://x"), `id="f-url-problem"`},
		"interval":  {filled("a", "interval", "soon"), "This is no duration."},
		"short":     {filled("a", "interval", "1s"), `id="f-interval-problem"`},
		"number":    {filled("a", "max_tools", "many"), "This is no whole number."},
		"tag":       {filled("a", "tags", "x\nx"), `id="f-tags-problem"`},
		"header":    {filled("a", "auth_mode", "header", "header_name", "X-Key", "header_value", ""), "a header that is not stored yet needs a value"},
		"lost":      {filled("a", "header_name", "X-Key", "header_value", "secret-value"), "problem"},
		"effect":    {filled("a", "effect-tool-added", "explode"), "explode is none of them"},
		"policy":    {filled("a", "escalation", "none-such"), "there is no such policy"},
		"transport": {filled("a", "transport", "stdio"), `id="f-transport-problem"`},
	} {
		t.Run(name, func(t *testing.T) {
			status := http.StatusUnprocessableEntity
			if name == "name" {
				status = http.StatusConflict
			}
			want(t, w.Post("editor", "/monitors", c.form), status, []string{c.text}, "secret-value")
		})
	}
}

func TestRows(t *testing.T) {
	w := uitest.New(t)
	form := filled("", "url", "", "header_name", "X-One|X-Two|", "header_value", "1-value|2-value|", "add", "header")
	got := w.Post("editor", "/monitors", form)
	want(t, got, http.StatusOK, []string{`value="X-One"`, `value="X-Two"`}, "1-value")
	if n := strings.Count(got.Body, `name="header_name"`); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	form.Del("add")
	form.Set("remove", "header:0")
	want(t, w.Post("editor", "/monitors", form), http.StatusOK, []string{`value="X-Two"`}, `value="X-One"`)
	form.Set("remove", "header:99")
	want(t, w.Post("editor", "/monitors", form), http.StatusOK, []string{`value="X-Two"`})
}

func TestEdit(t *testing.T) {
	w := uitest.New(t)
	w.Post("editor", "/monitors", filled("one", "auth_mode", "header", "header_name", "X-Key", "header_value", "kept-value"))
	m, _ := stored(t, w, "one")
	path := fmt.Sprintf("/monitors/%d/edit", m.ID)
	revision := func() string { m, _ = stored(t, w, "one"); return strconv.FormatInt(m.Revision, 10) }
	keep := []string{"auth_mode", "header", "header_name", "X-Key", "header_value", ""}
	form := filled("one", append(keep, "group", "moved", "revision", revision())...)
	if got := w.Post("editor", path, form); got.Status != http.StatusSeeOther {
		want(t, got, http.StatusSeeOther, nil)
	}
	if _, headers := stored(t, w, "one"); headers["X-Key"] != "kept-value" || m.Revision == 0 {
		t.Errorf("a blank value does not keep the stored one: %v", headers)
	}
	// The revision is old by now.
	form.Set("group", "again")
	want(t, w.Post("editor", path, form), http.StatusConflict, []string{"Somebody else changed this monitor", `value="again"`, `value="` + revision() + `"`})
	form.Set("revision", revision())
	if got := w.Post("editor", path, form); got.Status != http.StatusSeeOther {
		t.Errorf("after the conflict: %d", got.Status)
	}
	// Another mode deletes the headers.
	if got := w.Post("editor", path, filled("one", "revision", revision())); got.Status != http.StatusSeeOther {
		want(t, got, http.StatusSeeOther, nil)
	}
	if m, headers := stored(t, w, "one"); len(headers) != 0 || len(m.Definition.Headers) != 0 || m.Definition.Group != "" {
		t.Errorf("headers %v, %+v", headers, m.Definition)
	}
	want(t, w.Get("viewer", path), http.StatusForbidden, nil)
}

// TestProof: what loosens a monitor with an approved surface takes a proof.
func TestProof(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("one")
	w.See(m, uitest.Surface(t, "", uitest.Named(2)...))
	path := fmt.Sprintf("/monitors/%d/edit", m.ID)
	form := filled("one", "drift_policy", "record")
	got := w.Post("approver", path, form)
	want(t, got, http.StatusForbidden, []string{"This change loosens the watch", "fails no more</code></li>", "proof_password", `value="record"`})
	form.Set("proof_password", "wrong")
	got = w.Post("approver", path, form)
	if got.Status == http.StatusSeeOther || !strings.Contains(got.Body, "This change loosens the watch") {
		t.Errorf("with a wrong password: %d\n%s", got.Status, got.Body)
	}
	if m, _ := stored(t, w, "one"); m.Definition.DriftPolicy != "alert" {
		t.Error("it was changed without a proof")
	}
	for name, values := range w.Proof("approver") {
		form[name] = values
	}
	if got := w.Post("approver", path, form); got.Location != fmt.Sprintf("/monitors/%d?done=saved", m.ID) {
		t.Errorf("with a proof: %d to %q\n%s", got.Status, got.Location, got.Body)
	}
	if m, _ := stored(t, w, "one"); m.Definition.DriftPolicy != "record" {
		t.Error("it was not changed with a proof")
	}
	// An editor may not, whatever is shown.
	form.Set("max_tools", "0")
	form.Set("failure_threshold", "9")
	want(t, w.Post("editor", path, form), http.StatusForbidden, []string{"approver"})
	want(t, w.Get("approver", fmt.Sprintf("/monitors/%d/delete", m.ID)), http.StatusOK, []string{"Delete one", "Keep it"}, "proof_password")
	want(t, w.Post("approver", fmt.Sprintf("/monitors/%d/delete", m.ID), nil), http.StatusForbidden, []string{"proof_password", "show that it is you"})
	// What was never approved goes.
	other := w.Monitor("other")
	if got := w.Post("editor", fmt.Sprintf("/monitors/%d/delete", other.ID), nil); got.Location != "/?done=deleted" {
		t.Errorf("%d to %q", got.Status, got.Location)
	}
	want(t, w.Get("editor", fmt.Sprintf("/monitors/%d/edit", other.ID)), http.StatusNotFound, nil)
}

func TestOfTheFile(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("of the file", func(m *watch.Monitor) { m.Source = watch.FromFile })
	path := fmt.Sprintf("/monitors/%d", m.ID)
	want(t, w.Get("editor", path+"/edit"), http.StatusOK, []string{"belongs to the configuration file", "mcpvigil.yaml"}, `method="post" action="`+path)
	want(t, w.Post("editor", path+"/edit", filled("of the file")), http.StatusConflict, []string{"belongs to the configuration file"})
	want(t, w.Get("editor", path+"/delete"), http.StatusOK, []string{"belongs to the configuration file"}, "Delete it")
	want(t, w.Post("editor", path+"/pause", nil), http.StatusConflict, []string{"belongs to the configuration file"})
}

func TestActs(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("one")
	for _, c := range []struct{ act, done string }{{"run", "running"}, {"pause", "paused"}, {"resume", "resumed"}} {
		got := w.Post("editor", fmt.Sprintf("/monitors/%d/%s", m.ID, c.act), nil)
		if got.Location != fmt.Sprintf("/monitors/%d?done=%s", m.ID, c.done) {
			t.Errorf("%s: %d to %q", c.act, got.Status, got.Location)
		}
	}
}

const clientFile = `{
  // what a client has
  "mcpServers": {
    "search": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer very-secret-token"}},
    "local": {"command": "npx", "args": ["-y", "server", "--token", "other-secret-token"], "env": {"KEY": "third-secret-token"}},
    "variable": {"url": "https://two.example.com/mcp", "headers": {"X-Key": "${env:HOME}"}},
    "off": {"url": "https://off.example.com/mcp", "disabled": true}
  }
}`

func sealed(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="sealed" value="`)
	text, _, _ := strings.Cut(rest, `"`)
	if !ok || text == "" {
		t.Fatalf("there is no plan in\n%s", body)
	}
	return html.UnescapeString(text)
}

func TestImport(t *testing.T) {
	w := uitest.New(t)
	w.Monitor("search")
	want(t, w.Get("editor", "/monitors/new?first=1"), http.StatusOK, []string{`action="/monitors/preview"`, `type="file"`})
	got := w.Post("editor", "/monitors/preview", url.Values{"text": {clientFile}})
	want(t, got, http.StatusOK, []string{
		`value="search 2"`, "https://mcp.example.com/mcp", "Authorization", "It is started by a command", "variable",
	}, "secret-token", "off.example.com", `name="name-1"`)
	if strings.Count(got.Body, `name="take"`) != 1 {
		t.Errorf("not one alone can be watched:\n%s", got.Body)
	}
	plan := sealed(t, got.Body)
	form := url.Values{"sealed": {plan}, "take": {"0", "1", "2"}, "name-0": {"search of the client"}, "name-1": {"x"}, "name-2": {"y"}}
	// A plan is for who made it.
	if got := w.Post("admin", "/monitors/import", form); got.Status != http.StatusConflict {
		t.Errorf("somebody else: %d", got.Status)
	}
	got = w.Post("editor", "/monitors/import", form)
	m, headers := stored(t, w, "search of the client")
	if got.Location != fmt.Sprintf("/monitors/%d/first?done=created", m.ID) || headers["Authorization"] != "Bearer very-secret-token" {
		t.Errorf("%d to %q, with %d headers", got.Status, got.Location, len(headers))
	}
	// Nothing else was made, and the same again has a name that is taken.
	want(t, w.Post("editor", "/monitors/import", form), http.StatusConflict, []string{"search of the client", "is taken"}, "secret-token")
	if got := w.Post("editor", "/monitors/import", url.Values{"sealed": {"none"}, "take": {"0"}}); got.Status != http.StatusConflict {
		t.Errorf("a plan that is none: %d", got.Status)
	}

	got = w.Post("editor", "/monitors/preview", url.Values{"text": {"https://a.example.com/mcp\n\n# no\nb.example.com/sse\nhttps://a.example.com/mcp\n"}})
	want(t, got, http.StatusOK, []string{`value="a.example.com"`, `value="b.example.com"`})
	got = w.Post("editor", "/monitors/import", url.Values{"sealed": {sealed(t, got.Body)}, "take": {"0", "1"}, "name-0": {"a"}, "name-1": {"b"}})
	if !strings.HasPrefix(got.Location, "/monitors/first?ids=") {
		t.Errorf("%d to %q", got.Status, got.Location)
	}
	want(t, w.Get("editor", got.Location), http.StatusOK, []string{">a</a>", ">b</a>", "It is being checked"})
	want(t, w.Post("editor", "/monitors/preview", url.Values{"text": {"npx -y server --token=secret-token\nftp://c.example.com"}}), http.StatusOK,
		[]string{"npx", "It is started by a command", ">the endpoint's scheme is"}, "secret-token", "url the endpoint", `name="take"`)
	for name, text := range map[string]string{"nothing": " \n", "no servers": `{"other": 1}`, "no JSON": `{"mcpServers": {"a": {"url": "secret-token" `} {
		got := w.Post("editor", "/monitors/preview", url.Values{"text": {text}})
		want(t, got, http.StatusUnprocessableEntity, []string{`id="f-text-problem"`}, "secret-token")
		_ = name
	}
}

func TestUpload(t *testing.T) {
	w := uitest.New(t)
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	_ = parts.WriteField("text", "")
	file, err := parts.CreateFormFile("file", "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "[mcp_servers.docs]\nurl = \"https://docs.example.com/mcp\"\n")
	_ = parts.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/monitors/preview", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", parts.FormDataContentType())
	r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: w.Tokens["editor"]})
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got bytes.Buffer
	_, _ = got.ReadFrom(answer.Body)
	if answer.StatusCode != http.StatusOK || !strings.Contains(got.String(), "https://docs.example.com/mcp") || !strings.Contains(got.String(), `value="docs"`) {
		t.Errorf("%d\n%s", answer.StatusCode, got.String())
	}
}

func TestFirst(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("one")
	path := fmt.Sprintf("/monitors/%d/first", m.ID)
	want(t, w.Get("viewer", path), http.StatusOK, []string{"It is being checked", `hx-get="` + path + `"`, "There is no channel yet"}, "/settings/channels/new")
	want(t, w.Get("admin", path), http.StatusOK, []string{"/settings/channels/new"})
	w.See(m, uitest.Surface(t, "", uitest.Named(3)...))
	want(t, w.Get("viewer", path, "HX-Request", "true"), http.StatusOK, []string{"It has 3 tools.", "state-up", fmt.Sprintf("/monitors/%d/surface", m.ID)}, "hx-get", "<html")
	bad := w.Monitor("bad")
	w.Observe(bad, &watch.Observation{Result: watch.Result{Status: "unhealthy", Reason: "connection-refused"}})
	path = fmt.Sprintf("/monitors/%d/first", bad.ID)
	want(t, w.Get("editor", path), http.StatusOK,
		[]string{watch.ReasonText("connection-refused"), "It is checked once more", fmt.Sprintf("/monitors/%d/edit", bad.ID), `hx-get="` + path + `"`}, "local:")
	w.Observe(bad, &watch.Observation{Result: watch.Result{Status: "unhealthy", Reason: "connection-refused"}})
	want(t, w.Get("editor", path), http.StatusOK, []string{watch.ReasonText("connection-refused"), "state-down", "Surface unknown"}, "once more", "hx-get", ">Unknown<", "Posture unknown")
	want(t, w.Get("viewer", "/monitors/first?ids=x,999"), http.StatusNotFound, nil)
}

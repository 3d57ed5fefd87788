package settings_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const webhookSecret = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="

// channel makes a channel and gives its page.
func channel(t *testing.T, w *uitest.World, name string) string {
	t.Helper()
	got := w.Post("admin", "/settings/channels", url.Values{
		"type": {"webhook"}, "name": {name}, "settings.url": {"https://hooks.example.com/s3cret-path"}, "settings.secret": {webhookSecret},
		"settings.headers": {"Authorization: Bearer topsecret"}, "settings.content_type": {"text/plain"},
	})
	if got.Status != http.StatusSeeOther {
		t.Fatalf("a channel: %d\n%s", got.Status, got.Body)
	}
	path, _, _ := strings.Cut(got.Location, "?")
	return path
}

// policy makes a policy that tells a channel.
func policy(t *testing.T, w *uitest.World, name, channel string) {
	t.Helper()
	got := w.Post("admin", "/settings/escalations/save", url.Values{
		"name": {name}, "on": {"down", "changed", "inconsistent", "flagged"}, "steps": {"1"}, "steps[0].delay": {"0"}, "steps[0].channels": {channel}, "repeat": {"2"},
	})
	if got.Status != http.StatusSeeOther {
		t.Fatalf("a policy: %d\n%s", got.Status, got.Body)
	}
}

// proven is a form with a proof added.
func proven(w *uitest.World, name string, form url.Values) url.Values {
	out := w.Proof(name)
	for field, values := range form {
		out[field] = values
	}
	return out
}

func has(t *testing.T, a uitest.Answer, status int, texts ...string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("answered %d, want %d", a.Status, status)
	}
	uitest.Has(t, a, texts...)
}

var secrets = []string{"s3cret-path", webhookSecret, "topsecret"}

func TestChannels(t *testing.T) {
	w := uitest.New(t)
	has(t, w.Get("viewer", "/settings/channels"), http.StatusOK, "nobody is told of anything")
	uitest.HasNot(t, w.Get("viewer", "/settings/channels"), "/settings/channels/new")
	has(t, w.Get("admin", "/settings/channels/new"), http.StatusOK, "type=pagerduty", "Microsoft Teams")
	form := w.Get("admin", "/settings/channels/new?type=webhook")
	has(t, form, http.StatusOK, `name="settings.secret" type="password"`, `name="settings.url" type="password"`)

	wrong := w.Post("admin", "/settings/channels", url.Values{
		"type": {"webhook"}, "name": {"hook"}, "settings.url": {"ftp://hooks.example.com/s3cret-path"}, "settings.content_type": {"text/plain"},
	})
	has(t, wrong, http.StatusUnprocessableEntity, `id="f-settings.url-problem"`, `value="hook"`, `value="text/plain"`, "Type the secrets again")
	uitest.HasNot(t, wrong, secrets...)
	has(t, w.Post("admin", "/settings/channels", url.Values{"type": {"webhook"}}), http.StatusUnprocessableEntity, `id="f-name-problem"`)

	path := channel(t, w, "hook")
	page := w.Get("viewer", path)
	has(t, page, http.StatusOK, "hooks.example.com", "no policy", "No policy tells this channel")
	uitest.HasNot(t, page, "/test", "/edit", "/delete", "/escalations/new")
	first := "/settings/escalations/new?channel=hook&amp;name=default"
	has(t, w.Get("admin", path), http.StatusOK, first)
	has(t, w.Get("admin", html.UnescapeString(first)), http.StatusOK, `name="steps[0].channels" value="hook" checked`, `name="steps[0].delay"`, `value="0"`)
	for _, at := range []string{path, path + "/edit", "/settings/channels", "/settings", "/settings/data"} {
		uitest.HasNot(t, w.Get("admin", at), secrets...)
	}
	tested := w.Post("admin", path+"/test", nil)
	has(t, tested, http.StatusOK, "202 Accepted")
	if part := w.Post("admin", path+"/test", nil, "HX-Request", "true"); strings.Contains(part.Body, "<html") || !strings.Contains(part.Body, "202 Accepted") {
		t.Errorf("the part is %d\n%s", part.Status, part.Body)
	}
	if got := w.Post("admin", path+"/delete", nil); got.Status != http.StatusSeeOther {
		t.Errorf("deleted: %d", got.Status)
	}
	has(t, w.Get("admin", path), http.StatusNotFound)
}

// TestChannelKeepsSecrets: what is left blank stays, unless it would go elsewhere.
func TestChannelKeepsSecrets(t *testing.T) {
	w := uitest.New(t)
	path := channel(t, w, "hook")
	form := w.Get("admin", path+"/edit")
	has(t, form, http.StatusOK, "One is stored", `value="text/plain"`)
	uitest.HasNot(t, form, secrets...)
	got := w.Post("admin", path, url.Values{"type": {"webhook"}, "name": {"renamed"}, "settings.content_type": {"text/html"}})
	if got.Status != http.StatusSeeOther {
		t.Fatalf("edited: %d\n%s", got.Status, got.Body)
	}
	stored, err := w.Ops.ChannelSettings(t.Context(), w.Actor("admin"), 1)
	if err != nil {
		t.Fatal(err)
	}
	if stored.Name != "renamed" || stored.Open["content_type"] != "text/html" || strings.Join(stored.Kept, " ") != "headers secret url" {
		t.Errorf("stored: %+v", stored)
	}
	moved := w.Post("admin", path, url.Values{"type": {"webhook"}, "name": {"renamed"}, "settings.url": {"https://elsewhere.example.com/"}})
	has(t, moved, http.StatusUnprocessableEntity, `id="f-settings.secret-problem"`)
	uitest.HasNot(t, moved, "elsewhere.example.com")
}

// TestChannelProof: to change a channel that a policy tells takes a proof, and it cannot
// be deleted.
func TestChannelProof(t *testing.T) {
	w := uitest.New(t)
	path := channel(t, w, "hook")
	policy(t, w, "default", "hook")
	has(t, w.Get("admin", path), http.StatusOK, "It cannot be deleted while a policy tells it")
	has(t, w.Get("admin", path+"/edit"), http.StatusOK, "takes a proof", "proof_password")
	got := w.Post("admin", path+"/delete", nil)
	has(t, got, http.StatusConflict, "tells the channel")
	change := url.Values{"type": {"webhook"}, "name": {"hook"}, "settings.content_type": {"text/html"}}
	has(t, w.Post("admin", path, change), http.StatusForbidden, "proof_password")
	stored, err := w.Ops.ChannelSettings(t.Context(), w.Actor("admin"), 1)
	if err != nil || stored.Open["content_type"] != "text/plain" {
		t.Errorf("stored: %+v, %v", stored, err)
	}
	if got := w.Post("admin", path, proven(w, "admin", change)); got.Status != http.StatusSeeOther {
		t.Errorf("with a proof: %d\n%s", got.Status, got.Body)
	}
}

func TestDeliveries(t *testing.T) {
	w := uitest.New(t)
	path := channel(t, w, "hook")
	sent := []watch.Notification{{Key: "k/triggered/0.0/hook", Incident: 1, Channel: "hook", Phase: watch.Triggered, At: time.Now(), Status: watch.Pending}}
	err := w.Store.InTx(t.Context(), func(tx *store.Tx) error {
		fresh, err := tx.InsertNotifications(t.Context(), sent)
		if err != nil {
			return err
		}
		return tx.RecordDelivery(t.Context(), watch.Delivery{
			Notification: fresh[0].ID, Channel: "hook", Key: sent[0].Key, Attempt: 2, At: time.Now(),
			Detail: "answered 503 <script>alert(1)</script>", DurationMs: 12.4,
		}, watch.Failed)
	})
	if err != nil {
		t.Fatal(err)
	}
	page := w.Get("viewer", path)
	has(t, page, http.StatusOK, "answered 503", "Failed", "12 ms")
	uitest.HasNot(t, page, "<script>alert")
	has(t, w.Get("viewer", "/settings/channels"), http.StatusOK, "Failed")
	has(t, w.Get("viewer", "/settings"), http.StatusOK, "The last delivery of 1 failed")
}

func TestPolicies(t *testing.T) {
	w := uitest.New(t)
	channel(t, w, "hook")
	m := w.Monitor("search")
	has(t, w.Get("viewer", "/settings/escalations"), http.StatusOK, "There is no policy called default")
	has(t, w.Get("admin", "/settings/escalations/new?name=default"), http.StatusOK, `value="default"`, `value="hook"`)

	save := func(form url.Values) uitest.Answer { return w.Post("admin", "/settings/escalations/save", form) }
	form := url.Values{"name": {"default"}, "on": {"down", "changed", "inconsistent", "flagged"}, "steps": {"1"}, "steps[0].delay": {"0"}, "steps[0].channels": {"hook"}, "repeat": {"0"}}
	with := func(change url.Values) url.Values {
		out := url.Values{}
		for _, values := range []url.Values{form, change} {
			for name, value := range values {
				out[name] = value
			}
		}
		return out
	}
	added := save(with(url.Values{"do": {"add"}}))
	has(t, added, http.StatusOK, `name="steps[1].delay"`, `name="steps" value="2"`)
	two := url.Values{"steps": {"2"}, "steps[1].delay": {"7m"}, "steps[1].channels": {"hook"}, "do": {"remove-0"}}
	removed := save(with(two))
	has(t, removed, http.StatusOK, `name="steps[0].delay"`, `value="7m"`)
	uitest.HasNot(t, removed, `name="steps[1].delay"`)
	has(t, save(with(url.Values{"steps[0].delay": {"soon"}})), http.StatusUnprocessableEntity, `id="f-steps[0].delay-problem"`)
	has(t, save(with(url.Values{"steps[0].channels": {"none"}})), http.StatusUnprocessableEntity, "there is no channel")
	has(t, save(with(url.Values{"on": nil})), http.StatusUnprocessableEntity, "choose at least one state")
	has(t, save(with(url.Values{"repeat": {"x"}})), http.StatusUnprocessableEntity, `id="f-repeat-problem"`)
	if got := save(form); got.Status != http.StatusSeeOther {
		t.Fatalf("saved: %d\n%s", got.Status, got.Body)
	}
	has(t, save(form), http.StatusUnprocessableEntity, "is taken")

	page := w.Get("viewer", "/settings/escalations/policy?name=default&state=changed")
	has(t, page, http.StatusOK, "At once", "hook", m.Definition.Name, "Nothing was sent")
	uitest.HasNot(t, page, "/settings/escalations/edit", "Nobody would be told")
	has(t, w.Get("viewer", "/settings/escalations/policy?name=default&state=blind"), http.StatusOK, "Nobody would be told")

	preview := w.Post("admin", "/settings/escalations/preview", with(url.Values{"repeat": {"3"}, "steps[0].delay": {"10m"}}), "HX-Request", "true")
	has(t, preview, http.StatusOK, "After 10m", "Then 3 times more")
	uitest.HasNot(t, preview, "<html")

	quiet := with(url.Values{"known": {"yes"}, "on": {"down"}})
	has(t, save(quiet), http.StatusForbidden, "That takes a proof", "proof_password")
	if got := save(proven(w, "admin", quiet)); got.Status != http.StatusSeeOther {
		t.Errorf("with a proof: %d\n%s", got.Status, got.Body)
	}
}

func TestDeletePolicy(t *testing.T) {
	w := uitest.New(t)
	channel(t, w, "hook")
	policy(t, w, "team", "hook")
	policy(t, w, "default", "hook")
	w.Monitor("search", func(m *watch.Monitor) { m.Definition.Escalation = "team" })
	at := "/settings/escalations/delete"
	has(t, w.Post("admin", at, url.Values{"name": {"team"}}), http.StatusConflict, "follows the policy")
	has(t, w.Post("admin", at, url.Values{"name": {"default"}}), http.StatusForbidden, "proof")
	if got := w.Post("admin", at, proven(w, "admin", url.Values{"name": {"default"}})); got.Status != http.StatusSeeOther {
		t.Errorf("with a proof: %d\n%s", got.Status, got.Body)
	}
	has(t, w.Post("admin", at, url.Values{"name": {"default"}}), http.StatusNotFound)
}

func TestWindows(t *testing.T) {
	w := uitest.New(t)
	w.Monitor("search")
	has(t, w.Get("viewer", "/settings/windows"), http.StatusOK, "No time is planned")
	has(t, w.Get("editor", "/settings/windows/new?monitor=search&kind=expected-change"), http.StatusOK, ">search</textarea>")
	add := func(form url.Values) uitest.Answer { return w.Post("editor", "/settings/windows", form) }
	at := time.Now().UTC().Add(-time.Hour)
	local := func(t time.Time) string { return t.Format("2006-01-02T15:04") }
	once := url.Values{"name": {"deploy"}, "kind": {"maintenance"}, "repeats": {"once"}, "start": {local(at)}, "end": {local(at.Add(3 * time.Hour))}, "zone": {"UTC"}, "monitors": {"search\r\n"}}
	if got := add(once); got.Status != http.StatusSeeOther {
		t.Fatalf("a window: %d\n%s", got.Status, got.Body)
	}
	list := w.Get("viewer", "/settings/windows")
	has(t, list, http.StatusOK, "Open now", "deploy", "Monitors: search", "1 monitor now")
	uitest.HasNot(t, list, "/edit", "/delete")
	for field, change := range map[string]url.Values{
		"start":    {"start": {"tomorrow"}},
		"end":      {"end": {local(at.Add(-time.Hour))}},
		"zone":     {"zone": {"Europe/Nowhere"}},
		"monitors": {"monitors": {"none"}},
		"from":     {"repeats": {"weekly"}, "days": {"mon"}, "for": {"2h"}, "from": {"25:00"}},
		"for":      {"repeats": {"weekly"}, "days": {"mon"}, "from": {"10:00"}, "for": {"long"}},
	} {
		form := url.Values{}
		for name, value := range once {
			form[name] = value
		}
		for name, value := range change {
			form[name] = value
		}
		has(t, add(form), http.StatusUnprocessableEntity, `id="f-`+field+`-problem"`)
	}
	edit := url.Values{"name": {"night"}, "kind": {"maintenance"}, "repeats": {"weekly"}, "days": {"mon", "fri"}, "from": {"22:00"}, "for": {"2h"}, "zone": {"Europe/Berlin"}}
	if got := w.Post("editor", "/settings/windows/1", edit); got.Status != http.StatusSeeOther {
		t.Fatalf("edited: %d\n%s", got.Status, got.Body)
	}
	has(t, w.Get("viewer", "/settings/windows"), http.StatusOK, "Mon, Fri from 22:00 for 2h, in Europe/Berlin", "Every monitor")
	has(t, w.Get("editor", "/settings/windows/1/edit"), http.StatusOK, `value="weekly" checked`, `value="fri" checked`, `value="2h"`)
	if got := w.Post("editor", "/settings/windows/1/delete", nil); got.Status != http.StatusSeeOther {
		t.Errorf("deleted: %d", got.Status)
	}
}

// TestExpectedChange takes a proof, and says that it approves nothing.
func TestExpectedChange(t *testing.T) {
	w := uitest.New(t)
	at := time.Now().UTC()
	form := url.Values{
		"name": {"release"}, "kind": {"expected-change"}, "repeats": {"once"}, "zone": {"UTC"},
		"start": {at.Format("2006-01-02T15:04")}, "end": {at.Add(time.Hour).Format("2006-01-02T15:04")},
	}
	has(t, w.Post("approver", "/settings/windows", form), http.StatusForbidden, "approves nothing", "proof_password")
	if got := w.Post("approver", "/settings/windows", proven(w, "approver", form)); got.Status != http.StatusSeeOther {
		t.Errorf("with a proof: %d\n%s", got.Status, got.Body)
	}
	has(t, w.Get("viewer", "/settings/windows"), http.StatusOK, "release", "Expected change")
}

func TestLocations(t *testing.T) {
	w := uitest.New(t)
	has(t, w.Get("viewer", "/settings/locations"), http.StatusOK, "Nothing is checked from anywhere")
	w.Monitor("search", func(m *watch.Monitor) { m.Definition.Locations = []string{"local", "frankfurt"} })
	page := w.Get("viewer", "/settings/locations")
	has(t, page, http.StatusOK, "frankfurt", "local", "Checks run", `href="/settings/channels"`)
	uitest.HasNot(t, page, `href="/settings/people"`, `href="/settings/keys"`, `href="/settings/audit"`)
	has(t, w.Get("admin", "/settings/locations"), http.StatusOK, `href="/settings/people"`, `href="/settings/keys"`, `href="/settings/audit"`)
}

func TestData(t *testing.T) {
	w := uitest.New(t)
	page := w.Get("viewer", "/settings/data")
	has(t, page, http.StatusOK, "SQLite", "--keep-results", "2d", "mcpvigil restore")
	uitest.HasNot(t, page, `action="/settings/data/backup"`, "/settings/data/export")
	has(t, w.Get("admin", "/settings/data/export"), http.StatusNotFound, "no monitor was made")
	channel(t, w, "hook")
	w.Monitor("search")
	export := w.Get("admin", "/settings/data/export")
	has(t, export, http.StatusOK, "search", "hook")
	uitest.HasNot(t, export, secrets...)
	if got := export.Header.Get("Content-Disposition"); got != `attachment; filename="mcpvigil-export.yaml"` {
		t.Errorf("the export is %q", got)
	}
}

func TestBackup(t *testing.T) {
	w := uitest.New(t)
	at := "/settings/data/backup"
	has(t, w.Post("admin", at, nil), http.StatusForbidden, "a backup needs the proof of a person", `action="/settings/data/backup"`)
	got := w.Post("admin", at, proven(w, "admin", nil))
	if got.Status != http.StatusOK || !strings.HasPrefix(got.Body, "SQLite format 3\x00") || !strings.Contains(got.Header.Get("Content-Disposition"), ".db\"") {
		t.Fatalf("the backup: %d, %q, %d bytes", got.Status, got.Header.Get("Content-Disposition"), len(got.Body))
	}
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Error("a backup may be kept by browsers")
	}
	has(t, w.Get("admin", "/settings/data"), http.StatusOK)

	proof := func() ops.Proof {
		form := w.Proof("admin")
		return ops.Proof{Password: form.Get("proof_password"), Code: form.Get("proof_code")}
	}
	made, err := w.Ops.Backup(t.Context(), w.Actor("admin"), proof())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ops.Backup(t.Context(), w.Actor("admin"), proof()); code(err) != ops.Busy {
		t.Errorf("a second at a time: %v", err)
	}
	if err := made.Close(); err != nil {
		t.Error(err)
	}
}

func code(err error) ops.Code {
	if e, ok := err.(*ops.Error); ok { //nolint:errorlint // package ops gives it as it is
		return e.Code
	}
	return ""
}

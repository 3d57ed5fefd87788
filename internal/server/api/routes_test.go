package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
)

// Who may use what, written down a second time: a change of the table in the code has to
// be meant.
var (
	anybody  = []string{"none", "expired key", "revoked key", "expired session", "revoked session", "session viewer", "session editor", "session approver", "session admin", "key viewer", "key editor", "key admin"}
	readers  = anybody[5:]
	writers  = []string{"session editor", "session approver", "session admin", "key editor", "key admin"}
	admins   = []string{"session admin", "key admin"}
	persons  = []string{"session viewer", "session editor", "session approver", "session admin"}
	accepter = []string{"session approver", "session admin"}
	owner    = []string{"session admin"}
)

func permitted() map[string][]string {
	out := map[string][]string{}
	for ids, who := range map[string][]string{
		"setup signIn": anybody,
		"getMe getOpenAPI listMonitors getMonitor getMonitorByExternalID reviewMonitor listApprovals listLocations listEvents listResults listRollups " +
			"getUptime listReports listSurfaces getSurfaceAt getSurface search listIncidents getIncident listNotifications listChannelTypes " +
			"listStatusPages getStatusPage listChannels getChannel listDeliveries listEscalations getEscalation listWindows getWindow": readers,
		"createMonitor editMonitor deleteMonitor pauseMonitor resumeMonitor runMonitor putMonitor acknowledgeIncident " +
			"assignIncident commentIncident snoozeIncident putStatusPage deleteStatusPage " +
			"createWindow putWindow deleteWindow": writers,
		"exportAudit getAuditState endSessions export createChannel putChannel deleteChannel testChannel putEscalation deleteEscalation listAccounts listKeys revokeKey listAudit": admins,
		"signOut listSessions revokeSession editAccount getFactors beginTOTP confirmTOTP removeTOTP newRecoveryCodes":                                                              persons,
		"acceptSurface withdrawApprovals withdrawProposal rejectSurface":                                                                                                           accepter,
		"createAccount createKey resetFactors": owner,
	} {
		for _, id := range strings.Fields(ids) {
			out[id] = who
		}
	}
	return out
}

// ended makes credentials that do not count any more.
func (w *world) ended() {
	w.t.Helper()
	ctx, admin := context.Background(), w.credentials["session admin"]
	var key struct {
		ID  int64
		Key string
	}
	w.request("POST", "/keys", admin, map[string]any{"name": "soon", "role": "admin", "expires_at": w.now().Add(2 * time.Second), "password": password}, http.StatusCreated, &key)
	w.credentials["expired key"] = key.Key
	w.request("POST", "/keys", admin, map[string]any{"name": "gone", "role": "admin", "password": password}, http.StatusCreated, &key)
	w.request("DELETE", path("/keys/%d", key.ID), admin, nil, http.StatusNoContent, nil)
	w.credentials["revoked key"] = key.Key
	short := people.New(w.store.People(), people.Options{Now: w.now, SessionMax: time.Second})
	token, _, err := short.Login(ctx, "admin", password, w.codes[admin](), "192.0.2.1", "test")
	if err != nil {
		w.t.Fatal(err)
	}
	w.credentials["expired session"] = "cookie:" + token
	w.credentials["revoked session"] = w.signIn("admin")
	w.request("DELETE", "/session", w.credentials["revoked session"], nil, http.StatusNoContent, nil)
	w.offset.Add(int64(3 * time.Second))
}

func TestRoutesByRole(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	w.ended()
	want := permitted()
	for _, r := range api.Routes() {
		may, ok := want[r.OperationID]
		if !ok {
			t.Errorf("%s is not in the table of this test", r.OperationID)
			continue
		}
		delete(want, r.OperationID)
		for _, who := range anybody {
			t.Run(r.OperationID+"/"+strings.ReplaceAll(who, " ", "-"), func(t *testing.T) { w.tryRoute(t, &r, who, may) })
		}
	}
	for id := range want {
		t.Errorf("there is no route %s", id)
	}
}

func (w *world) tryRoute(t *testing.T, r *api.Route, who string, may []string) {
	credential := w.credentials[who]
	if r.OperationID == "signOut" && contains(may, who) {
		credential = w.signIn(strings.TrimPrefix(who, "session "))
	}
	address := strings.NewReplacer("{id}", "987654", "{name}", "nobody", "{slug}", "nobody", "{proposal}", "987654", "{external_id}", "nothing", "{digest}", "sha256:00").Replace(r.Path)
	a := w.send(r.Method, address, credential, strings.NewReader(`{"unknown_member":1}`))
	var p api.Problem
	if a.status >= 400 {
		if err := json.Unmarshal(a.body, &p); err != nil {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
	}
	refused := a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
	switch credentialed := strings.HasPrefix(who, "session ") || strings.HasPrefix(who, "key "); {
	case contains(may, who):
		if refused || a.status >= 500 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	case !credentialed:
		if a.status != http.StatusUnauthorized || p.Code != "unauthenticated" || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("status %d, want 401 with a challenge: %s", a.status, a.body)
		}
	default:
		wantCode := "forbidden"
		if strings.HasPrefix(who, "key ") && (contains(persons, "session "+strings.TrimPrefix(who, "key ")) && (r.Person || r.Permission == people.Approve)) {
			wantCode = "proof-required"
		}
		if a.status != http.StatusForbidden || p.Code != wantCode {
			t.Errorf("status %d and code %q, want 403 and %q: %s", a.status, p.Code, wantCode, a.body)
		}
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func TestUnknownAddressesNeedACredential(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	for _, address := range []string{"/nothing", "/", "/monitors/1/nothing", "/openapi.yaml", "/docs", "/schemas/Monitor.json"} {
		w.problem("GET", address, "", nil, http.StatusUnauthorized, "unauthenticated")
		w.problem("GET", address, w.credentials["key viewer"], nil, http.StatusNotFound, "not-found")
	}
	w.problem("DELETE", "/monitors", "", nil, http.StatusUnauthorized, "unauthenticated")
	w.problem("DELETE", "/monitors", w.credentials["key viewer"], nil, http.StatusMethodNotAllowed, "method-not-allowed")
	if got := w.send("DELETE", "/monitors", w.credentials["key viewer"], nil).header.Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow is %q", got)
	}
}

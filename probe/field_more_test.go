package probe_test

import (
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
)

// A success that is not 200 and carries an answer is taken by the clients there
// are, and untidy.
func TestAnswersWithAnotherSuccess(t *testing.T) {
	t.Parallel()
	for status, w := range map[int]want{
		201: {notes: []probe.Reason{"answer-status"}},
		202: {status: probe.StatusUnhealthy, step: probe.StepTools, reason: "empty-response"},
		204: {status: probe.StatusUnhealthy, step: probe.StepTools, reason: "empty-response"},
	} {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("tools/list", fakemcp.Respond(fakemcp.Response{Status: status, Type: "application/json", Body: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]}}`}))
		verify(t, check(t, srv.Target(), probe.Options{}), w)
	}
}

// What strict clients demand of initialize, and what they refuse in it.
func TestServerInfoOfInitialize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result string
		want   want
	}{
		"no version":        {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n"}}`, want{status: probe.StatusUnhealthy, reason: "invalid-initialize"}},
		"a number":          {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":1}}`, want{status: probe.StatusUnhealthy, reason: "invalid-initialize"}},
		"an empty version":  {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":""}}`, want{notes: []probe.Reason{"server-info"}}},
		"null instructions": {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1","title":null},"instructions":null}`, want{notes: []probe.Reason{"null-field"}}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("initialize", fakemcp.Result(c.result))
			srv.Allow("initialized", "version", "session", "delete")
			verify(t, check(t, srv.Target(), probe.Options{}), c.want)
		})
	}
}

// Messages over several lines are the server's mistake, and not a slow start.
func TestMessagesThatSpanLines(t *testing.T) {
	t.Parallel()
	spread := fakemcp.Reply{Raw: []byte("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": $ID,\n  \"result\": {}\n}\n")}
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"server/discover": spread, "initialize": spread}})
	r := check(t, proc.Target(), probe.Options{StartupTimeout: 500 * time.Millisecond, CheckTimeout: 300 * time.Millisecond})
	verify(t, r, want{status: probe.StatusUnhealthy, reason: "malformed-message", text: []string{"span several lines"}})
}

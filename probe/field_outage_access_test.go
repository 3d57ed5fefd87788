package probe_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
)

// A server that is down is down, whatever its login would have come to.
func TestDesignADownServerBehindALogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(l *login, endpoint *string)
		reason probe.Reason
	}{
		"closed port": {func(_ *login, endpoint *string) { *endpoint = "http://127.0.0.1:1/mcp" }, "connection-refused"},
		"502":         {func(l *login, _ *string) { l.mcp.OnHTTP("POST", fakemcp.Text(502, "text/plain", "bad gateway")) }, "http-5xx"},
	} {
		t.Run(name, func(t *testing.T) {
			l := (&login{}).start(t)
			tgt := l.machine()
			c.spoil(l, &tgt.Endpoint)
			r := check(t, tgt, probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, reason: c.reason})
		})
	}
}

// Waiting for a token says nothing about the server behind the login.
func TestDesignASlowLoginIsNoOutage(t *testing.T) {
	t.Parallel()
	l := (&login{token: func(url.Values) (int, string) {
		time.Sleep(5 * time.Second) // longer than the grace that a token request has
		return 500, ""
	}}).start(t)
	r := check(t, l.machine(), probe.Options{CheckTimeout: 300 * time.Millisecond, Timeout: time.Second})
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepAuthentication, reason: "server-unavailable"})
}

// Package wire speaks the Model Context Protocol as a client that checks: it is
// strict about what it accepts, keeps the raw bytes of every result, and says
// for each failure what happened in a stable reason code.
//
// It covers the revisions 2024-11-05 to 2026-07-28 over Streamable HTTP, stdio
// and the HTTP+SSE transport of 2024-11-05. A [Session] is opened by [Open],
// which finds out the era of the server; all of a session's methods are bounded
// by their context and by [Limits].
//
// What a server says is untrusted. A [Note] is safe to show; the texts of an
// [Error] and raw results are not, until they have been through the redactor and
// internal/plain.
package wire

import (
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// The protocol revisions.
const (
	Rev20241105 = "2024-11-05"
	Rev20250326 = "2025-03-26"
	Rev20250618 = "2025-06-18"
	Rev20251125 = "2025-11-25"
	Rev20260728 = "2026-07-28"
)

// Revisions returns every revision this package speaks, oldest first.
func Revisions() []string {
	return []string{Rev20241105, Rev20250326, Rev20250618, Rev20251125, Rev20260728}
}

// Known reports whether this package speaks rev.
func Known(rev string) bool { return slices.Contains(Revisions(), rev) }

// Modern reports whether rev is stateless: 2026-07-28 or later. Revisions are
// dates and compare as text.
func Modern(rev string) bool { return rev >= Rev20260728 }

// Era is the family of revisions a session speaks.
type Era string

// The eras.
const (
	EraModern Era = "modern" // stateless, opened by server/discover
	EraLegacy Era = "legacy" // opened by initialize
)

// Implementation names a client or a server.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title,omitempty"`
}

// Limits bound what is read from a server.
type Limits struct {
	// ResponseBytes bounds one response, after decoding; its resumptions share
	// the budget. Also the longest line of a stdio server.
	ResponseBytes int64
	// Pages and Entries bound one inventory.
	Pages, Entries int
}

// Config is what a session needs to know beside its transport.
type Config struct {
	// Client is sent as clientInfo.
	Client Implementation
	// Extensions are declared among the client's capabilities in modern requests.
	Extensions []string
	// Pin is the one revision to speak. Empty: negotiate.
	Pin    string
	Limits Limits
	// Budget is the time of one step. Half of it is how long a stdio server
	// may leave server/discover unanswered before initialize is sent as well.
	Budget time.Duration
	// First bounds the first exchange over HTTP, from the connection to the
	// answer, inside the context of the opening. Zero: nothing of its own.
	First time.Duration
	// Startup bounds the time from the start of a stdio server to its first
	// message. It is outside of every other budget.
	Startup time.Duration
	// Redact replaces the run's secrets in everything that is quoted.
	Redact *plain.Redactor
	// Log receives notes and exchanges. It must not be nil.
	Log *Log
}

// quote makes text of the server fit to be quoted: without the run's secrets,
// which must go before a cut could leave a part of one, and safe to show.
func (c Config) quote(text string, most int) string {
	return plain.Line(c.Redact.String(text), most)
}

// clip is for places that know no secrets: it cuts text against floods and
// leaves it as it is otherwise. Text in an [Error] is therefore not safe to show
// until it has been through [Config.quote] or its like, which takes secrets out
// before it escapes and cuts.
func clip(text string) string {
	const most = 4000 // bytes, far more than any report shows
	if len(text) <= most {
		return text
	}
	return text[:most]
}

// lazily compiles a pattern when it is first used. Most checks use none of them,
// and compiling all is a tenth of what the command costs.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

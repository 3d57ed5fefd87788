// Package cspreport takes what browsers report when the policy of a page kept something
// from happening: somebody tried to have a page do what it must not, or a page is wrong.
package cspreport

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

const (
	maxBody = 16 << 10
	// maxKnown bounds how many different reports are logged in the life of a process.
	maxKnown = 200
	// maxReports are taken of one request.
	maxReports = 20
	maxPath    = 200
)

// Reports takes reports. Anybody can send one: what is in it is believed by nobody, cut,
// and logged once. It is safe for concurrent use.
type Reports struct {
	log     *slog.Logger
	limiter *web.Limiter
	count   atomic.Uint64

	mu    sync.Mutex
	known map[string]bool
}

// New makes one that logs to log.
func New(log *slog.Logger, now func() time.Time) *Reports {
	return &Reports{log: log, limiter: web.NewLimiter(1, 20, now), known: map[string]bool{}}
}

// Count is how many reports were taken.
func (r *Reports) Count() uint64 { return r.count.Load() }

// report is what is read of one, in both forms that browsers send.
type report struct {
	Document, Directive, Blocked string
}

// ServeHTTP takes the reports of a request.
func (r *Reports) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if wait := r.limiter.Take(web.Address(q)); wait > 0 {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	reports, err := read(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, one := range reports {
		r.count.Add(1)
		if r.first(one) {
			r.log.WarnContext(q.Context(), "the policy of a page kept something from happening",
				"path", one.Document, "directive", one.Directive, "blocked", one.Blocked)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// first tells whether such a report is the first of its kind.
func (r *Reports) first(one report) bool {
	key := one.Directive + " " + one.Document
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[key] || len(r.known) >= maxKnown {
		return false
	}
	r.known[key] = true
	return true
}

// read understands {"csp-report": {…}} and [{"type": "csp-violation", "body": {…}}].
func read(body []byte) ([]report, error) {
	var old struct {
		Report *struct {
			Document  string `json:"document-uri"`
			Effective string `json:"effective-directive"`
			Violated  string `json:"violated-directive"`
			Blocked   string `json:"blocked-uri"`
		} `json:"csp-report"`
	}
	if err := json.Unmarshal(body, &old); err == nil && old.Report != nil {
		directive := old.Report.Effective
		if directive == "" {
			directive = old.Report.Violated
		}
		return []report{{pathOf(old.Report.Document), word(directive), place(old.Report.Blocked)}}, nil
	}
	var list []struct {
		Type string `json:"type"`
		Body struct {
			Document  string `json:"documentURL"`
			Directive string `json:"effectiveDirective"`
			Blocked   string `json:"blockedURL"`
		} `json:"body"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var out []report
	for _, one := range list[:min(len(list), maxReports)] {
		if one.Type == "csp-violation" {
			out = append(out, report{pathOf(one.Body.Document), word(one.Body.Directive), place(one.Body.Blocked)})
		}
	}
	return out, nil
}

// pathOf is the path of a page, without what stands in its query.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	return plain.Line(u.Path, maxPath)
}

// place is where something would have come from: inline, or a scheme and a host.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	if u.Host != "" {
		return plain.Line(u.Scheme+"://"+u.Host, maxPath)
	}
	return word(address)
}

// word is the first word of a text, of letters and dashes.
func word(s string) string {
	s, _, _ = strings.Cut(s, " ")
	s = strings.Map(func(c rune) rune {
		if c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return -1
	}, s)
	return s[:min(len(s), 40)]
}

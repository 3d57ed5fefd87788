package peoplepages

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

const (
	auditRows  = 100
	exportTime = 2 * time.Minute
)

// auditPage is a part of the audit, the latest first.
type auditPage struct {
	actor, action, after string
	list                 ops.Page[people.AuditEntry]
}

// more is the address of the part that follows.
func (a auditPage) more() string {
	query := url.Values{"after": {a.list.Next}}
	if a.actor != "" {
		query.Set("actor", a.actor)
	}
	if a.action != "" {
		query.Set("action", a.action)
	}
	return "/settings/audit?" + query.Encode()
}

func (p *pages) audit(q *shell.Request) error {
	v := auditPage{actor: q.Asked("actor"), action: q.Asked("action"), after: q.Asked("after")}
	filter := ops.AuditFilter{Actor: v.actor, Action: v.action, Limit: auditRows}
	if v.after != "" {
		var err error
		if filter.After, err = strconv.ParseInt(v.after, 10, 64); err != nil {
			return shell.NotFound(q)
		}
	}
	var err error
	if v.list, err = p.Ops.AuditLog(q.Context(), q.Actor, filter); err != nil {
		return err
	}
	if q.Partial() {
		return q.Part(auditPart(v))
	}
	return q.Show(shell.Page{Title: q.T("Audit"), Section: "settings", Body: auditBody(q, v)})
}

// chain follows the chain of all entries, which takes a while where there are many.
func (p *pages) chain(q *shell.Request) error {
	check, err := p.Ops.CheckAudit(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	if q.Partial() {
		return q.Part(chainPart(check))
	}
	return q.Show(shell.Page{Title: q.T("Audit"), Section: "settings", Body: chainBody(check)})
}

// export sends all entries, the oldest first, a line of JSON each.
func (p *pages) export(q *shell.Request) error {
	// A browser that reads slowly must not keep the transaction for long.
	_ = http.NewResponseController(q.Writer()).SetWriteDeadline(time.Now().Add(exportTime))
	sent := &download{q: q}
	w := bufio.NewWriterSize(sent, 64<<10)
	err := p.Ops.AuditExport(q.Context(), q.Actor, w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil && sent.begun { // half a file was sent
		if q.Context().Err() == nil {
			q.Warn(q.Context(), "an export of the audit ended early", err)
		}
		return nil
	}
	return err
}

// download is an answer that becomes a file with its first byte, and not when there is
// an error to be shown before.
type download struct {
	q     *shell.Request
	begun bool
}

func (d *download) Write(b []byte) (int, error) {
	if !d.begun {
		d.begun = true
		h := d.q.Writer().Header()
		h.Set("Content-Type", "application/jsonl; charset=utf-8")
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="mcpvigil-audit-%s.jsonl"`, d.q.Now().Format("20060102-150405")))
	}
	return d.q.Writer().Write(b)
}

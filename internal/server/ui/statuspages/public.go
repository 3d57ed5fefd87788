package statuspages

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	perPart = 100 // monitors are shown at a time
	// openFor is how long who gave the password need not give it again.
	openFor = 7 * 24 * time.Hour
)

// publicPage is what a part of a page shows.
type publicPage struct {
	*ops.Public
	shown  []ops.PublicMonitor
	past   map[int64]*past
	text   string // that names have to hold
	found  int
	part   int // from 1 on
	module string
	style  string
	icon   string
}

// parts is how many parts there are of what was found.
func (p publicPage) parts() int { return max(1, (p.found+perPart-1)/perPart) }

// public shows a page, or its JSON.
func (a *area) public(q *shell.Request) error {
	slug, asJSON := strings.CutSuffix(q.PathValue("slug"), ".json")
	page, err := a.visible(q, slug)
	if err != nil {
		return err
	}
	if page == nil || !page.Listed || page.Password != "" {
		q.Writer().Header().Set("X-Robots-Tag", "noindex")
	}
	switch {
	case page == nil && asJSON:
		return q.JSON(http.StatusNotFound, []byte(`{"error":"there is no open page at this address"}`))
	case page == nil:
		return a.locked(q, http.StatusNotFound, "")
	}
	p, err := a.partOf(q, page)
	switch {
	case err != nil:
		return err
	case asJSON:
		text, err := json.Marshal(outside(p))
		if err != nil {
			return err
		}
		return q.JSON(http.StatusOK, text)
	case q.Partial():
		return q.Part(content(p))
	}
	return q.Own(http.StatusOK, frame(p, q.Language.Tag, content(p)))
}

// visible is the page of a slug, if there is one and who asks may see it. Otherwise it is
// nil: which of both it is, nobody is told, neither by how long it takes. So the page is
// read when it is known that it may be seen.
func (a *area) visible(q *shell.Request, slug string) (*ops.Public, error) {
	mark, there, err := a.mark(q, slug)
	if err != nil || !there || !a.opened(q, slug, mark.Password) {
		return nil, err
	}
	page, err := a.exists(q, slug)
	if err != nil || page == nil || page.Password == mark.Password || a.opened(q, slug, page.Password) {
		return page, err
	}
	return nil, nil //nolint:nilnil // it got another password meanwhile
}

// mark is what is known of a page before it is read, and whether there is the page.
func (a *area) mark(q *shell.Request, slug string) (m ops.PageMark, there bool, err error) {
	if !watch.Slug(slug) {
		return m, false, nil
	}
	m, err = a.ops.PageMark(q.Context(), slug)
	if refused := shell.Refusal(err); refused != nil && refused.Code == ops.NotFound {
		return m, false, nil
	}
	return m, err == nil, err
}

// opened tells whether who asks may see the page with that lock.
func (a *area) opened(q *shell.Request, slug, lock string) bool {
	return lock == "" || q.Session != nil && q.Actor.Can(people.Read) || a.remembered(q, slug, lock)
}

// exists is the page of a slug, or nil.
func (a *area) exists(q *shell.Request, slug string) (*ops.Public, error) {
	if !watch.Slug(slug) {
		return nil, nil //nolint:nilnil // as above
	}
	page, err := a.pages.page(q.Context(), slug)
	if refused := shell.Refusal(err); refused != nil && refused.Code == ops.NotFound {
		return nil, nil //nolint:nilnil // as above
	}
	return page, err
}

// locked asks for a password, whether there is a page that has one or not.
func (a *area) locked(q *shell.Request, status int, problem string) error {
	p := publicPage{Public: &ops.Public{Title: q.T("Status")}, style: q.Asset("app.css"), icon: q.Asset("icon.svg")}
	return q.Own(status, frame(p, q.Language.Tag, password(problem)))
}

// unlock takes the password of a page.
func (a *area) unlock(q *shell.Request) error {
	slug := q.PathValue("slug")
	if wait := a.passwords.Take(web.Address(q.Request)); wait > 0 {
		return &ops.Error{Code: ops.TooMany, Text: q.T("too many passwords"), Hint: q.T("wait a moment"), RetryAfter: wait}
	}
	mark, _, err := a.mark(q, slug)
	if err != nil {
		return err
	}
	ok, err := a.ops.OpensPage(q.Context(), mark.Password, q.PostFormValue("password"))
	if err != nil {
		return err
	}
	q.Writer().Header().Set("X-Robots-Tag", "noindex")
	if !ok {
		return a.locked(q, http.StatusUnauthorized, q.T("That opens no page here."))
	}
	until := q.Now().Add(openFor)
	http.SetCookie(q.Writer(), &http.Cookie{
		Name: cookieOf(slug), Value: ticket(slug, mark.Password, until), Path: "/status", Expires: until,
		HttpOnly: true, Secure: q.Secure(), SameSite: http.SameSiteLaxMode,
	})
	return q.Go("/status/"+slug, "")
}

func cookieOf(slug string) string { return "mcpvigil_page_" + slug }

// ticket shows until a time that somebody gave the password of a page. Another password
// ends it.
func ticket(slug, lock string, until time.Time) string {
	at := strconv.FormatInt(until.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(lock))
	_, _ = mac.Write([]byte("status page\x00" + slug + "\x00" + at))
	return at + "." + hex.EncodeToString(mac.Sum(nil))
}

// remembered tells whether the password was given before.
func (a *area) remembered(q *shell.Request, slug, lock string) bool {
	cookie, err := q.Cookie(cookieOf(slug))
	if err != nil {
		return false
	}
	at, _, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || seconds <= q.Now().Unix() {
		return false
	}
	return hmac.Equal([]byte(cookie.Value), []byte(ticket(slug, lock, time.Unix(seconds, 0))))
}

// partOf is the part of a page that is asked for.
func (a *area) partOf(q *shell.Request, page *ops.Public) (publicPage, error) {
	v := q.URL.Query()
	p := publicPage{
		Public: page, text: q.Asked("q"),
		module: q.Asset("status.js"), style: q.Asset("app.css"), icon: q.Asset("icon.svg"),
	}
	found := page.Monitors
	if p.text != "" {
		found = nil
		for _, m := range page.Monitors {
			if strings.Contains(strings.ToLower(m.Name), strings.ToLower(p.text)) {
				found = append(found, m)
			}
		}
	}
	p.found = len(found)
	n, err := strconv.Atoi(v.Get("part"))
	if err != nil {
		n = 1
	}
	p.part = min(max(n, 1), p.parts())
	p.shown = found[min(len(found), (p.part-1)*perPart):min(len(found), p.part*perPart)]
	p.past, err = a.pages.pasts(q.Context(), page.Slug, idsOf(p.shown))
	return p, err
}

func idsOf(monitors []ops.PublicMonitor) []int64 {
	ids := make([]int64, 0, len(monitors))
	for i := range monitors {
		ids = append(ids, monitors[i].ID)
	}
	return ids
}

// outsideMonitor is a monitor in the JSON of a page.
type outsideMonitor struct {
	ops.PublicMonitor
	// Uptime is that of 90 days, and Days that of each, today's last; null: not known.
	Uptime *float64   `json:"uptime"`
	Days   []*float64 `json:"days"`
}

// outside is a part of a page as JSON.
func outside(p publicPage) any {
	monitors := make([]outsideMonitor, 0, len(p.shown))
	for _, m := range p.shown {
		one := outsideMonitor{PublicMonitor: m, Days: make([]*float64, ops.PublicDays)}
		if past := p.past[m.ID]; past != nil {
			one.Uptime = past.ratio(ops.PublicDays)
			for i, d := range past.days {
				if d.judged > 0 {
					ratio := float64(d.worked) / float64(d.judged)
					one.Days[i] = &ratio
				}
			}
		}
		monitors = append(monitors, one)
	}
	return struct {
		*ops.Public
		Monitors []outsideMonitor `json:"monitors"`
		Part     int              `json:"part"`
		Parts    int              `json:"parts"`
	}{p.Public, monitors, p.part, p.parts()}
}

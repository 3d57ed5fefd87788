package settings

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

func (a *area) locations(q *shell.Request) error {
	list, err := a.Ops.Locations(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	return show(q, shell.Page{Title: q.T("Locations"), Body: locationList(list.Items, a.About.Locations)}, nil)
}

// kept is how long one kind of data stays.
type kept struct {
	what, flag string
	life       time.Duration
}

func (a *area) kept() []kept {
	r := a.About.Retention.Filled()
	return []kept{
		{"Results of single checks", "--keep-results", r.Raw},
		{"Summaries of five minutes", "--keep-five-minutes", r.FiveMinutes},
		{"Summaries of hours", "--keep-hourly", r.Hourly},
		{"Summaries of days", "--keep-daily", r.Daily},
		{"Events and resolved incidents", "--keep-events", r.Events},
		{"Notifications and deliveries", "--keep-deliveries", r.Deliveries},
		{"What servers told agents, once it is of no use any more", "--keep-surfaces", r.Sightings},
		{"Who did what", "--keep-audit", r.Audit},
	}
}

// dataPage is what is stored.
type dataPage struct {
	ops.Data
	about       About
	kept        []kept
	administers bool
	refused     *ops.Error
}

func (p dataPage) sqlite() bool { return p.Database == ops.SQLite }

func (a *area) data(q *shell.Request) error { return a.showData(q, nil) }

func (a *area) showData(q *shell.Request, refused *ops.Error) error {
	data, err := a.Ops.Data(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	p := dataPage{Data: data, about: a.About, kept: a.kept(), administers: administers(q), refused: refused}
	return show(q, shell.Page{Title: q.T("Data"), Body: dataDetail(p)}, refused)
}

// export sends the configuration of what was made here.
func (a *area) export(q *shell.Request) error {
	text, err := a.Ops.Export(q.Context(), q.Actor)
	if refused := shell.Refusal(err); refused != nil {
		return a.showData(q, refused)
	}
	if err != nil {
		return err
	}
	attach(q.Writer().Header(), "application/yaml; charset=utf-8", "mcpvigil-export.yaml", int64(len(text)))
	_, _ = q.Writer().Write(text)
	return nil
}

// backup sends a copy of the database.
func (a *area) backup(q *shell.Request) (err error) {
	made, err := a.Ops.Backup(q.Context(), q.Actor, q.Proof())
	if refused := shell.Refusal(err); refused != nil {
		return a.showData(q, refused)
	}
	if err != nil {
		return err
	}
	defer func() {
		if closed := made.Close(); closed != nil {
			q.Log(q.Context(), "a backup that was sent could not be removed", closed)
		}
	}()
	attach(q.Writer().Header(), "application/vnd.sqlite3", made.FileName(), made.Size)
	if _, err := io.Copy(&patient{q.Writer(), http.NewResponseController(q.Writer())}, made); err != nil && q.Context().Err() == nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		q.Log(q.Context(), "a backup was not sent to its end", err)
	}
	return nil
}

// patient lets who reads a file take as long as it needs, while it reads.
type patient struct {
	w  io.Writer
	to *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.to.SetWriteDeadline(time.Now().Add(time.Minute))
	return p.w.Write(b)
}

// attach says that an answer is a file to keep.
func attach(h http.Header, kind, name string, size int64) {
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	h.Set("Content-Length", strconv.FormatInt(size, 10))
}

// here tells whether the checks of a location run in this process.
func here(running []string, location string) bool { return slices.Contains(running, location) }

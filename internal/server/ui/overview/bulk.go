package overview

import (
	"context"
	"net/http"
	"strconv"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// mostChosen bounds how many monitors one form acts on.
const mostChosen = 1000

// refused is a monitor that something was not done with.
type refused struct {
	id              int64
	name, why, hint string
}

// bulk pauses, resumes or checks the chosen monitors, each for itself.
func (p *pages) bulk(q *shell.Request) error {
	act, done := map[string]func(context.Context, people.Actor, int64) (ops.Monitor, error){
		"pause": p.Ops.PauseMonitor, "resume": p.Ops.ResumeMonitor, "run": p.Ops.RunNow,
	}[q.Value("do")], map[string]string{"pause": "paused", "resume": "resumed", "run": "running"}[q.Value("do")]
	ids := q.Values("id")
	switch {
	case act == nil:
		return &ops.Error{Code: ops.Invalid, Text: q.T("What to do with the chosen monitors is not known.")}
	case len(ids) == 0:
		return &ops.Error{Code: ops.Invalid, Text: q.T("No monitor is chosen."), Hint: q.T("Tick the box before each monitor.")}
	case len(ids) > mostChosen:
		return &ops.Error{Code: ops.Invalid, Text: q.T("At most %d monitors can be chosen at a time.", mostChosen)}
	}
	var not []refused
	for _, text := range ids {
		id, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			_, err = act(q.Context(), q.Actor, id)
		}
		if err == nil {
			continue
		}
		why := shell.Refusal(err)
		if why == nil {
			return err
		}
		r := refused{id: id, name: text, why: why.Text, hint: why.Hint}
		if row, ok := p.Board.Row(id); ok {
			r.name = row.Name
		}
		not = append(not, r)
	}
	next := shell.Local(q.Value("next"))
	if len(not) == 0 {
		return q.Go(next, done)
	}
	return q.Show(shell.Page{
		Title: q.T("Not done with all"), Section: "overview", Status: http.StatusConflict, Body: leftOut(len(ids)-len(not), not, next),
	})
}

package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Doctor explains one report at length: the verdict in a sentence, the steps,
// what was sent and what came back, where the time went, one piece of advice for
// each thing that is wrong, a command that repeats what failed, the revisions
// and the certificate. It shows no inventories and no bodies.
func Doctor(w io.Writer, r *probe.Report, o Options) error {
	o.Verbose = false
	p := &page{o: o}
	p.title("doctor")
	p.head(r)
	if r.Server != nil {
		p.printf("  Server: %s, protocol %s\n", serverName(r.Server), name(r.Server.ProtocolVersion))
	}
	p.printf("  Verdict: %s: %s\n", p.status(r.Status), verdict(r))
	p.steps(r, false)
	p.summary(r)
	p.dependencies(r)
	p.exchanges(r.Evidence)
	p.timings(r)
	p.advice(r)
	p.reproduce(r)
	p.revisions(r.Revisions)
	p.certificate(r.Certificate)
	p.printf("\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// verdict is the outcome in one sentence.
func verdict(r *probe.Report) string {
	worst := worstStep(r)
	switch {
	case r.Status == probe.StatusHealthy && len(r.Notes) == 0:
		return "a conforming client can use this server."
	case r.Status == probe.StatusHealthy:
		return "a conforming client can use this server; " + plural(len(r.Notes), "remark") + " below."
	case worst == nil:
		return "no step of the check tells why."
	}
	lead := map[probe.Status]string{
		probe.StatusDegraded:      "a client can use this server, but",
		probe.StatusUnknown:       "the check could not tell, because of",
		probe.StatusMisconfigured: "the check is not set up for this server:",
		probe.StatusUnhealthy:     "a conforming client cannot use this server:",
	}[r.Status]
	return fmt.Sprintf("%s %s: %s", lead, name(worst.Name), line(worst.Message))
}

// worstStep is the first step that has the report's verdict, or nil.
func worstStep(r *probe.Report) *probe.Result {
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.Skipped && c.Status == r.Status {
			return c
		}
	}
	return nil
}

func (p *page) exchanges(evidence []probe.Exchange) {
	if len(evidence) == 0 {
		return
	}
	p.section("What was sent, and what came back:")
	steps, what := 0, 0
	for i := range evidence {
		steps = max(steps, len([]rune(stepOf(&evidence[i]))))
		what = max(what, len([]rune(sent(&evidence[i]))))
	}
	for i := range evidence {
		e := &evidence[i]
		p.printf("    %s  %s  %6s  %s\n", pad(stepOf(e), steps), pad(sent(e), what), millis(probe.MillisOf(e.Duration)), answer(e))
		if s := stages(e.Stages); s != "" {
			p.printf("    %s  %s\n", strings.Repeat(" ", steps), p.colour(dim, s))
		}
	}
}

// stepOf names who sent e: a step, or doctor itself where it looks closer.
func stepOf(e *probe.Exchange) string {
	if e.Step == "" {
		return "doctor"
	}
	return name(e.Step)
}

func sent(e *probe.Exchange) string {
	switch {
	case e.HTTPMethod == "":
		return name(e.Method)
	case e.Method == "":
		return name(e.HTTPMethod)
	}
	return name(e.HTTPMethod) + " " + name(e.Method)
}

func answer(e *probe.Exchange) string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.ContentType != "" {
		parts = append(parts, name(e.ContentType))
	}
	if e.Bytes > 0 {
		parts = append(parts, size(e.Bytes))
	}
	if e.Err != "" {
		parts = append(parts, line(e.Err))
	}
	if len(parts) == 0 {
		return "no answer, none was due"
	}
	return strings.Join(parts, ", ")
}

func size(n int64) string {
	if n < 10_000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", (n+500)/1000)
}

// timings says where the time of the first exchange went.
func (p *page) timings(r *probe.Report) {
	for i := range r.Checks {
		if s := stages(r.Checks[i].Stages); s != "" {
			p.section("Where the time went:")
			p.printf("    first exchange: %s\n    whole check: %s\n", s, millis(r.TotalMs))
			return
		}
	}
}

// advice gives one numbered line for each thing that is wrong: what, and what to
// do about it. The same advice is given once.
func (p *page) advice(r *probe.Report) {
	type item struct{ what, todo string }
	var items []item
	seen := map[item]bool{}
	add := func(what, text, hint string) {
		it := item{fmt.Sprintf("%s: %s", name(what), line(text)), line(hint)}
		if !seen[it] {
			seen[it] = true
			items = append(items, it)
		}
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.Skipped && c.Status != probe.StatusHealthy {
			add(c.Name, c.Message, c.Hint)
		}
	}
	for _, n := range r.Notes {
		add(string(n.Reason), n.Text, n.Hint)
	}
	if len(items) == 0 {
		return
	}
	p.section("What to do:")
	for i, it := range items {
		p.printf("    %d. %s\n", i+1, it.what)
		if it.todo != "" {
			p.printf("       %s %s\n", p.colour(bold, "->"), it.todo)
		}
	}
}

// reproduce gives the curl line of the exchange that failed, if one did.
func (p *page) reproduce(r *probe.Report) {
	e := failedExchange(r)
	if e == nil {
		return
	}
	p.section("To send the failing request yourself:")
	p.printf("    %s\n", plain.Line(e.Curl, maxCurl))
}

// failedExchange is the last exchange with an error in the step that decided the
// verdict, else its last one, or nil.
func failedExchange(r *probe.Report) *probe.Exchange {
	worst := worstStep(r)
	if worst == nil || r.Status.Passed() {
		return nil
	}
	var found *probe.Exchange
	for i := range r.Evidence {
		e := &r.Evidence[i]
		if e.Curl == "" || e.Step != worst.Name {
			continue
		}
		if found == nil || e.Err != "" || e.Status >= 400 || found.Err == "" && found.Status < 400 {
			found = e
		}
	}
	if found != nil {
		return found
	}
	// The step may have judged an exchange that an earlier one sent.
	for i := range r.Evidence {
		if e := &r.Evidence[i]; e.Curl != "" && e.Step != "" {
			found = e
		}
	}
	return found
}

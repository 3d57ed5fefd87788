package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// Doctor explains reports at length: the verdict in a sentence, the steps, what
// was sent and what came back, where the time went, one piece of advice for each
// thing that is wrong, a command that repeats what failed, the revisions and the
// certificate. It shows no inventories and no bodies.
func Doctor(w io.Writer, reports []*probe.Report, o Options) error {
	o.Verbose = false
	p := &page{o: o, whole: true}
	p.title("doctor")
	for i, r := range reports {
		p.doctor(r, p.o.source(i))
	}
	if len(reports) > 1 {
		p.tally(reports)
	}
	p.printf("\n")
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) doctor(r *probe.Report, source string) {
	p.head(r)
	if source != "" {
		p.printf("  From: %s\n", line(source))
	}
	if r.Server != nil {
		p.printf("  Server: %s, protocol %s\n", serverName(r.Server), name(r.Server.ProtocolVersion))
	}
	p.printf("  Verdict: %s: %s\n", p.status(r.Status), verdict(r))
	p.steps(r, false)
	p.summary(r)
	p.dependencies(r)
	p.chain(r.Chain)
	p.exchanges(r)
	p.timings(r)
	p.advice(r)
	p.reproduce(r)
	p.revisions(r.Revisions)
	p.certificate(r.Certificate)
	p.credential(r.Credential)
}

// verdict is the outcome in one sentence.
func verdict(r *probe.Report) string {
	well := "a conforming client can use this server"
	if audited(r) {
		well = "a new client can find out where to log in"
	}
	switch {
	case r.Status == probe.StatusHealthy && len(r.Notes) == 0:
		return well + "."
	case r.Status == probe.StatusHealthy:
		return well + "; " + plural(len(r.Notes), "remark") + " below."
	case len(r.Checks) == 0:
		return causeOf(r).String()
	}
	if broken := chainVerdict(r); broken != "" {
		return broken
	}
	lead := map[probe.Status]string{
		probe.StatusDegraded:      "a client can use this server, but",
		probe.StatusUnknown:       "the check could not tell, because of",
		probe.StatusMisconfigured: "the check is not set up for this server:",
		probe.StatusUnhealthy:     "a conforming client cannot use this server:",
	}[r.Status]
	if c := worstStep(r); c == nil || c.Name == probe.StepDependencies {
		// The server itself may be well.
		lead = map[probe.Status]string{
			probe.StatusDegraded: "a client can use this server, but not all that it stands on:",
			probe.StatusUnknown:  "the check could not tell about what this server stands on:",
		}[r.Status]
		if lead == "" {
			lead = "what this server stands on does not work:"
		}
	}
	return fmt.Sprintf("%s %s", lead, causeOf(r))
}

func (p *page) exchanges(r *probe.Report) {
	if len(r.Evidence) == 0 {
		return
	}
	p.section("What was sent, and what came back:")
	steps, what := 0, 0
	for i := range r.Evidence {
		steps = max(steps, len([]rune(stepOf(&r.Evidence[i]))))
		what = max(what, len([]rune(sent(&r.Evidence[i]))))
	}
	for i := range r.Evidence {
		e := &r.Evidence[i]
		p.printf("    %s  %s  %6s  %s\n", pad(stepOf(e), steps), pad(sent(e), what), millis(probe.MillisOf(e.Duration)), answer(e, r))
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

// answer says what came back. An error that a step's line already tells is not
// told again.
func answer(e *probe.Exchange, r *probe.Report) string {
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
		told := slices.ContainsFunc(r.Checks, func(c probe.Result) bool { return strings.Contains(c.Message, e.Err) })
		switch {
		case !told:
			parts = append(parts, line(e.Err))
		case len(parts) == 0:
			return "failed, as told above"
		}
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

// timings says where the time of the first exchange went, and what took the
// rest when the steps do not add up to the whole.
func (p *page) timings(r *probe.Report) {
	first := ""
	var inSteps probe.Millis
	for i := range r.Checks {
		inSteps += r.Checks[i].DurationMs
		if s := stages(r.Checks[i].Stages); first == "" {
			first = s
		}
	}
	outside := r.TotalMs - inSteps
	apart := outside > r.TotalMs/5 && outside > 1
	if first == "" && !apart {
		return
	}
	p.section("Where the time went:")
	if first != "" {
		p.printf("    first exchange: %s\n", first)
	}
	p.printf("    whole check: %s\n", millis(r.TotalMs))
	if apart {
		p.printf("    of that outside the steps: %s, for %s\n", millis(outside), besideSteps(r))
	}
}

// besideSteps names the work of a check that no step's time holds.
func besideSteps(r *probe.Report) string {
	var parts []string
	if slices.ContainsFunc(r.Evidence, func(e probe.Exchange) bool { return e.Step == "" }) {
		parts = append(parts, "the closer look")
	}
	if len(r.Revisions) > 0 {
		parts = append(parts, "trying every revision")
	}
	if r.Target.Transport == target.Stdio {
		parts = append(parts, "starting and ending the command")
	} else {
		parts = append(parts, "opening and closing connections")
	}
	return strings.Join(parts, ", ")
}

// advice gives one numbered line for each thing that is wrong, and what to do
// about it. What a step's line says is not said again. The same advice is given
// once.
func (p *page) advice(r *probe.Report) {
	type item struct{ what, todo string }
	var items []item
	seen := map[item]bool{}
	add := func(what, hint string) {
		it := item{what, line(hint)}
		if !seen[it] {
			seen[it] = true
			items = append(items, it)
		}
	}
	if g := brokenRung(r); g != nil && !slices.ContainsFunc(r.Checks, func(c probe.Result) bool { return c.Reason == g.Reason }) {
		add(name(g.Name)+": "+name(string(g.Reason)), g.Hint)
	}
	steps := func(of string, r *probe.Report) {
		for i := range r.Checks {
			if c := &r.Checks[i]; !c.Skipped && c.Status != probe.StatusHealthy && (c.Name != probe.StepDependencies || guilty(r) == nil) {
				add(strings.TrimSuffix(of+name(c.Name)+": "+name(string(c.Reason)), ": "), c.Hint)
			}
		}
	}
	steps("", r)
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		steps(name(d.Name)+": ", reportOf(d))
	}
	for _, n := range r.Notes {
		add(name(string(n.Reason))+": "+line(n.Text), n.Hint)
	}
	if c := causeOf(r); len(items) == 0 && r.Status != probe.StatusHealthy {
		add(c.String(), c.Hint)
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
	p.printf("    %s\n", plain.Line(e.Curl(), maxCurl))
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
		if e.Curl == nil || e.Step != worst.Name {
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
		if e := &r.Evidence[i]; e.Curl != nil && e.Step != "" {
			found = e
		}
	}
	return found
}

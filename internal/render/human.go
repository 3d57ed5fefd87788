package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

// page collects human output. Its methods take text that is already safe.
type page struct {
	strings.Builder
	o Options
	// whole shows all of a failed command's standard error.
	whole bool
}

// The colours of human output, as parameters of the ANSI sequence SGR.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *page) colour(code, s string) string {
	if !p.o.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// section starts a block with its heading.
func (p *page) section(heading string) { p.printf("\n  %s\n", p.colour(bold, heading)) }

// human writes the layout of mcp-healthcheck: title, target, status, a line a
// step, summary; and, beyond it, the reason and hint of what failed, and notes.
func human(reports []*probe.Report, o Options) []byte {
	p := &page{o: o}
	p.title("")
	for _, r := range reports {
		p.head(r)
		p.printf("  Status: %s\n", p.status(r.Status))
		p.steps(r, true)
		if o.Verbose {
			p.server(r)
		}
		p.summary(r)
		p.dependencies(r)
		p.notes(r.Notes)
		p.revisions(r.Revisions)
		if o.Verbose {
			p.chain(r.Chain)
			p.certificate(r.Certificate)
			p.credential(r.Credential)
		}
	}
	if len(reports) > 1 {
		p.tally(reports)
	}
	p.printf("\n")
	return []byte(p.String())
}

func (p *page) title(command string) {
	program := p.o.Program
	if program == "" {
		program = "mcpvigil"
	}
	p.printf("\n  %s\n", p.colour(bold, strings.TrimSpace(Title(program, p.o.Version)+" "+command)))
}

// Title is a program's name with its version, such as "mcpvigil v1.2.0". What is
// no version number, a commit for example, gets no v.
func Title(program, version string) string {
	if digits, _, dotted := strings.Cut(version, "."); dotted && strings.Trim(digits, "0123456789") == "" {
		version = "v" + version
	}
	return strings.TrimSpace(program + " " + version)
}

func (p *page) head(r *probe.Report) {
	address := strings.TrimSuffix(fmt.Sprintf("%s -- %s", r.Target.Transport, line(r.Target.Endpoint)), " -- ")
	if n := r.Target.Name; n != "" && n != r.Target.Endpoint {
		address = fmt.Sprintf("%s (%s)", name(n), address)
	}
	p.printf("\n  Target: %s\n", address)
}

func (p *page) status(s probe.Status) string {
	switch s {
	case probe.StatusHealthy:
		return p.colour(green, string(s))
	case probe.StatusDegraded, probe.StatusUnknown:
		return p.colour(yellow, string(s))
	default:
		return p.colour(red, string(s))
	}
}

// mark is the word at the start of a step's line.
func (p *page) mark(c *probe.Result) string {
	switch {
	case c.Skipped:
		return p.colour(dim, "SKIP")
	case c.Status == probe.StatusHealthy:
		return p.colour(green, "PASS")
	case c.Status == probe.StatusDegraded:
		return p.colour(yellow, "WARN")
	default:
		return p.colour(red, "FAIL")
	}
}

// The columns of a step's line, as mcp-healthcheck has them.
const (
	nameColumn     = 14
	durationColumn = 6
)

// steps writes a line a step. Hints are left to the advice of doctor.
func (p *page) steps(r *probe.Report, hints bool) {
	if len(r.Checks) == 0 {
		p.printf("\n  %s%s.\n", strings.ToUpper(nothingChecked[:1]), nothingChecked[1:])
		return
	}
	p.printf("\n")
	width, timeWidth := nameColumn, durationColumn
	for i := range r.Checks {
		width = max(width, utf8.RuneCountInString(name(r.Checks[i].Name)))
		timeWidth = max(timeWidth, len(millis(r.Checks[i].DurationMs))+1)
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		p.printf("  %s  %s%*s   %s\n", p.mark(c), pad(name(c.Name), width), timeWidth, millis(c.DurationMs), line(c.Message))
		if !c.Skipped && c.Status != probe.StatusHealthy {
			p.trouble("        ", c, hints)
		}
		if p.o.Verbose {
			p.details(c)
		}
	}
}

// trouble writes under the line of a step that is not healthy what is known of
// the cause.
func (p *page) trouble(indent string, c *probe.Result, hints bool) {
	p.printf("%s%s\n", indent, p.why(c))
	most := checkTail
	if p.whole || p.o.Verbose {
		most = 0
	}
	if lines, of := stderrOf(c, most); of > 0 {
		shown := ""
		if len(lines) < of {
			shown = fmt.Sprintf(" (the last %d of %d lines)", len(lines), of)
		}
		p.printf("%sstderr%s:\n", indent, shown)
		for _, l := range lines {
			p.printf("%s  %s\n", indent, p.colour(dim, "| "+l))
		}
	}
	if hints && c.Hint != "" {
		p.printf("%shint: %s\n", indent, line(c.Hint))
	}
}

// why is the verdict on a step with its reason code.
func (p *page) why(c *probe.Result) string {
	s := p.status(c.Status)
	if c.Reason != "" {
		s += ": " + name(string(c.Reason))
	}
	if c.Error != nil && c.Error.Code != "" {
		s += " (" + name(c.Error.Code) + ")"
	}
	return s
}

func (p *page) details(c *probe.Result) {
	if s := stages(c.Stages); s != "" {
		p.printf("        stages: %s\n", s)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Details)) {
		if _, of := stderrOf(c, 0); key == "stderr" && of > 0 && !c.Skipped && c.Status != probe.StatusHealthy {
			continue // it stands there with its lines
		}
		value, err := json.Marshal(c.Details[key])
		if err != nil {
			value = fmt.Appendf(nil, "%q", err.Error())
		}
		p.printf("        %s: %s\n", name(key), line(string(plain.JSON(value))))
	}
}

func (p *page) server(r *probe.Report) {
	if r.Server == nil {
		return
	}
	p.printf("\n  Server: %s, protocol %s", serverName(r.Server), name(r.Server.ProtocolVersion))
	if r.Era != "" {
		p.printf(" (%s)", name(r.Era))
	}
	p.printf("\n")
	if r.Surface != nil {
		p.printf("  Surface: %s\n", counts(r.Surface))
	}
	if d := r.Digest(); !d.IsZero() {
		p.printf("  Digest: %s\n", d)
	}
}

func (p *page) summary(r *probe.Report) {
	s := r.Summary
	p.printf("\n  Summary: %d/%d passed in %s", s.Passed, s.Total, millis(r.TotalMs))
	if s.Skipped > 0 {
		p.printf(" (%d skipped)", s.Skipped)
	}
	p.printf("\n")
}

func (p *page) dependencies(r *probe.Report) {
	if len(r.Dependencies) == 0 {
		return
	}
	p.section("Dependencies:")
	for _, d := range r.Dependencies {
		kind := "optional"
		if d.Critical {
			kind = "critical"
		}
		if d.Relationship != "" {
			kind += ", " + name(string(d.Relationship))
		}
		p.printf("    %s  %s (%s)\n", p.status(d.Status), name(d.Name), kind)
		p.dependencySteps(&d)
	}
}

// dependencySteps writes the steps that make a dependency what it is. Those of a
// dependency of its own are in the words of its step of that name.
func (p *page) dependencySteps(d *probe.DependencyResult) {
	if d.Status == probe.StatusHealthy {
		return
	}
	r, told := reportOf(d), false
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Skipped || c.Status == probe.StatusHealthy {
			continue
		}
		told = true
		if c == worstStep(r) {
			p.printf("      %s\n", causeOf(r))
		} else {
			p.printf("      %s: %s\n", name(c.Name), line(c.Message))
		}
		p.trouble("        ", c, !p.whole)
	}
	if !told {
		p.printf("      %s\n", causeOf(r))
	}
}

func (p *page) notes(notes []probe.Note) {
	if len(notes) == 0 {
		return
	}
	p.section("Notes:")
	for _, n := range notes {
		times := ""
		if n.Count > 1 {
			times = fmt.Sprintf(" (%d times)", n.Count)
		}
		p.printf("    %s: %s%s\n", name(string(n.Reason)), line(n.Text), times)
		if p.o.Verbose && n.Hint != "" {
			p.printf("      hint: %s\n", line(n.Hint))
		}
	}
}

func (p *page) revisions(revisions []probe.Revision) {
	if len(revisions) == 0 {
		return
	}
	p.section("Revisions:")
	for _, r := range revisions {
		mark := p.colour(green, "yes")
		if !r.Supported {
			mark = p.colour(dim, "no ")
		}
		p.printf("    %s  %s  %s\n", pad(name(r.Version), 10), mark, line(r.Answer))
	}
}

func (p *page) certificate(c *probe.Certificate) {
	if c == nil {
		return
	}
	p.section("Certificate:")
	if c.Subject != "" {
		p.printf("    subject: %s\n", line(c.Subject))
	}
	p.printf("    issuer:  %s\n", line(c.Issuer))
	if len(c.Names) > 0 {
		p.printf("    names:   %s\n", line(strings.Join(c.Names, ", ")))
	}
	p.printf("    expires: %s (%s)\n", ending(c.NotAfter), days(c.DaysLeft))
}

// tally is the last line over several targets: how many have which verdict.
func (p *page) tally(reports []*probe.Report) {
	counts := map[probe.Status]int{}
	for _, r := range reports {
		counts[r.Status]++
	}
	var parts []string
	for _, s := range statuses() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.status(s)))
		}
	}
	p.printf("\n  %d targets: %s\n", len(reports), strings.Join(parts, ", "))
}

func serverName(s *probe.ServerInfo) string {
	out := name(s.Name)
	if s.Version != "" {
		out += " " + name(s.Version)
	}
	if s.Title != "" && s.Title != s.Name {
		out += " (" + name(s.Title) + ")"
	}
	return out
}

func counts(s *probe.Surface) string {
	var parts []string
	for _, c := range []struct {
		n    *int
		what string
	}{{s.Tools, "tool"}, {s.Resources, "resource"}, {s.ResourceTemplates, "resource template"}, {s.Prompts, "prompt"}} {
		if c.n != nil {
			parts = append(parts, plural(*c.n, c.what))
		}
	}
	if len(parts) == 0 {
		return "nothing was listed"
	}
	return strings.Join(parts, ", ")
}

// stages lists the stages that happened, in their order.
func stages(s *probe.Stages) string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, stage := range []struct {
		what string
		took *probe.Millis
	}{{"spawn", s.Spawn}, {"dns", s.DNS}, {"tcp", s.TCP}, {"tls", s.TLS}, {"first byte", s.FirstByte}} {
		if stage.took != nil {
			parts = append(parts, stage.what+" "+millis(*stage.took))
		}
	}
	return strings.Join(parts, ", ")
}

// millis writes whole milliseconds, and one decimal below one millisecond.
func millis(m probe.Millis) string {
	if m > 0 && m < 0.95 {
		return strconv.FormatFloat(max(float64(m), 0.1), 'f', 1, 64) + "ms"
	}
	return strconv.FormatFloat(float64(m), 'f', 0, 64) + "ms"
}

func days(n int) string {
	if n < 0 {
		return plural(-n, "day") + " ago"
	}
	return plural(n, "day") + " left"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// pad fills s with spaces to width runes.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

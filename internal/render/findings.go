package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/lint"
)

// Lint writes what was found in surfaces. JSON is one object,
//
//	{"findings": [{"rule", "severity", "kind", "item", "pointer", "excerpt", ..., "source"}], "ruleset", "failures"}
//
// where failures, of sources that could not be read to their end, is only there
// when there are some.
func Lint(w io.Writer, format Format, sources []*Verification, o Options) error {
	if format != JSON && format != Human && format != "" {
		return Drift(w, format, "lint", sources, o)
	}
	var out []byte
	var err error
	if format == JSON {
		out, err = lintJSON(sources)
	} else {
		out = lintPage(sources, o)
	}
	if err != nil {
		return fmt.Errorf("write lint as %s: %w", format, err)
	}
	_, err = w.Write(out)
	return err
}

func lintJSON(sources []*Verification) ([]byte, error) {
	type found struct {
		lint.Finding
		Source   string               `json:"source"`
		Accepted *baseline.Acceptance `json:"accepted,omitempty"`
	}
	type failure struct {
		Source  string          `json:"source"`
		Status  baseline.Status `json:"status"`
		Reason  string          `json:"reason,omitempty"`
		Message string          `json:"message"`
		Hint    string          `json:"hint,omitempty"`
	}
	out := struct {
		Findings []found   `json:"findings"`
		Ruleset  string    `json:"ruleset"`
		Failures []failure `json:"failures,omitempty"`
	}{Findings: []found{}, Ruleset: lint.Ruleset}
	for _, s := range sources {
		for i := range s.Result.Findings {
			out.Findings = append(out.Findings, found{s.Result.Findings[i].Finding, s.Source, s.Result.Findings[i].Accepted})
		}
		if s.down() {
			out.Failures = append(out.Failures, failure{s.Source, s.Result.Status, s.Reason, s.Message, s.Hint})
		}
	}
	return indentJSON(out)
}

// lintPage writes findings for people.
func lintPage(sources []*Verification, o Options) []byte {
	p := &page{o: o}
	p.title("lint")
	clean := 0
	for _, v := range sources {
		if len(sources) > 1 && v.Result.Status == baseline.Approved && len(v.Result.Findings) == 0 {
			clean++ // many clean ones would hide the others
			continue
		}
		p.surfaceHead(v)
		p.printf("  Status: %s\n", p.driftStatus(v.Result.Status, v.word()))
		if v.Message != "" {
			p.printf("\n")
			p.driftCause(v)
		}
		if findings, hidden := p.shownFindings(v.Result.Findings); len(findings) > 0 {
			p.printf("\n")
			p.findings(findings, hidden, screenLines*maxFound)
		}
	}
	blocks, notes, known := 0, 0, 0
	for _, v := range sources {
		_, fail := fails(&v.Result)
		blocks += fail
		notes += len(v.Result.Findings) - fail - accepted(&v.Result)
		known += accepted(&v.Result)
	}
	text := fmt.Sprintf("Summary: %s, %s", plural(blocks, "block"), plural(notes, "note"))
	if known > 0 {
		text += fmt.Sprintf(", %d accepted", known)
	}
	if len(sources) > 1 {
		text += fmt.Sprintf(" in %d surfaces, %d clean", len(sources), clean)
	}
	p.printf("\n")
	p.say("", fmt.Sprintf("%s (rule set %s)", text, lint.Ruleset))
	p.printf("\n")
	return []byte(p.String())
}

// Rules writes what the lint looks for.
func Rules(w io.Writer, format Format, o Options) error {
	if format == JSON {
		type rule struct {
			Rule       string          `json:"rule"`
			Family     string          `json:"family"`
			Severities []lint.Severity `json:"severities"`
			Text       string          `json:"text"`
			Techniques []string        `json:"techniques,omitempty"`
		}
		out := struct {
			Ruleset string `json:"ruleset"`
			Rules   []rule `json:"rules"`
		}{lint.Ruleset, []rule{}}
		for _, r := range lint.Rules() {
			out.Rules = append(out.Rules, rule{r.ID, r.Family, r.Severities, r.Text, r.Techniques})
		}
		data, err := indentJSON(out)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	p := &page{o: o}
	p.title("lint")
	p.printf("\n  Rules, version %s\n\n", lint.Ruleset)
	width := 0
	for _, r := range lint.Rules() {
		width = max(width, len(r.ID))
	}
	for _, r := range lint.Rules() {
		p.printf("  %s  %s  %s\n", pad(r.ID, width), pad(severities(r), 11), line(r.Text))
	}
	p.printf("\n")
	_, err := io.WriteString(w, p.String())
	return err
}

func severities(r lint.Rule) string {
	var words []string
	for _, s := range r.Severities {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

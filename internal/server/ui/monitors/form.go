package monitors

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// form is a monitor as it stands in the form.
type form struct {
	// id is 0 for a new monitor; name is that of one that is there.
	id       int64
	name     string
	revision int64
	status   ops.Status
	fields   ops.Fields
	paused   bool
	// texts are fields as they were written, where they are no text.
	texts map[string]string
	// stored are the headers that have a value already.
	stored []string
	// spare is how many empty rows there are for headers and for dependencies.
	spareHeaders, spareDependencies int

	problems shell.Problems
	// conflict: somebody else changed the monitor meanwhile.
	conflict bool

	// What the form offers.
	escalations []string
}

func newForm(m *ops.Monitor) *form {
	f := &form{texts: map[string]string{}, problems: shell.Problems{}, spareHeaders: 1, spareDependencies: 1}
	if m == nil {
		f.fields = ops.Fields{
			Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone, DriftPolicy: string(surface.Alert),
			Interval: watch.Duration(watch.DefaultInterval), Timeout: watch.Duration(watch.DefaultTimeout),
			FailureThreshold: watch.DefaultThreshold, RecoveryThreshold: watch.DefaultRecovery, Escalation: watch.DefaultEscalation,
			Locations: []string{watch.DefaultLocation},
		}
	} else {
		f.id, f.name, f.revision, f.status, f.fields, f.paused = m.ID, m.Name, m.Revision, m.Status, m.Fields, m.Paused
		for _, h := range m.Headers {
			f.stored = append(f.stored, h.Name)
		}
	}
	d := &f.fields
	f.texts["interval"], f.texts["timeout"] = shell.Duration(time.Duration(d.Interval)), shell.Duration(time.Duration(d.Timeout))
	f.texts["failure_threshold"], f.texts["recovery_threshold"] = strconv.Itoa(d.FailureThreshold), strconv.Itoa(d.RecoveryThreshold)
	f.texts["max_tools"] = strconv.Itoa(d.MaxTools)
	return f
}

// read is the form as it was sent.
func read(q *shell.Request) *form {
	f := &form{texts: map[string]string{}, problems: shell.Problems{}, paused: q.Value("paused") != ""}
	f.revision, _ = strconv.ParseInt(q.Value("revision"), 10, 64)
	d := &f.fields
	d.Name, d.Group, d.Tags, d.URL = q.Value("name"), q.Value("group"), q.Lines("tags"), q.Value("url")
	d.Transport, d.AuthMode, d.ProtocolVersion = q.Value("transport"), q.Value("auth_mode"), q.Value("protocol_version")
	d.ExpectedTools, d.DriftPolicy, d.Escalation = q.Lines("expected_tools"), q.Value("drift_policy"), q.Value("escalation")
	d.Locations = q.Lines("locations")
	d.MaxTools = f.number(q, "max_tools")
	d.FailureThreshold, d.RecoveryThreshold = f.number(q, "failure_threshold"), f.number(q, "recovery_threshold")
	d.Interval, d.Timeout = f.duration(q, "interval"), f.duration(q, "timeout")
	for _, info := range surface.Classes() {
		if effect := q.Value("effect-" + string(info.Class)); effect != "" {
			if d.DriftEffects == nil {
				d.DriftEffects = map[string]string{}
			}
			d.DriftEffects[string(info.Class)] = effect
		}
	}
	names, values := q.PostForm["header_name"], q.PostForm["header_value"]
	for i, name := range names {
		value := ""
		if i < len(values) {
			value = strings.TrimSpace(values[i])
		}
		if name = strings.TrimSpace(name); name != "" || value != "" {
			d.Headers = append(d.Headers, ops.Header{Name: name, Value: value})
		} else {
			f.spareHeaders++
		}
	}
	// A row of a dependency has a name, and whether it is critical.
	critical := q.PostForm["dependency_critical"]
	for i, name := range q.PostForm["dependency"] {
		if name = strings.TrimSpace(name); name == "" {
			f.spareDependencies++
			continue
		}
		d.Dependencies = append(d.Dependencies, ops.Dependency{Monitor: name, Critical: i < len(critical) && critical[i] == "yes"})
	}
	if d.AuthMode != watch.AuthHeader && !slices.ContainsFunc(d.Headers, func(h ops.Header) bool { return h.Value != "" }) {
		d.Headers = nil // leaving the mode deletes them; a value that is given with another mode is a mistake
	}
	f.spareHeaders, f.spareDependencies = min(f.spareHeaders, 5), min(f.spareDependencies, 5)
	return f
}

func (f *form) number(q *shell.Request, name string) int {
	text := q.Value(name)
	f.texts[name] = text
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		f.problems[name] = watch.Problem{Field: name, Text: q.T("This is no whole number.")}
	}
	return n
}

func (f *form) duration(q *shell.Request, name string) (d watch.Duration) {
	text := q.Value(name)
	f.texts[name] = text
	if text == "" {
		return 0
	}
	if err := d.UnmarshalText([]byte(text)); err != nil {
		f.problems[name] = watch.Problem{Field: name, Text: q.T("This is no duration."), Hint: q.T("Write it as 30s, 10m or 1h30m.")}
	}
	return d
}

// rows adds or removes a row where that is what was asked for, and tells so.
func (f *form) rows(q *shell.Request) bool {
	switch what := q.Value("add"); what {
	case "header":
		f.spareHeaders++
		return true
	case "dependency":
		f.spareDependencies++
		return true
	}
	kind, text, ok := strings.Cut(q.Value("remove"), ":")
	i, err := strconv.Atoi(text)
	if !ok || err != nil || i < 0 {
		return false
	}
	switch {
	case kind == "header" && i < len(f.fields.Headers):
		f.fields.Headers = slices.Delete(f.fields.Headers, i, i+1)
	case kind == "dependency" && i < len(f.fields.Dependencies):
		f.fields.Dependencies = slices.Delete(f.fields.Dependencies, i, i+1)
	}
	return true
}

// edit has everything that stands in the form.
func (f *form) edit() ops.MonitorEdit {
	d := f.fields
	if d.DriftEffects == nil {
		d.DriftEffects = map[string]string{}
	}
	return ops.MonitorEdit{
		Name: &d.Name, Group: &d.Group, Tags: &d.Tags, URL: &d.URL, Transport: &d.Transport, AuthMode: &d.AuthMode, Headers: &d.Headers,
		ProtocolVersion: &d.ProtocolVersion, ExpectedTools: &d.ExpectedTools, MaxTools: &d.MaxTools, DriftPolicy: &d.DriftPolicy,
		DriftEffects: &d.DriftEffects, Interval: &d.Interval, Timeout: &d.Timeout, FailureThreshold: &d.FailureThreshold,
		RecoveryThreshold: &d.RecoveryThreshold, Escalation: &d.Escalation, Locations: &d.Locations, Dependencies: &d.Dependencies,
	}
}

// take has the problems of a refusal stand at their fields. Those of an entry of a list
// stand at the list; left are those that have no field.
func (f *form) take(e *ops.Error) (left []watch.Problem) {
	if e == nil {
		return nil
	}
	for _, p := range e.Problems {
		field := p.Field
		if base, _, ok := strings.Cut(field, "["); ok && base != "headers" && base != "dependencies" {
			field = base
		}
		if class, ok := strings.CutPrefix(field, "drift_effects."); ok {
			field = "effect-" + class
		}
		if _, there := f.problems[field]; !there {
			f.problems[field] = p
		}
		if !known(field) {
			left = append(left, p)
		}
	}
	return left
}

func known(field string) bool {
	switch field {
	case "name", "group", "tags", "url", "transport", "auth_mode", "headers", "protocol_version", "expected_tools", "max_tools", "drift_policy",
		"interval", "timeout", "failure_threshold", "recovery_threshold", "escalation", "locations", "dependencies":
		return true
	}
	return strings.HasPrefix(field, "headers[") || strings.HasPrefix(field, "dependencies[") || strings.HasPrefix(field, "effect-")
}

// rowProblem is what is wrong with a row of a list, in any of its members.
func (f *form) rowProblem(list string, i int) (watch.Problem, bool) {
	prefix := list + "[" + strconv.Itoa(i) + "]"
	for field, p := range f.problems {
		if strings.HasPrefix(field, prefix) {
			return p, true
		}
	}
	return watch.Problem{}, false
}

// advanced tells whether something in a folded part of the form is wrong, or set.
func (f *form) advanced(fields ...string) bool {
	return slices.ContainsFunc(fields, func(name string) bool {
		for field := range f.problems {
			if field == name || strings.HasPrefix(field, name) {
				return true
			}
		}
		return false
	})
}

// keeps tells whether a header has a value that a blank one keeps.
func (f *form) keeps(name string) bool {
	return slices.ContainsFunc(f.stored, func(s string) bool { return strings.EqualFold(s, name) })
}

// show answers with the form, and with why it was refused.
func (p *pages) show(q *shell.Request, f *form, refused *ops.Error) error {
	escalations, err := p.ops.Escalations(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	f.escalations = []string{watch.DefaultEscalation}
	for _, e := range escalations.Items {
		if e.Name != watch.DefaultEscalation {
			f.escalations = append(f.escalations, e.Name)
		}
	}
	if f.fields.Escalation != "" && !slices.Contains(f.escalations, f.fields.Escalation) {
		f.escalations = append(f.escalations, f.fields.Escalation)
	}
	if len(f.fields.Headers) == 0 && f.spareHeaders == 0 {
		f.spareHeaders = 1
	}
	page := shell.Page{Title: q.T("New monitor"), Section: "overview", Modules: []string{"monitors.js"}}
	if f.id != 0 {
		page.Title = q.T("Change %s", f.name)
	}
	if refused != nil {
		page.Status = shell.Status(refused)
	}
	left := f.take(refused)
	page.Body = formPage(f, refused, left)
	return q.Show(page)
}

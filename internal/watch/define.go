package watch

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Problem is one thing that is wrong with what a person wrote.
type Problem struct {
	// Field is its place, such as interval or steps[1].delay.
	Field string `json:"field"`
	// Text says what is wrong, Hint what to do; one line each.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// String is the problem in one line.
func (p Problem) String() string {
	line := p.Field + ": " + p.Text
	if p.Hint != "" {
		line += " (" + p.Hint + ")"
	}
	return line
}

// More limits of definitions.
const (
	MinTimeout      = time.Second
	MaxTimeout      = 5 * time.Minute
	MaxThreshold    = 100
	MaxLocations    = 20
	MaxTags         = 50
	MaxDependencies = 20

	maxName     = 128 // characters
	maxURL      = 4096
	maxToolName = 256
	maxLocation = 48
	shownName   = 64 // characters of a name in a message
)

// problems collects what is wrong.
type problems []Problem

func (p *problems) add(field, hint, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// Normalize fills in defaults: what is zero becomes what it stands for.
func (d *Definition) Normalize() {
	d.Transport = cmp.Or(d.Transport, StreamableHTTP)
	d.AuthMode = cmp.Or(d.AuthMode, AuthNone)
	d.DriftPolicy = cmp.Or(d.DriftPolicy, surface.Alert)
	d.Interval = cmp.Or(d.Interval, Duration(DefaultInterval))
	d.Timeout = cmp.Or(d.Timeout, Duration(DefaultTimeout))
	d.FailureThreshold = cmp.Or(d.FailureThreshold, DefaultThreshold)
	d.RecoveryThreshold = cmp.Or(d.RecoveryThreshold, DefaultRecovery)
	d.Escalation = cmp.Or(d.Escalation, DefaultEscalation)
	if len(d.Locations) == 0 {
		d.Locations = []string{DefaultLocation}
	}
}

// Validate says what is wrong with a normalized definition from source. It does not
// know whether the names in it (of a policy, of dependencies) exist.
func (d *Definition) Validate(source Source) []Problem {
	var p problems
	p.name("name", d.Name)
	if d.Group != "" {
		p.name("group", d.Group)
	}
	p.list("tags", d.Tags, MaxTags, p.name)
	d.validateTarget(&p, source)
	d.validateSurface(&p)
	d.validateSchedule(&p)
	p.name("escalation", d.Escalation)
	d.validateDependencies(&p)
	return p
}

// name wants 1 to 128 visible characters.
func (p *problems) name(field, name string) {
	const hint = "give 1 to 128 visible characters, with no blank at either end"
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		p.add(field, hint, "is empty")
	case n > maxName:
		p.add(field, hint, "has %d characters", n)
	case plain.Line(name, maxName) != name:
		p.add(field, hint, "has characters that cannot be seen: %s", plain.Line(name, shownName))
	case strings.TrimSpace(name) != name:
		p.add(field, hint, "begins or ends with a blank")
	}
}

// list wants at most limit different entries, each of which is as one wants.
func (p *problems) list(field string, entries []string, limit int, one func(field, entry string)) {
	if len(entries) > limit {
		p.add(field, fmt.Sprintf("give at most %d", limit), "has %d entries", len(entries))
		return
	}
	for i, entry := range entries {
		one(fmt.Sprintf("%s[%d]", field, i), entry)
		if slices.Index(entries, entry) < i {
			p.add(field, "name each once", "has %s twice", plain.Line(entry, shownName))
		}
	}
}

func (p *problems) oneOf(field, value string, values ...string) {
	if !slices.Contains(values, value) {
		p.add(field, "give "+oneOf(values), "%s is none of them", shownValue(value))
	}
}

func shownValue(s string) string {
	if s == "" {
		return "nothing"
	}
	return plain.Line(s, shownName)
}

// oneOf writes a, b or c.
func oneOf(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func (d *Definition) validateTarget(p *problems, source Source) {
	if source == FromFile { // the configuration has judged the target itself
		p.oneOf("transport", d.Transport, StreamableHTTP, SSE, Stdio)
		p.oneOf("auth_mode", d.AuthMode, AuthNone, AuthHeader, AuthOAuth, AuthLogin)
		if d.URL == "" {
			p.add("url", "give the endpoint", "is empty")
		}
		return
	}
	const onlyFile = "describe it in the configuration file"
	switch d.Transport {
	case Stdio:
		p.add("transport", onlyFile, "commands are started for monitors of the configuration file alone")
	default:
		p.oneOf("transport", d.Transport, StreamableHTTP, SSE)
	}
	switch d.AuthMode {
	case AuthLogin:
		p.add("auth_mode", onlyFile, "logging in is for monitors of the configuration file alone")
	default:
		p.oneOf("auth_mode", d.AuthMode, AuthNone, AuthHeader, AuthOAuth)
	}
	d.validateHeaders(p)
	if problem := d.target().Validate(); problem != nil {
		field := map[string]string{"invalid-header": "headers", "invalid-target": "auth_mode"}[problem.Reason]
		p.add(cmp.Or(field, "url"), strings.TrimSuffix(problem.Hint, flagHint), "%s", plain.Line(problem.Text, maxURL))
	}
	if len(d.URL) > maxURL {
		p.add("url", "give a shorter one", "has %d bytes, at most %d are taken", len(d.URL), maxURL)
	}
	if _, err := time.Parse(time.DateOnly, d.ProtocolVersion); d.ProtocolVersion != "" && err != nil {
		p.add("protocol_version", "give a revision such as 2025-06-18, or nothing to negotiate", "%s is no revision", shownValue(d.ProtocolVersion))
	}
}

// flagHint is the part of a hint that is for the command line alone.
const flagHint = ", or allow it on purpose with --allow-plaintext-credentials (allow_plaintext_credentials: true in a file)"

// target is what the definition says of the target, without values of headers.
func (d *Definition) target() *target.Target {
	t := &target.Target{Endpoint: d.URL, AuditChain: d.AuthMode == AuthOAuth}
	if d.Transport == SSE {
		t.Transport = target.SSE
	}
	if d.AuthMode == AuthHeader {
		for _, name := range d.Headers {
			t.Headers = append(t.Headers, target.Header{Name: name})
		}
	}
	return t
}

// reservedHeaders are written by the check itself.
const reservedHeaders = " accept connection content-length content-type host mcp-method mcp-name mcp-protocol-version mcp-session-id te trailer transfer-encoding upgrade user-agent "

func (d *Definition) validateHeaders(p *problems) {
	if d.AuthMode != AuthHeader {
		if len(d.Headers) > 0 {
			p.add("headers", "choose auth_mode header, or leave them out", "are only sent in auth_mode header")
		}
		return
	}
	if len(d.Headers) == 0 {
		p.add("headers", "give a name and a value, such as Authorization", "auth_mode header sends at least one")
	}
	lower := make([]string, len(d.Headers)) // a name is the same in any letter case
	for i, name := range d.Headers {
		lower[i] = strings.ToLower(name)
	}
	p.list("headers", lower, MaxHeaders, func(field, name string) {
		if len(name) > maxName || strings.Contains(reservedHeaders, " "+name+" ") {
			p.add(field, "leave it out", "%s is written by the check itself, or too long", shownValue(name))
		}
	})
}

func (d *Definition) validateSurface(p *problems) {
	p.list("expected_tools", d.ExpectedTools, MaxExpectedTools, func(field, name string) {
		if name == "" || len(name) > maxToolName || plain.Line(name, maxToolName) != name {
			p.add(field, "give the name that the server lists", "%s is no name of a tool", shownValue(name))
		}
	})
	if d.MaxTools < 0 || d.MaxTools > MaxMaxTools {
		p.add("max_tools", fmt.Sprintf("give 1 to %d, or 0 for no cap", MaxMaxTools), "is %d", d.MaxTools)
	}
	p.oneOf("drift_policy", string(d.DriftPolicy), texts(surface.Policies())...)
	known := make(map[surface.Class]bool)
	for _, info := range surface.Classes() {
		known[info.Class] = true
	}
	for _, class := range slices.Sorted(maps.Keys(d.DriftEffects)) {
		field := "drift_effects." + plain.Line(string(class), shownName)
		if !known[class] {
			p.add(field, "mcpvigil lists the classes of changes in its documentation, such as tool-added", "is no class of a change")
			continue
		}
		p.oneOf(field, string(d.DriftEffects[class]), texts(surface.Effects())...)
	}
}

// texts are values as plain text.
func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func (d *Definition) validateSchedule(p *problems) {
	p.between("interval", d.Interval, MinInterval, MaxInterval)
	p.between("timeout", d.Timeout, MinTimeout, MaxTimeout)
	p.threshold("failure_threshold", d.FailureThreshold)
	p.threshold("recovery_threshold", d.RecoveryThreshold)
	if len(d.Locations) == 0 {
		p.add("locations", "give at least one, such as "+DefaultLocation, "is empty")
	}
	p.list("locations", d.Locations, MaxLocations, func(field, name string) {
		if !IsLocation(name) {
			p.add(field, "give lower-case letters and digits, with single - or _ between them, at most 48", "%s is no name of a location", shownValue(name))
		}
	})
}

// IsLocation reports whether name can be the name of a location, which is also that of
// a queue.
func IsLocation(name string) bool {
	if len(name) > maxLocation {
		return false
	}
	for word := range strings.SplitSeq(strings.ReplaceAll(name, "_", "-"), "-") {
		if word == "" || strings.IndexFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) >= 0 {
			return false
		}
	}
	return true
}

func (p *problems) between(field string, d Duration, least, most time.Duration) {
	if got := time.Duration(d); got < least || got > most {
		p.add(field, fmt.Sprintf("give %s to %s", least, most), "is %s", got)
	}
}

func (p *problems) threshold(field string, n int) {
	if n < 1 || n > MaxThreshold {
		p.add(field, fmt.Sprintf("give 1 to %d", MaxThreshold), "is %d", n)
	}
}

func (d *Definition) validateDependencies(p *problems) {
	names := make([]string, len(d.Dependencies))
	for i, dependency := range d.Dependencies {
		names[i] = dependency.Monitor
	}
	p.list("dependencies", names, MaxDependencies, func(field, name string) {
		p.name(field+".monitor", name)
		if name == d.Name {
			p.add(field+".monitor", "name another monitor", "is the monitor itself")
		}
	})
}

// server is the same for the same server, as far as the definition tells.
func (d *Definition) server() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{d.URL, d.Transport, d.AuthMode, strings.Join(d.Headers, ","), d.ProtocolVersion}))
	return shortHash(sum[:])
}

// Loosens says what in a change of a monitor that has a baseline needs a proof: what
// makes it another server, or another view of it, what lets more pass, and what has it
// seen later, from elsewhere, or told to others. Each entry
// holds the new value, so that a proof for one change is none for another.
func Loosens(before, after *Definition, headersChanged bool) []string {
	var out []string
	differs := func(field, old, now string) {
		if old != now {
			out = append(out, fmt.Sprintf("%s: %s -> %s", field, shownValue(old), plain.Line(now, maxURL)))
		}
	}
	differs("url", before.URL, after.URL)
	differs("transport", before.Transport, after.Transport)
	differs("auth_mode", before.AuthMode, after.AuthMode)
	differs("headers", strings.Join(before.Headers, ", "), strings.Join(after.Headers, ", "))
	if headersChanged {
		out = append(out, "headers: other values")
	}
	differs("protocol_version", before.ProtocolVersion, after.ProtocolVersion)
	for _, class := range weaker(before, after) {
		out = append(out, "drift_policy: "+class+" fails no more")
	}
	if before.MaxTools > 0 && (after.MaxTools == 0 || after.MaxTools > before.MaxTools) {
		out = append(out, fmt.Sprintf("max_tools: %d -> %d", before.MaxTools, after.MaxTools))
	}
	for _, name := range before.ExpectedTools {
		if !slices.Contains(after.ExpectedTools, name) {
			out = append(out, "expected_tools: without "+plain.Line(name, maxToolName))
		}
	}
	if after.FailureThreshold > before.FailureThreshold {
		out = append(out, fmt.Sprintf("failure_threshold: %d -> %d", before.FailureThreshold, after.FailureThreshold))
	}
	if after.RecoveryThreshold > before.RecoveryThreshold {
		out = append(out, fmt.Sprintf("recovery_threshold: %d -> %d", before.RecoveryThreshold, after.RecoveryThreshold))
	}
	if after.Interval > before.Interval {
		differs("interval", time.Duration(before.Interval).String(), time.Duration(after.Interval).String())
	}
	for _, location := range before.Locations {
		if !slices.Contains(after.Locations, location) {
			out = append(out, "locations: without "+location)
		}
	}
	differs("escalation", before.Escalation, after.Escalation)
	return out
}

// weaker are the classes that fail under the policy before and not under that after,
// and what of findings does.
func weaker(before, after *Definition) []string {
	var all []surface.Change
	for _, info := range surface.Classes() {
		all = append(all, surface.Change{Class: info.Class})
	}
	var out []string
	now := after.Policy().Apply(all)
	for i, c := range before.Policy().Apply(all) {
		if c.Effect == surface.Fail && now[i].Effect != surface.Fail {
			out = append(out, string(c.Class))
		}
	}
	// Findings: all fail under alert, but for old notes; no note under seed; none under record.
	strict := []surface.PolicyName{surface.Record, surface.Seed, surface.Alert}
	if slices.Index(strict, cmp.Or(after.DriftPolicy, surface.Alert)) < slices.Index(strict, cmp.Or(before.DriftPolicy, surface.Alert)) {
		out = append(out, "finding")
	}
	return out
}

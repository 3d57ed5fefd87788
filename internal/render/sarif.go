package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// The parts of SARIF 2.1.0 (OASIS) that are written. Messages are our words first;
// names that a server chose stand at their end, without what SARIF takes for a
// link.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string       `json:"id"`
		Name                 string       `json:"name"`
		ShortDescription     sarifMessage `json:"shortDescription"`
		Help                 sarifHelp    `json:"help"`
		HelpURI              string       `json:"helpUri"`
		DefaultConfiguration sarifConfig  `json:"defaultConfiguration"`
		Properties           *sarifTags   `json:"properties,omitempty"`
	}
	sarifHelp struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifTags struct {
		Tags []string `json:"tags"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifMessage      `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name      string `json:"name"`
		Qualified string `json:"fullyQualifiedName"`
		Kind      string `json:"kind"`
	}
)

// maxResults is the most that readers of SARIF take of one run.
const maxResults = 25_000

// sarifWriter collects results, and the rules that they need.
type sarifWriter struct {
	driver  sarifDriver
	rules   map[string]int
	results []sarifResult
	// texts of classes and rules.
	texts map[string]sarifRule
}

func sarif(verifications []*Verification, o Options) ([]byte, error) {
	program := o.Program
	if program == "" {
		program = "mcpvigil"
	}
	w := &sarifWriter{
		driver: sarifDriver{Name: program, Version: o.Version, InformationURI: "https://github.com/mcpvigil/mcpvigil", Rules: []sarifRule{}},
		rules:  map[string]int{}, results: []sarifResult{}, texts: sarifRules(),
	}
	invocation := sarifInvocation{ExecutionSuccessful: true}
	for _, v := range verifications {
		if v.down() {
			invocation.ExecutionSuccessful = false
			invocation.Notifications = append(invocation.Notifications, sarifNotification{"error", sarifMessage{
				bracketed(string(v.Result.Status) + ", " + strings.TrimPrefix(name(v.Reason)+": ", ": ") + line(v.Message) + " (" + v.label() + ")"),
			}})
		}
		for _, r := range rows(pointers(v.Result.Changes)) {
			for _, d := range r.details {
				w.change(v, r, d)
			}
		}
		for i := range v.Result.Findings {
			if f := &v.Result.Findings[i]; f.Accepted == nil {
				w.finding(v, f)
			}
		}
	}
	return indentJSON(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{w.driver}, Invocations: []sarifInvocation{invocation},
			Results: w.results[:min(len(w.results), maxResults)], ColumnKind: "unicodeCodePoints",
		}},
	})
}

// Where the rules are explained.
const (
	docs         = "https://github.com/mcpvigil/mcpvigil/blob/main/docs/surface.md"
	docsClasses  = docs + "#classes-of-changes"
	docsFindings = docs + "#the-lint"
)

// sarifRules is every rule that there can be, by its id.
func sarifRules() map[string]sarifRule {
	out := map[string]sarifRule{}
	for _, c := range surface.Classes() {
		out[string(c.Class)] = sarifRule{
			ID: string(c.Class), Name: c.Event, ShortDescription: sarifMessage{c.Text},
			Help: help(c.Text, "Read the text before and after. If it is what the server should say, approve it with mcpvigil lock; "+
				"if not, keep to the version that was approved.", docsClasses),
			HelpURI:              docsClasses,
			DefaultConfiguration: sarifConfig{sarifLevel(c.Effect)},
		}
	}
	for _, r := range lint.Rules() {
		rule := sarifRule{
			ID: r.ID, Name: lint.Event, ShortDescription: sarifMessage{r.Text},
			Help: help(r.Text, "Do not approve a text that is made to steer a model: keep to a version without it, or remove the server. "+
				"What is harmless is accepted with mcpvigil lock --accept ID --reason TEXT.", docsFindings),
			HelpURI:              docsFindings,
			DefaultConfiguration: sarifConfig{"note"},
		}
		for _, s := range r.Severities {
			if s == lint.Block {
				rule.DefaultConfiguration.Level = "error"
			}
		}
		rule.Properties = &sarifTags{Tags: append([]string{"security"}, r.Techniques...)}
		out[r.ID] = rule
	}
	return out
}

// help says what a rule is about and what to do.
func help(what, do, uri string) sarifHelp {
	return sarifHelp{Text: what + "\n" + do + "\n" + uri, Markdown: what + "\n\n" + do + "\n\n[What this means](" + uri + ")"}
}

func sarifLevel(e surface.Effect) string {
	switch e {
	case surface.Fail:
		return "error"
	case surface.Event:
		return "note"
	default:
		return "none"
	}
}

// rule returns the index of a rule, which it adds when it is the first to need it.
func (w *sarifWriter) rule(id string) int {
	if i, ok := w.rules[id]; ok {
		return i
	}
	r, ok := w.texts[id]
	if !ok {
		r = sarifRule{ID: id, Name: id, ShortDescription: sarifMessage{id}, Help: help(id, "", docs), HelpURI: docs, DefaultConfiguration: sarifConfig{"note"}}
	}
	w.rules[id] = len(w.driver.Rules)
	w.driver.Rules = append(w.driver.Rules, r)
	return w.rules[id]
}

// Bounds of one result.
const (
	maxExcerpts = 3   // of the texts that a result is about
	maxLogical  = 100 // items that it names
)

// change adds the same change of any number of items.
func (w *sarifWriter) change(v *Verification, r *row, d *detail) {
	c := d.changes[0]
	text := d.text
	if r.identity != "" {
		text += ", as " + r.identity
	}
	parts := []string{string(c.Class), v.label(), string(c.Kind), c.Pointer, c.Detail, c.Identity}
	var values []string
	for _, change := range d.changes {
		values = append(values, change.Item+"\x00"+string(change.After))
	}
	slices.Sort(values)
	var excerpts []string
	edits := sameEdits(d.changes)
	for i, same := range edits {
		if lines := excerptLines(same[0]); len(lines) > 0 && i < maxExcerpts {
			excerpts = append(excerpts, lines...)
		} else if len(excerpts) > 0 {
			excerpts = append(excerpts, fmt.Sprintf("and %d more texts", len(edits)-i))
			break
		}
	}
	w.add(v, sarifResult{
		RuleID: string(c.Class), Level: sarifLevel(c.Effect), Message: sarifMessage{text},
		PartialFingerprints: fingerprint(append(parts, values...)...),
	}, d.changes, excerpts)
}

func (w *sarifWriter) finding(v *Verification, f *baseline.Verdict) {
	var excerpt []string
	if f.Excerpt != "" {
		excerpt = []string{"| " + cut(runs(line(f.Excerpt)), reportColumns)}
	}
	w.add(v, sarifResult{
		RuleID: f.Rule, Level: sarifLevel(f.Effect), Message: sarifMessage{line(f.Message)},
		PartialFingerprints: fingerprint(f.ID, v.label()),
	}, []*surface.Change{{Kind: f.Kind, Item: f.Item, Pointer: f.Pointer}}, excerpt)
}

// add completes a result with its places and with what the texts there say.
func (w *sarifWriter) add(v *Verification, r sarifResult, places []*surface.Change, excerpts []string) {
	first := places[0]
	r.RuleIndex = w.rule(r.RuleID)
	r.Message.Text = bracketed(strings.Join(append([]string{r.Message.Text + ": " + placeOf(places) + ", of " + v.label()}, excerpts...), "\n"))
	var at sarifLocation
	for _, c := range places[:min(len(places), maxLogical)] {
		logical := name(c.Item)
		if logical == "" {
			logical = kindNoun(c.Kind)
		}
		at.Logical = append(at.Logical, sarifLogical{Name: logical, Qualified: v.label() + " " + place(c.Kind, c.Item, c.Pointer), Kind: "member"})
	}
	if v.File != "" {
		at.Physical = &sarifPhysical{sarifArtifact{fileURI(v.File)}, sarifRegion{1}}
		if v.Line != nil {
			at.Physical.Region.StartLine = max(1, v.Line(first.Kind, first.Item))
		}
	}
	r.Locations = []sarifLocation{at}
	w.results = append(w.results, r)
}

// bracketed keeps a message from holding a link (SARIF 2.1.0, 3.11.6).
func bracketed(s string) string { return strings.NewReplacer("[", `\[`, "]", `\]`).Replace(s) }

func fingerprint(parts ...string) map[string]string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return map[string]string{"mcpvigil/v1": hex.EncodeToString(h.Sum(nil)[:16])}
}

// fileURI is a path as a URI reference.
func fileURI(path string) string {
	path = filepath.ToSlash(filepath.Clean(path))
	u := url.URL{Path: path}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
		if !strings.HasPrefix(path, "/") {
			u.Path = "/" + path
		}
	}
	return u.String()
}

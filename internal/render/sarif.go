package render

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
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
		DefaultConfiguration sarifConfig  `json:"defaultConfiguration"`
		Properties           *sarifTags   `json:"properties,omitempty"`
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
		for _, c := range v.Result.Changes {
			w.change(v, c)
		}
		for i := range v.Result.Findings {
			w.finding(v, &v.Result.Findings[i])
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

// sarifRules is every rule that there can be, by its id.
func sarifRules() map[string]sarifRule {
	out := map[string]sarifRule{}
	for _, c := range surface.Classes() {
		out[string(c.Class)] = sarifRule{
			ID: string(c.Class), Name: c.Event, ShortDescription: sarifMessage{c.Text},
			DefaultConfiguration: sarifConfig{sarifLevel(c.Effect)},
		}
	}
	for _, r := range lint.Rules() {
		rule := sarifRule{ID: r.ID, Name: lint.Event, ShortDescription: sarifMessage{r.Text}, DefaultConfiguration: sarifConfig{"note"}}
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

func sarifLevel(e surface.Effect) string {
	switch e {
	case surface.Fail:
		return "error"
	case surface.Event:
		return "warning"
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
		r = sarifRule{ID: id, Name: id, ShortDescription: sarifMessage{id}, DefaultConfiguration: sarifConfig{"warning"}}
	}
	w.rules[id] = len(w.driver.Rules)
	w.driver.Rules = append(w.driver.Rules, r)
	return w.rules[id]
}

func (w *sarifWriter) change(v *Verification, c surface.Change) {
	text := line(c.Detail)
	if c.Identity != "" {
		text += ", as " + name(c.Identity)
	}
	w.add(v, sarifResult{
		RuleID: string(c.Class), Level: sarifLevel(c.Effect), Message: sarifMessage{text},
		PartialFingerprints: fingerprint(string(c.Class), v.label(), string(c.Kind), c.Item, c.Pointer, c.Detail, c.Identity, string(c.After)),
	}, c.Kind, c.Item, c.Pointer)
}

func (w *sarifWriter) finding(v *Verification, f *baseline.Verdict) {
	level := sarifLevel(f.Effect)
	if f.Effect != surface.Fail && f.Severity == lint.Note {
		level = "note"
	}
	w.add(v, sarifResult{
		RuleID: f.Rule, Level: level, Message: sarifMessage{line(f.Message)},
		PartialFingerprints: fingerprint(f.ID, v.label()),
	}, f.Kind, f.Item, f.Pointer)
}

// add completes a result with its place.
func (w *sarifWriter) add(v *Verification, r sarifResult, kind surface.Kind, item, pointer string) {
	where := place(kind, item, pointer)
	r.RuleIndex = w.rule(r.RuleID)
	r.Message.Text = bracketed(r.Message.Text + ": " + where + ", of " + v.label())
	logical := name(item)
	if logical == "" {
		logical = kindNoun(kind)
	}
	at := sarifLocation{Logical: []sarifLogical{{Name: logical, Qualified: v.label() + " " + where, Kind: "member"}}}
	if v.File != "" {
		at.Physical = &sarifPhysical{sarifArtifact{fileURI(v.File)}, sarifRegion{1}}
		if v.Line != nil {
			at.Physical.Region.StartLine = max(1, v.Line(kind, item))
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

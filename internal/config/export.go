package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Exported is what [Export] writes.
type Exported struct {
	Monitors    []watch.Monitor
	Channels    []Channel
	Escalations []watch.Escalation
	Windows     []watch.Window
}

// Export writes a configuration file that loads with [Parse] and gives the same
// definitions. Every value of a header, and every setting of a channel that is a
// reference, becomes a reference to an environment variable; the head of the file
// lists these, and what could not be written.
func Export(e Exported) ([]byte, error) {
	w := &exporter{importer: importer{used: map[string]bool{}, names: map[string]bool{}}, ids: map[string]string{}}
	w.identify(e.Monitors)
	targets := w.sequence()
	for i := range e.Monitors {
		if n := w.monitor(&e.Monitors[i]); n != nil {
			targets.Content = append(targets.Content, n)
		}
	}
	if len(targets.Content) == 0 {
		return nil, fmt.Errorf("there is no monitor that a configuration file could hold")
	}
	channels := w.sequence()
	for _, c := range e.Channels {
		channels.Content = append(channels.Content, w.channel(c))
	}
	root := mappingOf("version", "v1", "targets", targets, "channels", filled(channels), "escalations", filled(w.escalations(e)), "windows", filled(w.windows(e)))
	body, err := yaml.Dump(root, yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	var out bytes.Buffer
	out.WriteString("# yaml-language-server: $schema=" + SchemaID + "\n")
	for _, line := range append(w.left, toSet(w.refs)...) {
		out.WriteString(plain.Line(line, 2000) + "\n")
	}
	out.Write(body)
	return out.Bytes(), nil
}

type exporter struct {
	importer
	ids  map[string]string // of monitors that others stand on, by name
	left []string
}

func (w *exporter) sequence() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode} }

func filled(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// identify gives ids to monitors that others stand on.
func (w *exporter) identify(monitors []watch.Monitor) {
	names, taken := map[string]bool{}, map[string]bool{}
	for i := range monitors {
		names[monitors[i].Definition.Name] = true
	}
	for i := range monitors {
		for _, d := range monitors[i].Definition.Dependencies {
			if !names[d.Monitor] || w.ids[d.Monitor] != "" {
				continue
			}
			base := slug(d.Monitor)
			if base = strings.Trim(base[:min(len(base), 50)], "-"); base == "" {
				base = "monitor"
			}
			id := base
			for n := 2; taken[id]; n++ {
				id = base + "-" + strconv.Itoa(n)
			}
			taken[id], w.ids[d.Monitor] = true, id
		}
	}
}

// without notes what is left out of the monitor or other thing called name.
func (w *exporter) without(name, what string) {
	w.left = append(w.left, "# Left out of "+strconv.QuoteToASCII(name)+": "+what)
}

func (w *exporter) monitor(m *watch.Monitor) *yaml.Node {
	d := &m.Definition
	t := &target.Target{Name: d.Name, Endpoint: d.URL, Transport: target.HTTP, ProtocolVersion: d.ProtocolVersion}
	if d.Transport == watch.SSE {
		t.Transport = target.SSE
	}
	s := ClientServer{Name: d.Name, Target: t}
	s.written.sources = map[string]string{"the endpoint": "the part of the monitor's URL that looks like a secret"}
	if d.Transport == watch.Stdio || d.AuthMode == watch.AuthLogin {
		w.left = append(w.left, "# Left out: "+strconv.QuoteToASCII(d.Name)+": it stands in a configuration file already")
		return nil
	}
	var mcp, thresholds *yaml.Node
	transport := ""
	if d.Transport == watch.SSE {
		transport = string(target.SSE)
	}
	if n := mappingOf("transport", transport, "protocol_version", d.ProtocolVersion, "required_tools", names(d.ExpectedTools)); len(n.Content) > 0 {
		mcp = n
	}
	if d.MaxTools > 0 {
		thresholds = mappingOf("max_tools", integer(d.MaxTools))
	}
	n := mappingOf("name", d.Name, "id", w.ids[d.Name], "type", "mcp", "endpoint", w.text(s, d.URL, "", "", "the endpoint"),
		"timeout", lasting(d.Timeout), "auth", w.credential(s, d), "allow_plaintext_credentials", plaintext(d), "thresholds", thresholds, "mcp", mcp,
		"monitor", w.schedule(m), "dependencies", w.dependencies(d))
	if why := unloadable(t, withoutReferences(n)); why != "" {
		w.left = append(w.left, "# Left out: "+strconv.QuoteToASCII(d.Name)+": "+why)
		return nil
	}
	return n
}

// withoutReferences is a target as it would load alone.
func withoutReferences(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "dependencies" {
			out.Content = append(out.Content, n.Content[i], n.Content[i+1])
		}
	}
	return out
}

// plaintext: a monitor of a plain http address was allowed to send its headers there.
func plaintext(d *watch.Definition) *yaml.Node {
	t := target.Target{Endpoint: d.URL, Headers: []target.Header{target.Bearer(target.Literal("x"))}}
	if p := t.Validate(); d.AuthMode != watch.AuthHeader || p == nil || p.Reason != "plaintext-credential" {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
}

func (w *exporter) credential(s ClientServer, d *watch.Definition) *yaml.Node {
	if d.AuthMode == watch.AuthOAuth {
		return mappingOf("mode", "oauth")
	}
	if d.AuthMode != watch.AuthHeader || len(d.Headers) == 0 {
		return nil
	}
	list := w.sequence()
	for _, name := range d.Headers {
		what := "header " + name
		s.written.sources[what] = "the value of the header, which is not given out"
		list.Content = append(list.Content, mappingOf("name", name, "value_env", w.reference(s, target.Secret{}, name, what)))
	}
	return mappingOf("headers", list)
}

func (w *exporter) schedule(m *watch.Monitor) *yaml.Node {
	d := &m.Definition
	var effects, paused, locations *yaml.Node
	if len(d.DriftEffects) > 0 {
		effects = &yaml.Node{Kind: yaml.MappingNode}
		for _, class := range slices.Sorted(maps.Keys(d.DriftEffects)) {
			effects.Content = append(effects.Content, scalar(string(class)), scalar(string(d.DriftEffects[class])))
		}
	}
	if m.Paused {
		paused = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	}
	if !slices.Equal(d.Locations, []string{watch.DefaultLocation}) {
		locations = names(d.Locations)
	}
	policy := d.DriftPolicy
	if policy == surface.Alert {
		policy = ""
	}
	escalation := d.Escalation
	if escalation == watch.DefaultEscalation {
		escalation = ""
	}
	return mappingOf("interval", lasting(d.Interval), "failure_threshold", integer(d.FailureThreshold), "recovery_threshold", integer(d.RecoveryThreshold),
		"drift_policy", string(policy), "drift_effects", effects, "group", d.Group, "tags", names(d.Tags),
		"locations", locations, "escalation", escalation, "paused", paused)
}

func (w *exporter) dependencies(d *watch.Definition) *yaml.Node {
	list := w.sequence()
	for _, dep := range d.Dependencies {
		id := w.ids[dep.Monitor]
		if id == "" {
			w.without(d.Name, "its dependency "+strconv.QuoteToASCII(dep.Monitor)+", which is not in this file")
			continue
		}
		var critical *yaml.Node
		if !dep.Critical {
			critical = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
		}
		list.Content = append(list.Content, mappingOf("ref", id, "critical", critical))
	}
	return filled(list)
}

func (w *exporter) channel(c Channel) *yaml.Node {
	settings := &yaml.Node{Kind: yaml.MappingNode}
	s := ClientServer{Name: c.Name, Target: &target.Target{Name: c.Name}}
	s.written.sources = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		if v := c.Settings[name]; !v.Reference() && !LooksSecret(v.Text) && !hasUserinfo(v.Text) {
			settings.Content = append(settings.Content, scalar(name), scalar(strings.ReplaceAll(v.Text, "${", "$${")))
			continue
		}
		what := "setting " + name + " of the channel"
		s.written.sources[what] = "the value of the setting, which is not given out"
		settings.Content = append(settings.Content, scalar(name+"_env"), scalar(w.reference(s, target.Secret{}, name, what)))
	}
	return mappingOf("name", c.Name, "type", c.Type, "settings", filled(settings))
}

func (w *exporter) escalations(e Exported) *yaml.Node {
	list := w.sequence()
	for _, x := range e.Escalations {
		steps := w.sequence()
		for _, s := range x.Steps {
			delay := ""
			if s.Delay > 0 {
				delay = lasting(s.Delay)
			}
			steps.Content = append(steps.Content, mappingOf("delay", delay, "channels", names(s.Channels)))
		}
		list.Content = append(list.Content, mappingOf("name", x.Name, "on", names(x.On), "steps", steps, "repeat", integer(x.Repeat)))
	}
	return list
}

func (w *exporter) windows(e Exported) *yaml.Node {
	list := w.sequence()
	for _, x := range e.Windows {
		var concerned []string
		for _, name := range x.Monitors {
			if !slices.ContainsFunc(e.Monitors, func(m watch.Monitor) bool { return m.Definition.Name == name }) {
				w.without(x.Name, "the monitor "+strconv.QuoteToASCII(name)+", which is not in this file")
				continue
			}
			concerned = append(concerned, name)
		}
		if len(x.Monitors) > 0 && len(concerned) == 0 && len(x.Tags) == 0 && len(x.Groups) == 0 {
			continue // or it would concern all
		}
		start, end, length := "", "", ""
		if !x.Start.IsZero() {
			start, end = x.Start.UTC().Format(time.RFC3339), x.End.UTC().Format(time.RFC3339)
		}
		if x.For > 0 {
			length = lasting(x.For)
		}
		list.Content = append(list.Content, mappingOf("name", x.Name, "kind", string(x.Kind), "monitors", names(concerned), "tags", names(x.Tags),
			"groups", names(x.Groups), "start", start, "end", end, "days", names(x.Days), "from", x.From, "for", length, "zone", x.Zone))
	}
	return list
}

// names writes a list of texts in one line; an empty one is left out.
func names(list []string) *yaml.Node {
	if len(list) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, scalar(s))
	}
	return n
}

// integer writes a number; zero is left out.
func integer(v int) *yaml.Node {
	if v == 0 {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
}

// lasting is a duration as a file has it, or empty.
func lasting(d watch.Duration) string {
	if d <= 0 {
		return ""
	}
	return shortDuration(time.Duration(d))
}

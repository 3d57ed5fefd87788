package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// This file holds what only concerns servers that are watched over time.

// Monitor is how a target is to be watched over time.
type Monitor struct {
	Target *target.Target
	// Configured reports whether the target has a monitor block at all.
	Configured bool
	Interval   time.Duration
	// FailureThreshold and RecoveryThreshold are zero when the file has none.
	FailureThreshold, RecoveryThreshold int
	// Policy is what changes of the surface do.
	Policy     surface.Policy
	Group      string
	Tags       []string
	Locations  []string
	Escalation string
	Paused     bool
	// Dependencies are targets of the file by name, not those defined in place.
	Dependencies []watch.Dependency
	// Where it is, to say what is wrong with it.
	at, name, escalation Error
}

// Wrong is a mistake of m.
func (m *Monitor) Wrong(text, hint string) Error { return m.at.saying(text, hint) }

// Definition is m as a monitor has it, without the values of headers.
func (m *Monitor) Definition() watch.Definition {
	t := m.Target
	d := watch.Definition{
		Name: t.Name, Group: m.Group, Tags: m.Tags,
		URL: t.Address(), Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone, ProtocolVersion: t.ProtocolVersion,
		ExpectedTools: t.Expect.Tools, DriftPolicy: m.Policy.Base, DriftEffects: m.Policy.Effects,
		Interval: watch.Duration(m.Interval), Timeout: watch.Duration(t.Budgets.Overall),
		FailureThreshold: m.FailureThreshold, RecoveryThreshold: m.RecoveryThreshold,
		Escalation: m.Escalation, Locations: m.Locations, Dependencies: m.Dependencies,
	}
	switch t.Kind() {
	case target.SSE:
		d.Transport = watch.SSE
	case target.Stdio:
		d.Transport = watch.Stdio
	}
	switch {
	case t.AuditChain:
		d.AuthMode = watch.AuthOAuth
	case t.OAuth != nil:
		d.AuthMode = watch.AuthLogin
	case len(t.Headers) > 0:
		d.AuthMode = watch.AuthHeader
	}
	for _, h := range t.Headers {
		d.Headers = append(d.Headers, h.Name)
	}
	if t.Expect.MaxTools != nil {
		d.MaxTools = *t.Expect.MaxTools
	}
	d.Normalize()
	return d
}

func (b *builder) monitor(n *node, c *targetConfig, path string) Monitor {
	m := Monitor{Target: n.target, Configured: c.Monitor != nil, Interval: b.result.Defaults.Interval, Policy: surface.Policy{Base: surface.Alert}, Locations: []string{watch.DefaultLocation}}
	at, name := c.at, c.where("name")
	m.at = Error{File: b.decoder.file, Line: at.Line, Column: at.Column, Path: path}
	m.name = Error{File: b.decoder.file, Line: name.Line, Column: name.Column, Path: path + ".name"}
	w := c.Monitor
	if w == nil {
		return m
	}
	escalation := w.where("escalation")
	at = w.at
	m.at.Line, m.at.Column, m.at.Path = at.Line, at.Column, path+".monitor"
	m.escalation = Error{File: b.decoder.file, Line: escalation.Line, Column: escalation.Column, Path: path + ".monitor.escalation"}
	if w.Interval != 0 {
		m.Interval = time.Duration(w.Interval)
	}
	if w.DriftPolicy != "" {
		m.Policy.Base = surface.PolicyName(w.DriftPolicy)
	}
	for class, effect := range w.DriftEffects {
		if m.Policy.Effects == nil {
			m.Policy.Effects = map[surface.Class]surface.Effect{}
		}
		m.Policy.Effects[surface.Class(class)] = surface.Effect(effect)
	}
	if w.Locations != nil {
		m.Locations = w.Locations
	}
	m.FailureThreshold, m.RecoveryThreshold = number(w.FailureThreshold), number(w.RecoveryThreshold)
	m.Group, m.Tags, m.Escalation, m.Paused = w.Group, w.Tags, w.Escalation, w.Paused != nil && *w.Paused
	return m
}

func number(v *int) int {
	if v == nil {
		return 0
	}
	return *v
}

// depend notes which monitors stand on which. Edges to targets that are defined in
// place, and so have no monitor, are none.
func (b *builder) depend(roots []*node) {
	top := map[*node]string{}
	for _, n := range roots {
		top[n] = n.target.Name
	}
	for i, n := range roots {
		m := &b.result.Monitors[i]
		for _, e := range n.edges {
			if name, ok := top[e.to]; ok && e.to != nil {
				m.Dependencies = append(m.Dependencies, watch.Dependency{Monitor: name, Critical: !e.dep.Optional})
			}
		}
	}
}

// Channel is where notifications go.
type Channel struct {
	Name, Type string
	// Settings are by name, without _env, _file or _command.
	Settings map[string]Setting
	at       Error
	places   map[string]Error
}

// Setting is one setting of a channel: a text, or a secret that is read when it is used.
type Setting struct {
	Text   string
	Secret target.Secret
}

// Reference reports whether s refers to where its value is.
func (s Setting) Reference() bool { return !s.Secret.IsZero() }

// Wrong is the mistake that a setting of c has; an empty name is c as a whole.
func (c *Channel) Wrong(setting, text, hint string) Error {
	e := c.at
	if at, ok := c.places[setting]; ok {
		e = at
	}
	e.Text, e.Hint = text, hint
	return e
}

// watched builds channels, escalations, windows and the path of the lockfile.
func (b *builder) watched(conf *fileConfig) {
	channels := b.channels(conf.Channels)
	b.escalations(conf.Escalations, channels)
	b.windows(conf.Windows)
	if conf.Lockfile != "" {
		p := &part{builder: b, t: &target.Target{}, o: &conf.object}
		at := conf.where("lockfile")
		b.result.Lockfile = p.beside(p.expand(at, "lockfile", conf.Lockfile))
		if wrong := p.t.Problem; wrong != nil {
			b.failAt(at, "lockfile", "the path of the lockfile has a variable that is not set", "set it to a value that is not empty where mcpvigil runs")
		}
	}
	b.policies()
}

func (b *builder) channels(list []*channelConfig) (names []string) {
	first := map[string]int{}
	for i, c := range list {
		if c == nil {
			continue
		}
		path := "channels[" + strconv.Itoa(i) + "]"
		names = append(names, c.Name)
		b.unique(&c.object, path, c.Name, "channel", first)
		ch := Channel{Name: c.Name, Type: string(c.Type), Settings: map[string]Setting{}, places: map[string]Error{}}
		ch.at = Error{File: b.decoder.file, Line: c.at.Line, Column: c.at.Column, Path: path}
		if c.Settings != nil {
			b.settings(&ch, c.Settings.node, path+".settings")
		}
		b.result.Channels = append(b.result.Channels, ch)
	}
	return names
}

// unique records a name that is used twice.
func (b *builder) unique(o *object, path, name, what string, first map[string]int) {
	at := o.where("name")
	if line, again := first[name]; again && name != "" {
		b.failAt(at, path+".name", fmt.Sprintf("the name %s is used twice, first by the %s on line %d", quoteKey(name), what, line), "give each "+what+" a name of its own")
		return
	}
	first[name] = at.Line
}

var referenceEndings = []string{"_env", "_file", "_command"}

func (b *builder) settings(c *Channel, n *yaml.Node, path string) {
	p := &part{builder: b, t: &target.Target{}, o: &object{at: n}, path: path}
	for _, m := range b.members(n) {
		key, ending := m.key.Value, ""
		for _, e := range referenceEndings {
			if name, ok := strings.CutSuffix(key, e); ok && name != "" {
				key, ending = name, e
			}
		}
		at := Error{File: b.decoder.file, Line: m.key.Line, Column: m.key.Column, Path: path + "." + m.key.Value}
		if !identifier(m.key.Value) {
			b.failAt(m.key, path, "a key of settings is not the name of a setting", "write lower-case letters, digits and underscores")
			continue
		}
		if _, again := c.Settings[key]; again {
			b.failAt(m.key, at.Path, key+" is given twice", "keep one of them")
			continue
		}
		s, ok := b.setting(p, m, ending)
		if !ok {
			continue
		}
		c.Settings[key], c.places[key] = s, at
		if wrong := p.t.Problem; wrong != nil {
			b.refuse(nil, at.saying(strings.TrimPrefix(wrong.Text, b.position(m.value)), wrong.Hint))
			p.t.Problem = nil
		}
	}
}

// position is how the text of a problem at n starts.
func (b *builder) position(n *yaml.Node) string {
	return Error{File: b.decoder.file, Line: n.Line, Column: n.Column}.position() + ": "
}

func (e Error) saying(text, hint string) Error {
	e.Text, e.Hint = text, hint
	return e
}

func identifier(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// setting reads one value of settings.
func (b *builder) setting(p *part, m member, ending string) (Setting, bool) {
	n := m.value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	name := m.key.Value
	if ending == "_command" {
		argv, ok := b.words(n, p.path+"."+name, name)
		if !ok {
			return Setting{}, false
		}
		return Setting{Secret: p.secretCommand(n, name, argv)}, true
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		b.failAt(n, p.path+"."+name, name+" must be a string", "put it in quotes")
		return Setting{}, false
	}
	text := n.Value
	switch {
	case ending == "_env" && LooksSecret(text):
		b.failAt(n, p.path+"."+name, name+" looks like a secret itself", "put the secret into an environment variable and write the name of that variable here")
	case ending == "_env" && !ValidVariable(text):
		b.failAt(n, p.path+"."+name, name+" is not the name of an environment variable", "write a name of letters, digits and underscores, such as API_TOKEN; a secret belongs into that variable, not here")
	case ending == "_env":
		return Setting{Secret: p.secretEnv(n, variable(text))}, true
	case ending == "_file":
		return Setting{Secret: p.secretFile(n, name, text)}, true
	case LooksSecret(text) || hasUserinfo(text):
		b.failAt(n, p.path+"."+name, name+" looks like a secret, which is never written into this file", "write "+name+"_env: VARIABLE, "+name+"_file: PATH or "+name+"_command: [PROGRAM]")
	default:
		return Setting{Text: p.expand(n, name, text)}, true
	}
	return Setting{}, false
}

func hasUserinfo(text string) bool {
	_, rest, ok := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	user, _, at := strings.Cut(host, "@")
	_, _, password := strings.Cut(user, ":")
	return ok && at && password
}

// words reads a program and its arguments.
func (b *builder) words(n *yaml.Node, path, name string) ([]string, bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		b.failAt(n, path, name+" must be a list of a program and its arguments", "write it in square brackets")
		return nil, false
	}
	var argv []string
	for _, item := range n.Content {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.ScalarNode || item.ShortTag() != "!!str" || item.Value == "" {
			b.failAt(item, path, "an argument of "+name+" must be a string", "put it in quotes")
			return nil, false
		}
		argv = append(argv, item.Value)
	}
	return argv, true
}

func (b *builder) escalations(list []*escalationConfig, channels []string) {
	first := map[string]int{}
	for i, c := range list {
		if c == nil {
			continue
		}
		path := "escalations[" + strconv.Itoa(i) + "]"
		b.unique(&c.object, path, c.Name, "escalation", first)
		e := watch.Escalation{Name: c.Name, Source: watch.FromFile, On: texts(c.On), Repeat: number(c.Repeat)}
		if len(e.On) == 0 {
			e.On = nil
		}
		known := len(c.Steps) > 0
		for j, s := range c.Steps {
			if s == nil {
				known = false
				continue
			}
			for k, name := range s.Channels {
				if slices.Contains(channels, name) || name == "" {
					continue
				}
				known = false
				at := s.where("channels")
				if k < len(at.Content) {
					at = at.Content[k]
				}
				b.failAt(at, fmt.Sprintf("%s.steps[%d].channels", path, j), "there is no channel "+quoteKey(name), meantName(name, channels, "channels"))
			}
			e.Steps = append(e.Steps, watch.Step{Delay: watch.Duration(s.Delay), Channels: s.Channels})
		}
		if known {
			b.watchProblems(&c.object, path, e.Validate(channels))
		}
		b.result.Escalations = append(b.result.Escalations, e)
	}
}

// meantName is the hint for a name that nothing under key has.
func meantName(name string, names []string, key string) string {
	if c := closest(name, names); c != "" {
		return `did you mean "` + c + `"?`
	}
	return "define it under " + key
}

// watchProblems records what package watch finds wrong with a value at o.
func (b *builder) watchProblems(o *object, path string, problems []watch.Problem) {
	for _, p := range problems {
		key, _, _ := strings.Cut(p.Field, ".")
		key, _, _ = strings.Cut(key, "[")
		at := path
		if p.Field != "" {
			at += "." + p.Field
		}
		b.failAt(o.where(key), at, p.Text, p.Hint)
	}
}

func (b *builder) windows(list []*windowConfig) {
	first := map[string]int{}
	for i, c := range list {
		if c == nil {
			continue
		}
		path := "windows[" + strconv.Itoa(i) + "]"
		b.unique(&c.object, path, c.Name, "window", first)
		w := watch.Window{
			Name: c.Name, Source: watch.FromFile, Kind: watch.WindowKind(c.Kind),
			Monitors: c.Monitors, Tags: c.Tags, Groups: c.Groups, From: c.From, For: watch.Duration(c.For), Zone: c.Zone,
		}
		if c.Days != nil {
			w.Days = texts(c.Days)
			if w.Zone == "" {
				w.Zone = "UTC"
			}
		}
		read := b.moment(&c.object, path, "start", c.Start, &w.Start) && b.moment(&c.object, path, "end", c.End, &w.End)
		if read && b.windowShape(c, path) {
			b.watchProblems(&c.object, path, w.Validate())
		}
		b.concerned(c, path)
		b.result.Windows = append(b.result.Windows, w)
	}
}

func (b *builder) moment(o *object, path, key string, text moment, out *time.Time) bool {
	if text == "" {
		return !o.has(key) // else its mistake is recorded
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		b.failAt(o.where(key), path+"."+key, key+" is not a time", "write it with its offset from UTC and in quotes, such as '2026-12-24T18:00:00+01:00'")
		return false
	}
	*out = at.UTC()
	return true
}

// windowShape records a window that is neither a single nor a weekly one.
func (b *builder) windowShape(c *windowConfig, path string) bool {
	single, weekly := []string{"start", "end"}, []string{"days", "from", "for"}
	hasSingle := slices.ContainsFunc(single, c.has)
	other := slices.DeleteFunc(append(slices.Clone(weekly), "zone"), func(key string) bool { return !c.has(key) })
	need := weekly
	switch {
	case hasSingle && len(other) > 0:
		b.failAt(c.keyAt(other[0]), path+"."+other[0], other[0]+" is of a weekly window, and "+path+" is a single one", "keep start and end, or days, from and for")
		return false
	case hasSingle:
		need = single
	}
	// What was written wrongly has a mistake of its own.
	ok := c.Kind != "" && (c.From != "" || !c.has("from")) && (c.For != 0 || !c.has("for")) && (c.Days != nil || !c.has("days"))
	for _, key := range need {
		if !c.has(key) {
			ok = false
			b.failAt(c.at, path, "a window has no "+key, "a single window has start and end, a weekly one days, from and for")
		}
	}
	return ok
}

// concerned records the name of a monitor that is none of the file. Monitors made
// through the API are named by tags and groups.
func (b *builder) concerned(c *windowConfig, path string) {
	var names []string
	for _, t := range b.result.Targets {
		names = append(names, t.Name)
	}
	for i, name := range c.Monitors {
		if slices.Contains(names, name) || name == "" {
			continue
		}
		at := c.where("monitors")
		if i < len(at.Content) {
			at = at.Content[i]
		}
		b.failAt(at, path+".monitors", "there is no target "+quoteKey(name), meantName(name, names, "targets"))
	}
}

// policies records the escalation of a monitor that is not defined. A file that
// defines none, for checks alone, is only warned of.
func (b *builder) policies() {
	var names []string
	for _, e := range b.result.Escalations {
		names = append(names, e.Name)
	}
	for i := range b.result.Monitors {
		m := &b.result.Monitors[i]
		if m.Escalation == "" || slices.Contains(names, m.Escalation) {
			continue
		}
		e := m.escalation.saying("there is no escalation "+quoteKey(m.Escalation), meantName(m.Escalation, names, "escalations"))
		if b.result.Escalations == nil {
			b.refuse(m.Target, e)
		} else {
			b.add(e)
		}
	}
}

// Served returns an [*Errors] with what a file may have for checks and not when its
// targets are watched: names used twice, what limits of monitors do not allow, and what
// notifications cannot do without. It returns nil when f can be served.
func (f *File) Served() error {
	var out []Error
	for _, w := range f.Warnings {
		if w.refuses {
			out = append(out, w.Where)
		}
	}
	for i := range f.Monitors {
		m := &f.Monitors[i]
		d := m.Definition()
		for _, p := range d.Validate(watch.FromFile) {
			e := m.at
			if p.Field == "name" {
				e = m.name
			}
			out = append(out, e.saying(p.Text, p.Hint))
		}
	}
	if out == nil {
		return nil
	}
	return f.Refuse(out...)
}

// Refuse makes an [*Errors] of mistakes that others found in f.
func (f *File) Refuse(problems ...Error) *Errors {
	d := &decoder{file: f.Name, lines: f.lines, errs: problems}
	return d.errors()
}

// FileTarget returns the target of the monitor called name, or nil.
func (f *File) FileTarget(name string) *target.Target { return f.byName[name] }

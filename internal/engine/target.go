package engine

import (
	"net/netip"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// defaultStartup bounds the start of a stdio server whose target says nothing else.
const defaultStartup = probe.DefaultStartupTimeout

// targetOf is what a check of a monitor is pointed at: for one that a file owns that
// of the file, as this process read it.
func (e *Engine) targetOf(m *entry) *target.Target {
	if m.Source != watch.FromFile {
		return build(m)
	}
	if e.o.FileTarget != nil {
		if t := e.o.FileTarget(m.Definition.Name); t != nil {
			return t
		}
	}
	return &target.Target{
		Name: m.Definition.Name, Endpoint: m.Definition.URL,
		Problem: &target.Problem{
			Reason: "not-in-file", Text: "the configuration file of this process does not have this monitor",
			Hint: "give every process the same configuration file",
		},
	}
}

// build makes the target of a monitor that was made through the API.
func build(m *entry) *target.Target {
	d := &m.Definition
	t := &target.Target{
		Name: d.Name, Endpoint: d.URL, Transport: target.HTTP, ProtocolVersion: d.ProtocolVersion,
		AuditChain: d.AuthMode == watch.AuthOAuth,
	}
	if d.Transport == watch.SSE {
		t.Transport = target.SSE
	}
	if d.AuthMode != watch.AuthHeader {
		return t
	}
	for _, name := range d.Headers {
		value, ok := m.headers[name]
		if !ok {
			t.Problem = &target.Problem{Reason: "missing-variable", Text: "the value of a header is not stored", Hint: "set the headers of the monitor again"}
			continue
		}
		t.Headers = append(t.Headers, target.Header{Name: name, Value: target.Literal(value)})
	}
	return t
}

// probeOptions are how a monitor is checked.
func (e *Engine) probeOptions(m *entry, t *target.Target) probe.Options {
	timeout := m.timeout()
	o := probe.Options{
		Timeout: timeout, CheckTimeout: t.Budgets.Step, StartupTimeout: startup(t), Client: e.o.Client,
	}
	if o.CheckTimeout <= 0 || o.CheckTimeout > timeout {
		o.CheckTimeout = timeout
	}
	for _, name := range m.Definition.ExpectedTools {
		if !slices.Contains(t.Expect.Tools, name) {
			o.Expect.Tools = append(o.Expect.Tools, name)
		}
	}
	if policy := e.o.Policy; policy != nil && m.Source != watch.FromFile {
		o.AllowAddress = func(a netip.Addr) error { return policy.Check(a) }
	}
	return o
}

// budget is how long a check may take.
func budget(m *entry, t *target.Target) time.Duration {
	return m.timeout() + startup(t) + 5*time.Second
}

// withoutCall is a copy of t whose check makes no functional call.
func withoutCall(t *target.Target) *target.Target {
	c := *t
	c.Call = nil
	c.Checks = slices.DeleteFunc(slices.Clone(t.Checks), func(d target.Dimension) bool { return d == target.Functional })
	return &c
}

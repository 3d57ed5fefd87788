package ops

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/target"
)

const (
	// MaxImport is how large what is imported may be.
	MaxImport = 1 << 20
	// MaxImported is how many servers are taken of it.
	MaxImported = 200
	// importTime is how long a plan can be carried out.
	importTime = time.Hour
)

// Candidate is a server that could be watched.
type Candidate struct {
	// Name is free: no monitor and no other candidate has it.
	Name string
	// URL is fit to be shown.
	URL, Transport string
	// Headers are names alone.
	Headers []string
	// Program: the server is started by a command, which only a configuration file can
	// have watched.
	Program bool
	// Problem says why it cannot be watched as it is, and Hint what to do; empty: it can.
	Problem, Hint string
}

// Plan is what could be watched of what a person wrote or sent.
type Plan struct {
	// Client is the one whose configuration it is, or empty.
	Client     string
	Candidates []Candidate
	// Omitted is how many there are beyond those.
	Omitted int
	// Sealed holds the candidates with their secrets, encrypted, for who made the plan:
	// Import takes it.
	Sealed string
}

// sealedPlan is what Plan.Sealed holds.
type sealedPlan struct {
	Expires  time.Time
	Monitors []MonitorInput // Candidates, in their order
}

func planPlace(actor people.Actor) string { return "import/" + actor.Name() }

// PlanImport reads addresses of MCP servers, one a line, or the configuration file of an
// MCP client, of which name is the name, if it has one. Nothing is made of it: that is
// for Import.
func (o *Ops) PlanImport(ctx context.Context, actor people.Actor, name, text string) (Plan, error) {
	if err := may(actor, people.Write); err != nil {
		return Plan{}, err
	}
	if len(text) > MaxImport {
		return Plan{}, invalid(watch.Problem{Field: "text", Text: "is too large", Hint: fmt.Sprintf("at most %d KiB are taken", MaxImport>>10)})
	}
	var p Plan
	var inputs []MonitorInput
	var err error
	if configures(text) {
		inputs, err = o.ofClient(ctx, &p, name, text)
	} else {
		inputs = ofLines(&p, text)
	}
	if err != nil {
		return Plan{}, err
	}
	if len(p.Candidates) == 0 {
		return Plan{}, invalid(watch.Problem{Field: "text", Text: "names no server", Hint: "give addresses such as https://mcp.example.com/mcp, one a line"})
	}
	if err := o.name(ctx, &p, inputs); err != nil {
		return Plan{}, err
	}
	body, err := json.Marshal(sealedPlan{Expires: o.now().Add(importTime), Monitors: inputs})
	if err != nil {
		return Plan{}, fmt.Errorf("write a plan: %w", err)
	}
	sealed, err := o.store.Seal(body, planPlace(actor))
	if err != nil {
		return Plan{}, fmt.Errorf("seal a plan: %w", err)
	}
	p.Sealed = base64.RawStdEncoding.EncodeToString(sealed)
	return p, nil
}

// configures tells a configuration file from addresses.
func configures(text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") {
		return true
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			return true // a table of TOML
		}
	}
	return false
}

func (p *Plan) add(c Candidate, inputs []MonitorInput, in MonitorInput) []MonitorInput {
	if len(p.Candidates) >= MaxImported {
		p.Omitted++
		return inputs
	}
	c.Headers = nil
	for _, h := range in.Headers {
		c.Headers = append(c.Headers, h.Name)
	}
	if c.URL = ""; in.URL != "" {
		c.URL = weburl.RedactText(in.URL)
	}
	c.Transport = in.Transport
	if c.Problem == "" && !c.Program {
		d := in.definition()
		if d.Name == "" {
			d.Name = "unnamed" // it gets a name yet
		}
		_, _, problems := secrets(&in.Fields, &d, nil, false)
		if problems = append(problems, d.Validate(watch.FromAPI)...); len(problems) > 0 {
			c.Problem, c.Hint = problems[0].Text, problems[0].Hint
			if problems[0].Field != "url" { // whose text says what it is about
				c.Problem = problems[0].Field + " " + c.Problem
			}
		}
	}
	p.Candidates = append(p.Candidates, c)
	return append(inputs, in)
}

func ofLines(p *Plan, text string) (inputs []MonitorInput) {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if words := strings.Fields(line); len(words) > 1 && !strings.Contains(line, "://") {
			inputs = p.add(Candidate{Name: words[0], Program: true}, inputs, MonitorInput{Fields: Fields{Name: words[0], Transport: watch.Stdio, AuthMode: watch.AuthNone}})
			continue
		}
		if !strings.Contains(line, "://") {
			line = "https://" + line
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		in := MonitorInput{Fields: Fields{URL: line, Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone}}
		if u, err := url.Parse(line); err == nil {
			in.Name = u.Host
			if path := strings.Trim(u.Path, "/"); path != "" && path != "mcp" && path != "sse" {
				in.Name += "/" + path
			}
			if strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/sse") {
				in.Transport = watch.SSE
			}
		}
		inputs = p.add(Candidate{Name: in.Name}, inputs, in)
	}
	return inputs
}

func (o *Ops) ofClient(ctx context.Context, p *Plan, name, text string) (inputs []MonitorInput, err error) {
	if name == "" {
		name = "the configuration"
	}
	file, err := config.ParseClients(plain.Line(name, 100), []byte(text), config.Options{})
	if err != nil { // its text quotes places of the file alone
		hint := "give the configuration file of an MCP client, or addresses, one a line"
		if errors.Is(err, config.ErrNoServers) {
			hint = "the servers of a client are in the member mcpServers, servers or mcp_servers"
		}
		return nil, invalid(watch.Problem{Field: "text", Text: plain.Line(err.Error(), 300), Hint: hint})
	}
	p.Client = file.Client
	for _, server := range file.Enabled() {
		c, in := candidateOf(ctx, &server)
		inputs = p.add(c, inputs, in)
	}
	return inputs, nil
}

// byForm is what to do where a client's file does not say everything.
const byForm = "watch the server with the form, and give the value there"

// candidateOf reads what of a client's server can be watched. Only secrets that stand in
// the file itself are read: variables, files and programs would be those of this machine.
func candidateOf(ctx context.Context, s *config.ClientServer) (Candidate, MonitorInput) {
	t := s.Target
	c := Candidate{Name: s.Name}
	in := MonitorInput{Fields: Fields{Name: s.Name, URL: t.Endpoint, Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone}}
	switch t.Kind() {
	case target.Stdio:
		c.Program, in.URL, in.Transport = true, "", watch.Stdio
		return c, in
	case target.SSE:
		in.Transport = watch.SSE
	}
	if t.Problem != nil && t.Problem.Reason == config.ReasonMissingVariable {
		c.Problem, c.Hint = "a part of it stands in a variable, which is not in the file", byForm
		in.URL = ""
		return c, in
	}
	if t.Problem != nil {
		c.Problem, c.Hint = plain.Line(t.Problem.Text, 300), plain.Line(t.Problem.Hint, 300)
		in.URL = ""
		return c, in
	}
	if t.OAuth != nil {
		c.Problem, c.Hint = "it logs in at an authorization server", "describe it in the configuration file"
		return c, in
	}
	for _, h := range t.Headers {
		if h.Value.Variable() != "" || h.Value.Path() != "" || h.Value.FromProgram() {
			c.Problem, c.Hint = "the value of the header "+plain.Line(h.Name, 60)+" is not in the file", byForm
			continue
		}
		value, err := h.Value.Reveal(ctx)
		if err != nil {
			c.Problem = "the value of the header " + plain.Line(h.Name, 60) + " cannot be used"
			continue
		}
		in.AuthMode = watch.AuthHeader
		in.Headers = append(in.Headers, Header{Name: h.Name, Value: h.Prefix + value})
	}
	return c, in
}

// name gives every candidate a name that is free and can be one.
func (o *Ops) name(ctx context.Context, p *Plan, inputs []MonitorInput) error {
	return o.view(ctx, "monitor", func(t *store.Tx) error {
		taken := map[string]bool{}
		for i := range p.Candidates {
			c := &p.Candidates[i]
			base := strings.TrimSpace(plain.Line(c.Name, 100))
			if base == "" {
				base = "server"
			}
			for n := 1; ; n++ {
				name := base
				if n > 1 {
					name = fmt.Sprintf("%s %d", base, n)
				}
				_, err := t.MonitorByName(ctx, name)
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				if err != nil && !taken[name] || c.Program {
					c.Name, inputs[i].Name = name, name
					taken[name] = true
					break
				}
			}
		}
		return nil
	})
}

// Imported is what became of a candidate.
type Imported struct {
	Index   int
	Name    string
	Monitor int64  // 0: it was not made
	Refused *Error // then: why not
}

// Import makes monitors of candidates of a plan, by their places in it, under these names,
// and has each checked at once.
func (o *Ops) Import(ctx context.Context, actor people.Actor, sealed string, names map[int]string) ([]Imported, error) {
	if err := may(actor, people.Write); err != nil {
		return nil, err
	}
	over := refuse(Conflict, "begin again", "what was to be watched is not known any more")
	packed, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, over
	}
	body, err := o.store.Unseal(packed, planPlace(actor))
	if err != nil {
		return nil, over
	}
	var plan sealedPlan
	if err := json.Unmarshal(body, &plan); err != nil || o.now().After(plan.Expires) {
		return nil, over
	}
	var out []Imported
	for i, in := range plan.Monitors {
		name, chosen := names[i]
		if !chosen || in.Transport == watch.Stdio || in.URL == "" {
			continue
		}
		in.Name = name
		m, err := o.CreateMonitor(ctx, actor, in)
		one := Imported{Index: i, Name: name, Monitor: m.ID}
		if err == nil {
			_, err = o.RunNow(ctx, actor, m.ID)
		}
		if err != nil && !errors.As(err, &one.Refused) {
			return out, err
		}
		if one.Monitor != 0 {
			one.Refused = nil // that a check runs already is no failure
		}
		out = append(out, one)
	}
	return slices.Clip(out), nil
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/target"
)

// readClientTargets reads the servers in one client's file.
func readClientTargets(path string, named []string) (*selection, error) {
	f, err := config.ReadClients(path)
	if errors.Is(err, config.ErrNoServers) {
		return nil, hinted(err, "a configuration of mcpvigil is YAML and ends in .yaml")
	}
	if err != nil {
		return nil, err
	}
	sel := &selection{targets: f.Targets(), servers: f.Enabled(), warnings: f.Warnings, concurrency: config.DefaultConcurrency, disabled: disabled(f)}
	for _, s := range f.Servers {
		sel.configured = append(sel.configured, s.Name)
	}
	for _, name := range named {
		if slices.Contains(sel.disabled, name) {
			return nil, hinted(fmt.Errorf("the server %s is disabled in %s", name, path), "enable it in %s", f.Client)
		}
	}
	if len(sel.targets) == 0 {
		return nil, hinted(fmt.Errorf("every server in %s is disabled", path), "enable one in %s, or give another file", f.Client)
	}
	if len(named) > 0 {
		sel.targets, err = selectTargets(sel.targets, named, path)
	}
	return sel, err
}

// disabled names the servers that the client does not start.
func disabled(f *config.ClientFile) []string {
	var names []string
	for _, s := range f.Servers {
		if s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// findClients reads the configurations of all clients on this machine, and says
// which. A file without servers is passed over, a broken one is a warning.
func (a *app) findClients(quiet bool) (*selection, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	getenv := func(name string) string { v, _ := a.lookup(name); return v }
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	sel := &selection{concurrency: config.DefaultConcurrency}
	for _, found := range config.FindClients(home, cwd, getenv, runtime.GOOS) {
		f, err := config.ReadClients(found.Path)
		switch {
		case errors.Is(err, config.ErrNoServers):
			continue
		case err != nil:
			a.warn("passed over: %v", err)
			continue
		}
		if !quiet {
			a.warn("read %s (%s, %s)", found.Path, found.Client, servers(len(f.Servers), disabled(f)))
		}
		for _, s := range f.Servers {
			if !s.Disabled {
				sel.targets = append(sel.targets, s.Target)
				sel.servers = append(sel.servers, s)
				sel.sources = append(sel.sources, source(found, s))
			}
		}
	}
	return sel, nil
}

func source(found config.Found, s config.ClientServer) string {
	client := found.Client
	if s.Project != "" {
		client += ", project " + s.Project
	}
	return fmt.Sprintf("%s (%s)", found.Path, client)
}

func servers(all int, disabled []string) string {
	if len(disabled) == 0 {
		return counted(all, "server")
	}
	return fmt.Sprintf("%s, disabled: %s", counted(all, "server"), shown(disabled))
}

// doctorTargets is what doctor looks at: what it is pointed at, else a file of
// ours here, else what the clients on this machine use.
func (a *app) doctorTargets(g *given, o *doctorOptions, args []string) (*selection, error) {
	pointed := len(args) > 0 || g.dash >= 0
	for _, name := range transportFlags() {
		pointed = pointed || g.has(name)
	}
	for _, path := range defaultFiles() {
		if _, err := os.Stat(path); err == nil {
			pointed = true
		}
	}
	if pointed {
		return o.resolve(g, args)
	}
	sel, err := a.findClients(o.quiet)
	if err != nil {
		return nil, err
	}
	if len(o.named) > 0 && len(sel.targets) > 0 {
		if err := sel.narrow(o.named); err != nil {
			return nil, err
		}
	}
	if len(sel.targets) == 0 {
		return nil, usageErrorf("no server was given, and neither a mcpvigil.yaml nor a client's configuration with servers was found", "").
			hint("give an MCP URL such as https://mcp.example.com/mcp, a configuration file, or -- and a command")
	}
	o.override(sel.targets)
	if !o.quiet {
		a.announce(sel.targets)
	}
	return sel, nil
}

// narrow keeps the named targets of all clients' files, with their sources.
func (sel *selection) narrow(named []string) error {
	found, err := selectTargets(sel.targets, named, "the clients' configurations")
	if err != nil {
		return err
	}
	var sources []string
	for _, t := range found {
		sources = append(sources, sel.sources[slices.Index(sel.targets, t)])
	}
	sel.targets, sel.sources = found, sources
	return nil
}

// announce says what is about to be started, since nobody named it.
func (a *app) announce(targets []*target.Target) {
	commands := 0
	for _, t := range targets {
		if t.Kind() == target.Stdio {
			commands++
		}
	}
	text := "checking " + counted(len(targets), "server")
	if commands > 0 {
		text += "; " + counted(commands, "configured command") + " will be started for it"
	}
	a.warn("%s", text)
}

// problems lists the targets that cannot be checked as they are set up here.
func problems(targets []*target.Target) []*target.Problem {
	var out []*target.Problem
	for _, t := range targets {
		if p := t.Validate(); p != nil {
			text := p.Text
			if label := t.Label(); !strings.Contains(text, label) {
				text = label + ": " + text
			}
			out = append(out, &target.Problem{Reason: p.Reason, Text: text, Hint: p.Hint})
		}
	}
	return out
}

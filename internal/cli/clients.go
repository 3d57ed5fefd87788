package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/target"
)

// readClientTargets reads the servers in one client's file.
func readClientTargets(path, named string) (*selection, error) {
	f, err := config.ReadClients(path)
	if errors.Is(err, config.ErrNoServers) {
		return nil, hinted(err, "a configuration of mcpvigil is YAML and ends in .yaml")
	}
	if err != nil {
		return nil, err
	}
	sel := &selection{targets: f.Targets(), concurrency: config.DefaultConcurrency, files: []string{path}}
	if len(sel.targets) == 0 {
		return nil, hinted(fmt.Errorf("every server in %s is disabled", path), "enable one in %s, or give another file", f.Client)
	}
	if named != "" {
		sel.targets, err = selectTarget(sel.targets, named, path)
	}
	return sel, err
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
		targets := f.Targets()
		if !quiet {
			a.warn("read %s (%s, %s)", found.Path, found.Client, servers(len(f.Servers), len(targets)))
		}
		sel.files = append(sel.files, found.Path)
		sel.targets = append(sel.targets, targets...)
	}
	return sel, nil
}

func servers(all, enabled int) string {
	what := "servers"
	if all == 1 {
		what = "server"
	}
	if all == enabled {
		return fmt.Sprintf("%d %s", all, what)
	}
	return fmt.Sprintf("%d %s, %d disabled", all, what, all-enabled)
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
	if o.named != "" && len(sel.targets) > 0 {
		sel.targets, err = selectTarget(sel.targets, o.named, "the clients' configurations")
		if err != nil {
			return nil, err
		}
	}
	if len(sel.targets) == 0 {
		return nil, usageErrorf("no server was given, and neither a mcpvigil.yaml nor a client's configuration with servers was found", "").
			hint("give an MCP URL such as https://mcp.example.com/mcp, a configuration file, or -- and a command")
	}
	for i, t := range sel.targets {
		c := *t
		sel.targets[i] = &c
		o.override(&c)
	}
	return sel, nil
}

// problems lists the targets that cannot be checked as they are set up here.
func problems(targets []*target.Target) []*target.Problem {
	var out []*target.Problem
	for _, t := range targets {
		if p := t.Validate(); p != nil {
			out = append(out, &target.Problem{Reason: p.Reason, Text: t.Label() + ": " + p.Text, Hint: p.Hint})
		}
	}
	return out
}

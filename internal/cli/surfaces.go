package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// exhibit is a surface from anywhere: of a server, out of a lockfile, or saved.
type exhibit struct {
	// source says where it comes from; file is that place if it is a file.
	source, file string
	surface      *surface.Surface
	// baseline is what the surface was taken from, or nil, and line says on which
	// line of the file an item is.
	baseline *baseline.Baseline
	line     func(surface.Kind, string) int
	// target is the server to list for it; nil when surface is there already.
	target *target.Target
	report *probe.Report
	// err is why the target cannot be listed, when that is not in the report.
	err error
}

// maxSurface bounds a file that holds a surface, in bytes.
const maxSurface = 64 << 20

// lockfileMark is what only a lockfile begins a line with.
var lockfileMark = regexp.MustCompile(`(?m)^baselines:`)

// readExhibits reads all that a file holds: a saved surface, the baselines of a
// lockfile, or the targets of a configuration, which are still to be listed.
func (a *app) readExhibits(path string) ([]*exhibit, error) {
	data, err := a.readWhole(path, maxSurface)
	if err != nil {
		return nil, explainFile(path, err)
	}
	shownPath := path
	if path == "-" {
		shownPath = "standard input"
	}
	if approvesNothing(data) && (bytes.Contains(data, []byte("version:")) || strings.EqualFold(filepath.Ext(path), ".lock")) {
		return nil, hinted(fmt.Errorf("%s holds no baseline", plain.Line(shownPath, maxShown)), "run mcpvigil lock first, which approves what a server offers")
	}
	if lockfileMark.Match(data) {
		l, err := baseline.Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shownPath, err)
		}
		var out []*exhibit
		whole := newLockfile(l, data)
		for _, b := range l.Baselines {
			out = append(out, &exhibit{
				source: shownPath + "#" + b.Name, file: path, surface: b.Surface, baseline: b,
				line: func(k surface.Kind, item string) int { return whole.line(b, k, item) },
			})
		}
		return out, nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		data = slices.Concat([]byte(`{"tools":`), data, []byte("}"))
	}
	s, err := surface.Read(data)
	if err == nil {
		return []*exhibit{{source: shownPath, file: path, surface: s}}, nil
	}
	notSurface := hinted(fmt.Errorf("%s: %w", shownPath, err), "give what mcpvigil inspect --format surface writes, a list of tools, or JSON with tools, prompts, resources, resourceTemplates, instructions or serverInfo")
	if !isConfiguration(path) {
		return nil, notSurface
	}
	sel, err := readTargets(path, nil)
	switch {
	case errors.Is(err, config.ErrNoServers), err != nil && !json.Valid(data) && jsonFile(path):
		return nil, notSurface // which is what it is more likely to be
	case err != nil:
		return nil, explainProgram(path, explainFile(path, err))
	}
	var out []*exhibit
	for _, t := range sel.targets {
		out = append(out, &exhibit{source: t.Label(), file: path, target: t})
	}
	return out, nil
}

// isConfiguration tells a file that may have servers by its name.
func isConfiguration(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return true
	}
	return clientFile(path)
}

func jsonFile(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// exhibit finds what one argument names: a URL, a file that holds one surface, or
// FILE#NAME where it holds several.
func (a *app) exhibit(g *given, o *pointOptions, arg string) (*exhibit, error) {
	if strings.Contains(arg, "://") {
		sel, err := o.direct(g, &target.Target{Endpoint: arg, Transport: target.HTTP})
		if err != nil {
			return nil, err
		}
		return &exhibit{source: sel.targets[0].Label(), target: sel.targets[0]}, nil
	}
	path, name := arg, ""
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		path, name, _ = strings.Cut(arg, "#")
	}
	found, err := a.readExhibits(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found {
		own := e.ownName()
		if own == name && name != "" || len(found) == 1 && name == "" {
			if e.target != nil {
				o.override([]*target.Target{e.target})
			}
			return e, nil
		}
		names = append(names, own)
	}
	shownPath := plain.Line(path, maxShown)
	switch {
	case len(found) == 0:
		return nil, hinted(fmt.Errorf("%s holds no surface", shownPath), "approve one with mcpvigil lock")
	case name == "":
		return nil, hinted(fmt.Errorf("%s holds %s", shownPath, counted(len(found), "surface")), "name one of them as %s#NAME: %s", shownPath, shown(names))
	}
	e := hinted(fmt.Errorf("%s has nothing called %s", shownPath, plain.Line(name, maxShown)), "it has: %s", shown(names))
	return nil, e
}

// ownName is what selects the exhibit within its file.
func (e *exhibit) ownName() string {
	switch {
	case e.baseline != nil:
		return e.baseline.Name
	case e.target != nil:
		return e.target.Label()
	}
	return ""
}

// list lists the server of an exhibit that has no surface yet.
func (e *exhibit) list(ctx context.Context, p probe.Options) {
	if e.surface != nil || e.target == nil {
		return
	}
	if e.err = listsNothing(e.target); e.err != nil {
		return
	}
	e.report = probe.Check(ctx, e.target.Listing(), p)
	if s := e.report.Snapshot(); anything(s) {
		e.surface = s
	}
}

// accepted marks what the baseline accepts of the findings in e.
func (e *exhibit) accepted(verdicts []baseline.Verdict) []baseline.Verdict {
	if e.baseline == nil {
		return verdicts
	}
	for i := range verdicts {
		v := &verdicts[i]
		if known, _ := e.baseline.Carry([]lint.Finding{v.Finding}); len(known) > 0 {
			v.Accepted, v.Effect = &known[0], surface.Silent
		}
	}
	return verdicts
}

// verification is e as it is shown, without a result where there is a surface.
func (e *exhibit) verification() *render.Verification {
	v := &render.Verification{Source: e.source, File: e.file, Line: e.line}
	if e.surface == nil {
		v.Result = *unlisted(e.report, nil)
	}
	explain(v, e.report, e.surface, e.err)
	return v
}

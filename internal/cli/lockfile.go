package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// defaultLockfile is what --lockfile names when it is not given.
const defaultLockfile = "mcpvigil.lock"

// lockfileOptions name the lockfile, and a server in it.
type lockfileOptions struct{ lockfile, name string }

func (o *lockfileOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupDrift, func() {
		fs.StringVar(&o.lockfile, "lockfile", defaultLockfile, "the `file` that holds what was approved")
		fs.StringVar(&o.name, "name", "", "call a server given by address or command `name` in the lockfile, so that a command of another version is still the same server")
	})
}

// approvesNothing reports whether a lockfile is empty: it has nothing but comments,
// its version, and an empty list of baselines.
func approvesNothing(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		switch string(bytes.Join(bytes.Fields(line), []byte(" "))) {
		case "", "---", "version: 1", "baselines:", "baselines: []":
		default:
			return false
		}
	}
	return true
}

// rename checks the name of the lockfile, and gives the name of --name to a server that no file names.
func (o *lockfileOptions) rename(g *given, sel *selection) error {
	switch {
	case strings.TrimSpace(o.lockfile) == "":
		return usageErrorf("--lockfile is empty", "").hint("leave it out for %s", defaultLockfile)
	case o.name == "" && !g.byFlag("name"):
	case strings.TrimSpace(o.name) == "":
		return usageErrorf("--name is empty", "")
	case sel.configured == nil:
		sel.targets[0].Name = o.name
	case g.byFlag("name"):
		return usageErrorf("--name is for a server given by address or command; the file names its servers", "").
			hint("take one of them with --target NAME")
	}
	return nil
}

// lockfile is one as it was read.
type lockfile struct {
	*baseline.Lockfile
	exists bool
	// data is what the file held.
	data []byte
	// misspelt: it is not written as mcpvigil writes it.
	misspelt bool
	// sections are those of the file, in the order of the baselines.
	sections func() []section
}

func newLockfile(l *baseline.Lockfile, data []byte) *lockfile {
	return &lockfile{Lockfile: l, exists: true, data: data, sections: sync.OnceValue(func() []section { return sectionsOf(data) })}
}

// read reads the lockfile. One that does not exist, or is empty, has no baselines.
func (o *lockfileOptions) read(a *app) (*lockfile, error) { return o.readAs(a, baseline.Read) }

// readLoose is read for a lockfile that is about to be written again.
func (o *lockfileOptions) readLoose(a *app) (*lockfile, error) {
	misspelt := false
	l, err := o.readAs(a, func(data []byte) (*baseline.Lockfile, error) {
		_, err := baseline.Read(data)
		l, looseErr := baseline.ReadLoose(data)
		if looseErr != nil && approvesNothing(data) {
			return &baseline.Lockfile{}, nil
		}
		misspelt = err != nil
		return l, looseErr
	})
	if err == nil {
		l.misspelt = misspelt
	}
	return l, err
}

func (o *lockfileOptions) readAs(a *app, read func([]byte) (*baseline.Lockfile, error)) (*lockfile, error) {
	data, err := a.readWhole(o.lockfile, baseline.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		l := newLockfile(&baseline.Lockfile{}, nil)
		l.exists = false
		return l, nil
	}
	if err != nil {
		return nil, explainFile(o.lockfile, err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return newLockfile(&baseline.Lockfile{}, data), nil
	}
	l, err := read(data)
	if err != nil {
		return nil, hinted(fmt.Errorf("%s: %w", plain.Line(o.lockfile, maxShown), err),
			"if it was damaged, take the last good one from version control; --lockfile names another")
	}
	return newLockfile(l, data), nil
}

// exclusivePatience is how long another process may take to write a lockfile.
const exclusivePatience = 30 * time.Second

// exclusive waits until no other process replaces the lockfile at path.
func exclusive(ctx context.Context, path string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, exclusivePatience)
	defer cancel()
	for {
		release, ok := tryExclusive(path)
		if ok {
			return release, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is being written by another process", plain.Line(path, maxShown))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// place is the file that the lockfile is, wherever links lead, also one that is not
// there yet, and the mode that it keeps.
func (o *lockfileOptions) place() (path string, mode fs.FileMode, err error) {
	path = o.lockfile
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", 0, err
	}
	if info != nil && !info.Mode().IsRegular() {
		return path, newLockfileMode, nil
	}
	if info != nil {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return "", 0, err
		}
		return path, info.Mode().Perm(), f.Close()
	}
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path, newLockfileMode, nil //nolint:nilerr // one that is not there yet is made
}

const (
	maxLinks        = 40
	newLockfileMode = 0o644
)

// reread is the lockfile as it is now, or nil while it is what l was read from, and
// where it is no file that can be read twice.
func (o *lockfileOptions) reread(a *app, l *lockfile) (*lockfile, error) {
	info, err := os.Stat(o.lockfile)
	if o.lockfile == "-" || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	data, err := a.readWhole(o.lockfile, baseline.MaxBytes)
	if (err == nil || errors.Is(err, fs.ErrNotExist)) && bytes.Equal(data, l.data) {
		return nil, nil
	}
	return o.readLoose(a)
}

// section is where a baseline stands in the file.
type section struct {
	line    int
	digests map[string]int // the lines of items, by their digests
}

// sectionsOf finds baselines where [baseline.Lockfile.Encode] begins them.
func sectionsOf(data []byte) []section {
	var out []section
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte("- ")) {
			out = append(out, section{n, map[string]int{}})
		}
		// A definition, which the server wrote, is indented further.
		digest, ok := bytes.CutPrefix(line[min(len(line), 4):], []byte("digest: "))
		if ok && len(out) > 0 {
			out[len(out)-1].digests[string(bytes.TrimSpace(digest))] = n
		}
	}
	return out
}

// line returns the line of an item of b, as it is approved; where it is not, the one
// on which b begins, or 1 in a file that is written in another way.
func (l *lockfile) line(b *baseline.Baseline, kind surface.Kind, name string) int {
	sections, at := l.sections(), slices.Index(l.Baselines, b)
	if at < 0 || len(sections) != len(l.Baselines) {
		return 1
	}
	for _, item := range b.Surface.Of(kind) {
		if n := sections[at].digests[item.Digests.Raw.String()]; item.Name == name && n > 0 {
			return n
		}
	}
	return sections[at].line
}

// beside says which tools the servers have that are approved beside t. Agents see
// the tools of all of them.
func (l *lockfile) beside(t *target.Target) neighbours {
	n := neighbours{}
	own := baseline.BindingOf(t, "").Endpoint
	for _, b := range l.Baselines {
		if b.Name != t.Label() && b.Binding.Endpoint != own {
			n.add(b.Name, b.Surface)
		}
	}
	return n
}

// neighbours are the names of the tools of other servers, by server.
type neighbours map[string][]string

// maxNeighbours is how many are read beside a server: an agent has no more, and each
// takes time for each.
const maxNeighbours = 100

func (n neighbours) add(server string, s *surface.Surface) {
	if len(n) >= maxNeighbours {
		return
	}
	for _, item := range s.Of(surface.Tool) {
		n[server] = append(n[server], item.Name)
	}
}

func (n neighbours) rules() lint.Options { return lint.Options{Neighbours: n} }

// gone names the baselines of servers that the configuration has no more. What was
// approved by its address or command line has never been in one.
func (l *lockfile) gone(sel *selection) []string {
	var names []string
	for _, b := range l.Baselines {
		if sel.configured != nil && b.Name != b.Binding.Endpoint && !slices.Contains(sel.configured, b.Name) && !slices.Contains(names, b.Name) {
			names = append(names, b.Name)
		}
	}
	return names
}

// warnOfGone says what is in the lockfile and is not verified.
func (a *app) warnOfGone(file string, names []string) {
	if len(names) > 0 {
		a.warn("%s has baselines of what the configuration does not have, which nobody verifies: %s; mcpvigil lock --prune drops them", file, shown(names))
	}
}

// otherVersion advises on a command without a name that nothing is approved for.
func (l *lockfile) otherVersion(t *target.Target) string {
	if t.Kind() != target.Stdio || t.Name != "" {
		return ""
	}
	var named []string
	for _, b := range l.Baselines {
		switch {
		case strings.HasPrefix(b.Binding.Endpoint, "stdio://"):
			named = append(named, b.Name)
		case b.Name == b.Binding.Endpoint && sameProgram(b.Name, t.Address()):
			return fmt.Sprintf("approved is %s; mcpvigil lock --name NAME gives the server a name, under which verify --name NAME compares every version",
				plain.Line(b.Name, maxShown))
		}
	}
	if len(named) > 0 {
		return fmt.Sprintf("if it is another version of what is approved by name, say of which with --name: %s", shown(named))
	}
	return ""
}

// sameProgram reports whether two command lines differ in nothing but versions and
// options.
func sameProgram(a, b string) bool { return slices.Equal(programWords(a), programWords(b)) }

// programWords are the words of a command line without options and versions, such
// as "npx", "pkg" of "npx -y pkg@1.2.0".
func programWords(command string) []string {
	var out []string
	for i, word := range strings.Fields(command) {
		if strings.HasPrefix(word, "-") {
			continue
		}
		if i == 0 {
			out = append(out, path.Base(strings.ReplaceAll(word, `\`, "/")))
			continue
		}
		scope, name := word[:1], word[1:] // the @ of a scope is part of the name
		for _, mark := range []string{"@", "==", ":"} {
			name, _, _ = strings.Cut(name, mark)
		}
		out = append(out, scope+name)
	}
	return out
}

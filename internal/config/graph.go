package config

import (
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/target"
)

// States of a node during the search.
const (
	unseen uint8 = iota
	onPath
	done
)

// link resolves references, refuses cycles, chains and trees that are too
// large, and gives every target its dependencies.
func (b *builder) link(roots []*node) {
	ids := make([]string, 0, len(b.nodes))
	for _, n := range b.all {
		if n.target.ID != "" {
			ids = append(ids, n.target.ID)
		}
	}
	for _, n := range b.all {
		for i := range n.edges {
			b.resolve(&n.edges[i], ids)
		}
	}
	total := 0
	for _, n := range roots {
		b.walk(n, nil)
		total += n.size
		if total > MaxTargets {
			b.failAt(n.at, n.path, fmt.Sprintf("with target %s the tree of targets and dependencies has more than %d entries", quoteKey(n.label), MaxTargets),
				"split the file, or name fewer dependencies")
			break
		}
	}
	for _, n := range b.all {
		for _, e := range n.edges {
			if e.to == nil {
				continue
			}
			e.dep.Target = e.to.target
			n.target.Dependencies = append(n.target.Dependencies, e.dep)
		}
	}
}

func (b *builder) resolve(e *edge, ids []string) {
	if e.to != nil || e.ref == "" {
		return
	}
	if e.to = b.nodes[e.ref]; e.to == nil {
		hint := meant(e.ref, ids, "known ids are")
		if hint == "" {
			hint = "give the target an id"
		}
		b.failAt(e.at, e.path+".ref", "no target has the id "+quoteKey(e.ref), hint)
	}
}

// walk visits n and what it stands on; path holds the nodes above it. An edge
// that closes a cycle is recorded and cut.
func (b *builder) walk(n *node, path []*node) {
	if n.state == done {
		return
	}
	n.state, n.size, n.depth = onPath, 1, 1
	path = append(path, n)
	for i := range n.edges {
		e := &n.edges[i]
		if e.to == nil {
			continue
		}
		if e.to.state == onPath {
			b.failAt(e.at, e.path, "the dependencies form a cycle: "+cycle(path, e.to), "remove one of these references")
			e.to = nil
			continue
		}
		b.walk(e.to, path)
		n.size = min(n.size+e.to.size, MaxTargets+1)
		if n.depth = max(n.depth, e.to.depth+1); n.depth == maxChain+1 && e.to.depth == maxChain {
			b.failAt(e.at, e.path, fmt.Sprintf("the chain of dependencies under %s is more than %d targets long", quoteKey(n.label), maxChain), "name fewer levels")
		}
	}
	n.state = done
}

// cycle writes the part of path from first on, and first again.
func cycle(path []*node, first *node) string {
	var labels []string
	for i := len(path) - 1; i >= 0; i-- {
		labels = append([]string{path[i].label}, labels...)
		if path[i] == first {
			break
		}
	}
	if len(labels) > 12 {
		labels = append(append(labels[:6:6], "…"), labels[len(labels)-5:]...)
	}
	return strings.Join(append(labels, first.label), " -> ")
}

// Select returns the target that is called name: by id first, then by the name
// of a top-level target.
func Select(f *File, name string) (*target.Target, error) {
	if t := f.Nodes[name]; t != nil {
		return t, nil
	}
	var found *target.Target
	var known []string
	for _, t := range f.Targets {
		known = append(known, t.Name)
		if t.ID != "" && t.ID != t.Name {
			known = append(known, t.ID)
		}
		if t.Name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: several targets are called %q; give them an id and select by that", f.Name, name)
		}
		found = t
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%s: no target is called %q; %s", f.Name, name, meant(name, known, "there are"))
}

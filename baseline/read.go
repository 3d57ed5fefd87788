package baseline

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// MaxBytes is the largest lockfile that [Read] takes.
const MaxBytes = 64 << 20

// maxValues bounds how many values a lockfile has, of which each takes some 200
// bytes while it is read.
const maxValues = 4 << 20

// Read reads a lockfile of at most [MaxBytes]. It recomputes every digest: what was
// approved is the text that a person reviewed, so a definition that does not agree
// with its digest is an error. So is any spelling but that of [Lockfile.Encode],
// line ends of Windows aside: YAML has ways to show a reviewer something else than a
// program reads. Errors say where in the file, and what to do.
func Read(data []byte) (*Lockfile, error) {
	l, edited, err := readLoose(data)
	if err = cmp.Or(err, edited); err != nil {
		return nil, err
	}
	if line := firstDifference(unixLines(data), l.Encode()); line > 0 {
		return nil, fmt.Errorf("line %d: not written as mcpvigil writes it, so that it may not be what it looks like: run mcpvigil lock to write it afresh", line)
	}
	return l, nil
}

// unixLines is data with the line ends that Encode writes.
func unixLines(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// firstDifference is the first line in which two texts differ, or 0.
func firstDifference(x, y []byte) int {
	if bytes.Equal(x, y) {
		return 0
	}
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	return 1 + bytes.Count(x[:same], []byte("\n"))
}

// ReadLoose is [Read] for a file that is about to be written again: it takes any
// spelling, and a baseline that was edited by hand as what it is now, marked so.
func ReadLoose(data []byte) (*Lockfile, error) {
	l, _, err := readLoose(data)
	return l, err
}

// readLoose also says where the file was edited by hand first, if it was.
func readLoose(data []byte) (l *Lockfile, edited, err error) {
	if len(data) > MaxBytes {
		return nil, nil, fmt.Errorf("the lockfile is larger than %d MiB", MaxBytes>>20)
	}
	data = unixLines(data)
	if values(data) > maxValues {
		return nil, nil, fmt.Errorf("the lockfile has more than %d values", maxValues)
	}
	if err := conflict(data); err != nil {
		return nil, nil, err
	}
	root, err := document(data)
	if err != nil {
		return nil, nil, err
	}
	if err := untouched(root); err != nil {
		return nil, nil, err
	}
	if err := version(root); err != nil {
		return nil, nil, err
	}
	file, err := fields(root, "the lockfile", "version", "baselines")
	if err != nil {
		return nil, nil, err
	}
	if file["baselines"] == nil {
		return nil, nil, at(root, "the lockfile has no baselines: write it with mcpvigil lock")
	}
	list, err := elements(file["baselines"], "baselines")
	if err != nil {
		return nil, nil, err
	}
	type identity struct {
		name    string
		binding Binding
	}
	l = &Lockfile{}
	seen := map[identity]bool{}
	for _, n := range list {
		b, byHand, err := readBaseline(n)
		if err != nil {
			return nil, nil, err
		}
		edited = cmp.Or(edited, byHand)
		if seen[identity{b.Name, b.Binding}] {
			return nil, nil, at(n, "a second baseline of %s for the same endpoint, credential, client and revision: remove one of them", quote(b.Name))
		}
		seen[identity{b.Name, b.Binding}] = true
		l.Baselines = append(l.Baselines, b)
	}
	return l, edited, nil
}

// values is not less than the number of values in data, a key with its value
// counted as one: each but the first follows one of these, in text or not.
func values(data []byte) int {
	n := 0
	for _, mark := range []string{"\n", "\r", ",", "- ", "? "} {
		n += bytes.Count(data, []byte(mark))
	}
	return n
}

// version looks at the version before anything else, since a newer one may have
// keys that are not known here.
func version(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return at(root, "not a lockfile: want a mapping with version and baselines, not %s", typeName(root))
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "version" {
			continue
		}
		n := root.Content[i+1]
		v, err := strconv.Atoi(n.Value)
		switch {
		case err != nil || !isPlain(n) || v < 1:
			return at(n, "version must be %d", formatVersion)
		case v > formatVersion:
			return at(n, "the lockfile has version %d, and this mcpvigil reads %d: use a newer one", v, formatVersion)
		}
		return nil
	}
	return at(root, "not a lockfile: it has no version")
}

// slot is where the string of a key goes.
type slot struct {
	key string
	to  *string
}

// take fills the slots whose keys are there.
func take(m map[string]*yaml.Node, slots ...slot) error {
	for _, s := range slots {
		if m[s.key] == nil {
			continue
		}
		value, err := text(m[s.key], s.key)
		if err != nil {
			return err
		}
		*s.to = value
	}
	return nil
}

// need reports the first of keys that is missing.
func need(n *yaml.Node, m map[string]*yaml.Node, what string, keys ...string) error {
	for _, key := range keys {
		if m[key] == nil {
			return at(n, "%s has no %s", what, key)
		}
	}
	return nil
}

// readBaseline also says where the baseline was edited by hand first, if it was.
func readBaseline(n *yaml.Node) (b *Baseline, edited, err error) {
	const what = "a baseline"
	known := []string{"name", "endpoint", "credential", "client", "protocol", "ruleset", "digest", "masks", "accepted", "unlisted"}
	for _, p := range parts() {
		known = append(known, p.key)
	}
	m, err := fields(n, what, known...)
	if err != nil {
		return nil, nil, err
	}
	if err := need(n, m, what, "name", "endpoint", "ruleset", "digest"); err != nil {
		return nil, nil, err
	}
	b = &Baseline{}
	if err := take(m, slot{"name", &b.Name}, slot{"endpoint", &b.Binding.Endpoint}, slot{"credential", &b.Binding.Credential},
		slot{"client", &b.Binding.Client}, slot{"protocol", &b.Binding.Protocol}, slot{"ruleset", &b.Ruleset}); err != nil {
		return nil, nil, err
	}
	if b.Masks, err = readMasks(m["masks"]); err != nil {
		return nil, nil, err
	}
	if b.Accepted, err = readAccepted(m["accepted"]); err != nil {
		return nil, nil, err
	}
	digest, err := readDigest(m["digest"])
	if err != nil {
		return nil, nil, err
	}
	if b.Surface, edited, err = readSurface(n, m); err != nil {
		return nil, nil, err
	}
	if edited == nil && b.Surface.Digest() != digest {
		edited = at(m["digest"], "the baseline of %s was edited by hand: its digest is not that of its items; approve what the server says now with mcpvigil lock", quote(b.Name))
	}
	b.Edited = edited != nil
	return b, edited, nil
}

func readDigest(n *yaml.Node) (surface.Digest, error) {
	var d surface.Digest
	s, err := text(n, "digest")
	if err != nil {
		return d, err
	}
	if err := d.UnmarshalText([]byte(s)); err != nil {
		return d, at(n, "%v", err)
	}
	return d, nil
}

func readMasks(n *yaml.Node) ([]surface.Mask, error) {
	if n == nil {
		return nil, nil
	}
	list, err := elements(n, "masks")
	if err != nil {
		return nil, err
	}
	masks := make([]surface.Mask, 0, len(list))
	for _, elem := range list {
		s, err := text(elem, "a mask")
		if err != nil {
			return nil, err
		}
		mask, err := ParseMask(s)
		if err != nil {
			return nil, at(elem, "%v", err)
		}
		masks = append(masks, mask)
	}
	return masks, nil
}

func readAccepted(n *yaml.Node) ([]Acceptance, error) {
	if n == nil {
		return nil, nil
	}
	list, err := elements(n, "accepted")
	if err != nil {
		return nil, err
	}
	accepted := make([]Acceptance, 0, len(list))
	seen := make(map[Acceptance]bool, len(list))
	for _, elem := range list {
		a, err := readAcceptance(elem)
		if err != nil {
			return nil, err
		}
		if seen[a.what()] {
			return nil, at(elem, "the finding %s is accepted twice: remove one of them", quote(a.ID))
		}
		seen[a.what()] = true
		accepted = append(accepted, a)
	}
	return accepted, nil
}

func readAcceptance(n *yaml.Node) (Acceptance, error) {
	const what = "an accepted finding"
	var a Acceptance
	m, err := fields(n, what, "id", "rule", "ruleset", "severity", "kind", "item", "pointer", "excerpt", "reason")
	if err != nil {
		return a, err
	}
	if err := need(n, m, what, "id", "rule", "ruleset", "severity", "excerpt", "reason"); err != nil {
		return a, err
	}
	var severity, kind string
	if err := take(m, slot{"id", &a.ID}, slot{"rule", &a.Rule}, slot{"ruleset", &a.Ruleset},
		slot{"severity", &severity}, slot{"kind", &kind}, slot{"item", &a.Item}, slot{"pointer", &a.Pointer},
		slot{"excerpt", &a.Excerpt}, slot{"reason", &a.Reason}); err != nil {
		return a, err
	}
	a.Severity, a.Kind = lint.Severity(severity), surface.Kind(kind)
	if a.Severity != lint.Block && a.Severity != lint.Note {
		return a, at(m["severity"], "severity must be %s or %s", lint.Block, lint.Note)
	}
	if m["kind"] != nil && !slices.Contains(surface.Kinds(), a.Kind) {
		return a, at(m["kind"], "%s is no kind of item", quote(kind))
	}
	return a, nil
}

// entry is an item as it stands in the file.
type entry struct {
	part       part
	node       *yaml.Node
	definition []byte
	digest     surface.Digest
}

// readSurface reads the items of a baseline and holds each against its digest.
func readSurface(n *yaml.Node, m map[string]*yaml.Node) (s *surface.Surface, edited, err error) {
	var entries []entry
	for _, p := range parts() {
		if m[p.key] == nil {
			continue
		}
		nodes := []*yaml.Node{m[p.key]}
		if p.list || m[p.key].Kind == yaml.SequenceNode {
			var err error
			if nodes, err = elements(m[p.key], p.key); err != nil {
				return nil, nil, err
			}
		}
		for _, node := range nodes {
			e, err := readEntry(p, node)
			if err != nil {
				return nil, nil, err
			}
			entries = append(entries, e)
		}
	}
	unlisted, err := readUnlisted(m["unlisted"])
	if err != nil {
		return nil, nil, err
	}
	s, err = surface.Read(saved(entries, unlisted))
	if err != nil {
		return nil, nil, at(n, "%v", err)
	}
	return s, agree(s, entries), nil
}

func readUnlisted(n *yaml.Node) ([]surface.Kind, error) {
	if n == nil {
		return nil, nil
	}
	list, err := elements(n, "unlisted")
	if err != nil {
		return nil, err
	}
	var kinds []surface.Kind
	for _, elem := range list {
		key, err := text(elem, "an unlisted inventory")
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(parts(), func(p part) bool { return p.list && p.key == key })
		if i < 0 || slices.Contains(kinds, parts()[i].kind) {
			return nil, at(elem, "unlisted holds tools, resources, resourceTemplates and prompts, each once, not %s", quote(key))
		}
		kinds = append(kinds, parts()[i].kind)
	}
	return kinds, nil
}

func readEntry(p part, n *yaml.Node) (entry, error) {
	what := "an entry of " + p.key
	e := entry{part: p, node: n}
	m, err := fields(n, what, "digest", "definition", "bytes")
	if err != nil {
		return e, err
	}
	if err := need(n, m, what, "digest", "definition"); err != nil {
		return e, err
	}
	if e.digest, err = readDigest(m["digest"]); err != nil {
		return e, err
	}
	text, err := appendValue(nil, m["definition"])
	if err != nil {
		return e, err
	}
	shown, _, err := rawjson.Parse(text)
	if err != nil {
		return e, at(m["definition"], "%v", err)
	}
	e.definition = rawjson.Canonical(shown)
	if m["bytes"] != nil {
		return e, e.decode(m["bytes"])
	}
	return e, nil
}

// decode replaces the definition by the bytes, which must be what it shows.
func (e *entry) decode(n *yaml.Node) error {
	encoded, err := text(n, "bytes")
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return at(n, "bytes are not base64: %v", err)
	}
	if shown, _ := readable(raw); !bytes.Equal(rawjson.Canonical(shown), e.definition) {
		return at(n, "the bytes of %s are not what its definition shows: approve what the server says now with mcpvigil lock", e.name())
	}
	e.definition = raw
	return nil
}

// name says which item it is.
func (e *entry) name() string {
	v, _, err := rawjson.Parse(e.definition)
	if err == nil && e.part.list {
		for _, member := range []string{"uriTemplate", "uri", "name"} {
			if name, ok := v.Get(member).Text(); ok {
				return string(e.part.kind) + " " + quote(name)
			}
		}
	}
	return e.part.key
}

// saved writes entries in the form that [surface.Read] takes for any bytes.
func saved(entries []entry, unlisted []surface.Kind) []byte {
	out := []byte(`{"surface":1,"unlisted":[`)
	for i, kind := range unlisted {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(out, string(kind))
	}
	out = append(out, ']')
	for i, e := range entries {
		first := i == 0 || entries[i-1].part != e.part
		switch {
		case !e.part.list || first:
			out = append(out, `,"`+e.part.key+`":`...)
			if e.part.list {
				out = append(out, '[')
			}
		default:
			out = append(out, ',')
		}
		out = append(out, `{"canonicalBase64":"`...)
		out = base64.StdEncoding.AppendEncode(out, e.definition)
		out = append(out, `"}`...)
		if e.part.list && (i+1 == len(entries) || entries[i+1].part != e.part) {
			out = append(out, ']')
		}
	}
	return append(out, '}')
}

// agree reports the first entry that is not what its digest says.
func agree(s *surface.Surface, entries []entry) error {
	type key struct {
		kind       surface.Kind
		definition string
	}
	digests := make(map[key]surface.Digest, len(entries))
	for _, item := range s.Items() {
		digests[key{item.Kind, string(item.Definition)}] = item.Digests.Raw
	}
	for _, e := range entries {
		if digests[key{e.part.kind, string(e.definition)}] != e.digest {
			return at(e.node, "%s was edited by hand: its digest is not that of its definition; approve what the server says now with mcpvigil lock", e.name())
		}
	}
	return nil
}

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/surface"
)

const maxNameLength = 128 // characters, as the specification recommends

// nameRules are the rules about the names of items.
func nameRules() []rule {
	return []rule{
		{
			Rule: Rule{
				ID: "name_charset", Family: "name_charset", Severities: []Severity{Block, Note},
				Text:       "names of tools that the specification advises against: other characters than A-Z, a-z, 0-9, underscore, hyphen and dot, or none, or more than 128; beyond ASCII is a block",
				Techniques: []string{"SAFE-T1004"},
				True:       []string{`{"name":"read file"}`, `{"name":"lire_donn\u00e9es"}`, `{"name":"` + strings.Repeat("a", 129) + `"}`},
				False:      []string{`{"name":"fs.read_file-2"}`, `{"prompts":[{"name":"Code review \u2014 fast"}]}`},
			},
			item: nameCharset,
		},
		{
			Rule: Rule{
				ID: "confusable_name", Family: "confusable_name", Severities: []Severity{Block, Note},
				Text:       "a tool's name that looks like another's, of this or of a neighbouring server, and words in which letters of another script stand for Latin ones; a note in free text and for names in ASCII alone",
				Techniques: []string{"SAFE-T1004", "SAFE-T1008"},
				True: []string{
					`{"name":"re\u0430d_file"}`,
					`{"name":"\uff52ead_file"}`,
					`{"tools":[{"name":"copy"},{"name":"\u0441\u043e\u0440\u0443"}]}`,
					`{"tools":[{"name":"list_all"},{"name":"1ist_all"}]}`,
					`{"name":"a","description":"Passw\u043erds are read."}`,
				},
				False: []string{
					`{"name":"a","description":"\u0412\u043e\u0437\u0432\u0440\u0430\u0449\u0430\u0435\u0442 API, 5 \u03bcm, TNF\u03b1, \u0394time, URL\u0430"}`,
					`{"tools":[{"name":"read_file"},{"name":"read_files"}]}`,
				},
			},
			item: confusableName, text: confusableText, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "duplicate_name", Family: "duplicate_name", Severities: []Severity{Block},
				Text:       "two entries of one list with the same name: which of them an agent reads depends on the client",
				Techniques: []string{"SAFE-T1008"},
				True:       []string{`{"tools":[{"name":"a"},{"name":"a","description":"b"}]}`},
				False:      []string{`{"tools":[{"name":"a"},{"name":"A"}],"prompts":[{"name":"a"}]}`},
			},
			item: duplicateName,
		},
	}
}

// names are the names that agents see side by side.
type names struct {
	own      map[string]bool // of the surface's tools
	count    map[itemName]int
	reported map[itemName]bool
	// entries stand for the definitions of those with one name.
	entries map[itemName]digest
	// alike holds the names of tools by what they look like.
	alike map[string][]toolName
	// server names a neighbour that has a tool of the name.
	server map[string]string
}

type itemName struct {
	kind surface.Kind
	name string
}

type toolName struct {
	name, skeleton string
	server         string // "" for the surface's own
}

func newNames(items []surface.Item, neighbours map[string][]string) *names {
	n := &names{
		own: map[string]bool{}, count: map[itemName]int{}, reported: map[itemName]bool{}, entries: map[itemName]digest{},
		alike: map[string][]toolName{}, server: map[string]string{},
	}
	for i := range items {
		kind, name := items[i].Kind, items[i].Name
		n.count[itemName{kind, name}]++
		if kind == surface.Tool && !n.own[name] {
			n.own[name] = true
			n.add(name, "")
		}
	}
	for i := range items {
		if key := (itemName{items[i].Kind, items[i].Name}); n.count[key] > 1 {
			before := n.entries[key]
			n.entries[key] = digestOf(string(before[:]), string(items[i].Definition))
		}
	}
	for _, server := range slices.Sorted(maps.Keys(neighbours)) {
		for _, tool := range neighbours[server] {
			n.add(tool, server)
			if _, known := n.server[tool]; !known {
				n.server[tool] = server
			}
		}
	}
	return n
}

const (
	// maxCompared bounds the length of names that are compared with others, and
	// maxAlike how many with one.
	maxCompared = 1024
	maxAlike    = 64
)

func (n *names) add(name, server string) {
	if len(name) > maxCompared {
		return
	}
	skeleton := skeleton(name)
	key := strings.ToLower(skeleton)
	if len(n.alike[key]) < maxAlike {
		n.alike[key] = append(n.alike[key], toolName{name, skeleton, server})
	}
}

func nameCharset(it *item) {
	if it.Kind != surface.Tool {
		return
	}
	severity, message := Severity(""), ""
	switch {
	case !isASCII(it.Name):
		severity, message = Block, "a tool's name with characters beyond ASCII: other names can look the same"
	case strings.ContainsFunc(it.Name, func(r rune) bool { return !nameRune(r) }):
		severity, message = Note, "a tool's name with other characters than letters, digits, underscore, hyphen and dot: some clients refuse it"
	case it.Name == "" || len(it.Name) > maxNameLength:
		severity, message = Note, fmt.Sprintf("a tool's name of %d characters: clients expect 1 to %d", utf8.RuneCountInString(it.Name), maxNameLength)
	default:
		return
	}
	it.at("/name", func() {
		it.report(hit{severity, it.Name, message, excerpt(it.Name, 0, min(len(it.Name), maxNameLength)), whole(it.Name)})
	})
}

func nameRune(r rune) bool {
	return isASCIILetter(r) || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
}

func confusableName(it *item) {
	if it.Kind != surface.Tool || len(it.Name) > maxCompared {
		return
	}
	exact := skeleton(it.Name)
	for _, other := range it.scan.names.alike[strings.ToLower(exact)] {
		if other.name == it.Name {
			continue
		}
		severity := Note
		switch {
		case !isASCII(it.Name):
			severity = Block
		case !isASCII(other.name) || other.skeleton != exact:
			continue // the other one is at fault, or differs in case
		}
		message := "a tool's name that looks like that of another tool of this server"
		if other.server != "" {
			message = "a tool's name that looks like that of a tool of another server"
		}
		it.at("/name", func() {
			shown := excerpt(it.Name, 0, len(it.Name)) + " looks like " + excerpt(other.name, 0, len(other.name))
			it.report(hit{severity, it.Name + "\x00" + other.name, message, cut(shown, 4*maxExcerpt), whole(it.Name)})
		})
		return
	}
}

// confusableText looks for words in disguise.
func confusableText(t *text) {
	at := 0
	eachRun(t.s, func(run string, word bool) {
		start := at
		at += len(run)
		if !word || !disguised(run, !t.identifier()) {
			return
		}
		severity := Note
		if t.identifier() {
			severity = Block
		}
		t.found(severity, start, at, "a word in which letters of another script, or other forms, stand for Latin letters")
	})
}

func duplicateName(it *item) {
	key := itemName{it.Kind, it.Name}
	names := it.scan.names
	if names.count[key] < 2 || names.reported[key] {
		return
	}
	names.reported[key] = true
	message := fmt.Sprintf("%d entries of the list have this name: which one an agent reads depends on its client", names.count[key])
	entries := names.entries[key]
	it.report(hit{Block, string(entries[:]), message, excerpt(it.Name, 0, min(len(it.Name), maxNameLength)), spot{}})
}

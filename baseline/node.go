package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// envelope is how deep the file is around a definition, at most.
const envelope = 8

// at makes an error about a place in the file.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d: %s", n.Line, n.Column, fmt.Sprintf(format, args...))
}

// document returns the only document in data.
func document(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(
		loaderlimits.DepthValue(rawjson.MaxDepth+envelope), loaderlimits.AliasValue(0))))
	if err != nil {
		return nil, fmt.Errorf("cannot be read as YAML: %w", err)
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: write it with mcpvigil lock")
	} else if err != nil {
		return nil, syntax(err)
	}
	if err := loader.Load(&second); err == nil {
		return nil, at(&second, "a second document starts here: keep one, without ---")
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax(err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("the file is empty: write it with mcpvigil lock")
	}
	return doc.Content[0], nil
}

// syntax is an error of the YAML parser, whose words may quote the file.
func syntax(err error) error {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return fmt.Errorf("not valid YAML: %s", plain.Line(err.Error(), maxQuoted))
	}
	if strings.HasPrefix(le.Message, "exceeded max") || strings.HasPrefix(le.Message, "unknown anchor") {
		return fmt.Errorf("line %d, column %d: %s: write it with mcpvigil lock", le.Mark.Line, le.Mark.Column, plain.Line(le.Message, maxQuoted))
	}
	return fmt.Errorf("line %d, column %d: not valid YAML: %s", le.Mark.Line, le.Mark.Column, plain.Line(le.Message, maxQuoted))
}

// conflict finds what git leaves in a file that it could not merge. Nothing that
// Encode writes has such a line.
func conflict(data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		mark, _, _ := bytes.Cut(bytes.TrimRight(line[:min(len(line), 16)], "\r\n"), []byte(" "))
		switch string(mark) {
		case "<<<<<<<", "|||||||", "=======", ">>>>>>>":
			return fmt.Errorf("line %d: a merge conflict is not resolved: keep one side and run mcpvigil lock again", n)
		}
	}
	return nil
}

// untouched refuses what YAML can do beside holding data: anchors, aliases, tags.
func untouched(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at(n, "anchors (&) and aliases (*) are not used here: put the text in quotes")
	case n.Style&yaml.TaggedStyle != 0:
		return at(n, "tags (!) are not used here: put the text in quotes")
	}
	for _, c := range n.Content {
		if err := untouched(c); err != nil {
			return err
		}
	}
	return nil
}

// typeName says what a node is, for errors.
func typeName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return "a string"
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	}
	return "a value that must be in quotes"
}

// fields returns the members of a mapping, which may have the known keys only.
func fields(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "%s must be a mapping, not %s", what, typeName(n))
	}
	out := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name, err := text(key, "a key of "+what)
		switch {
		case err != nil:
			return nil, err
		case !slices.Contains(known, name):
			return nil, at(key, "unknown key %s in %s: known keys are %s", quote(name), what, strings.Join(known, ", "))
		case out[name] != nil:
			return nil, at(key, "%s has %s twice: keep one of them", what, name)
		}
		out[name] = n.Content[i+1]
	}
	return out, nil
}

// elements returns those of a list.
func elements(n *yaml.Node, what string) ([]*yaml.Node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, at(n, "%s must be a list, not %s", what, typeName(n))
	}
	return n.Content, nil
}

// text returns a string.
func text(n *yaml.Node, what string) (string, error) {
	if !isText(n) {
		return "", at(n, "%s must be a string, not %s", what, typeName(n))
	}
	return n.Value, nil
}

// number is the grammar of RFC 8259. Some of what it allows, such as 1E400, is no
// number to YAML, and some of what YAML allows, such as 0x1F, none to JSON.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func isPlain(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (!isPlain(n) || n.ShortTag() == "!!str" && !number.MatchString(n.Value))
}

// appendValue appends a node as JSON. The lexemes of numbers are kept.
func appendValue(dst []byte, n *yaml.Node) ([]byte, error) {
	var err error
	switch {
	case n.Kind == yaml.MappingNode:
		return appendMembers(dst, n)
	case n.Kind == yaml.SequenceNode:
		dst = append(dst, '[')
		for i, elem := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, elem); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case isText(n):
		return appendText(dst, n.Value), nil
	case number.MatchString(n.Value), n.Value == "null", n.Value == "true", n.Value == "false":
		return append(dst, n.Value...), nil
	}
	return nil, at(n, "%s is no value of JSON: put it in quotes, or write null", quote(n.Value))
}

func appendMembers(dst []byte, n *yaml.Node) ([]byte, error) {
	dst = append(dst, '{')
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name, err := text(key, "a key")
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, at(key, "%s stands there twice: keep one of them", quote(name))
		}
		seen[name] = true
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, name), ':')
		if dst, err = appendValue(dst, n.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendText appends a JSON string.
func appendText(dst []byte, s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic("baseline: a string does not marshal: " + err.Error())
	}
	return append(dst, data...)
}

package config

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// jsonWriter turns YAML nodes into JSON without going through Go values, so
// that order and large numbers survive.
type jsonWriter struct {
	*decoder
	out bytes.Buffer
}

type nodeProblem struct {
	at         *yaml.Node
	text, hint string
}

const maxWritten = 1 << 20

func (w *jsonWriter) write(n *yaml.Node, depth int) *nodeProblem {
	if depth > MaxDepth || w.out.Len() > maxWritten {
		return &nodeProblem{n, "arguments are too large or nested too deep", "shorten them"}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.write(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if p := w.write(item, depth+1); p != nil {
				return p
			}
		}
		w.out.WriteByte(']')
		return nil
	default:
		return w.scalar(n)
	}
}

func (w *jsonWriter) mapping(n *yaml.Node, depth int) *nodeProblem {
	w.out.WriteByte('{')
	for i, m := range w.members(n) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.text(m.key.Value)
		w.out.WriteByte(':')
		if p := w.write(m.value, depth+1); p != nil {
			return p
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *jsonWriter) text(s string) {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes, into memory
	w.out.Truncate(w.out.Len() - 1)
}

func (w *jsonWriter) scalar(n *yaml.Node) *nodeProblem {
	switch n.ShortTag() {
	case "!!null":
		w.out.WriteString("null")
	case "!!bool":
		w.out.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		number, ok := jsonNumber(n.Value)
		if !ok {
			return &nodeProblem{n, "an argument is a number that JSON cannot hold", "write it in decimal digits, or put it in quotes"}
		}
		w.out.WriteString(number)
	case "!!str", "!!timestamp":
		w.text(n.Value)
	default:
		return &nodeProblem{n, "an argument has a YAML tag (!…) that is not used here", "remove the tag"}
	}
	return nil
}

// jsonNumber keeps a number as it is written where JSON allows that.
func jsonNumber(s string) (string, bool) {
	if json.Valid([]byte(s)) {
		return s, true
	}
	if i, ok := new(big.Int).SetString(s, 0); ok && len(s) < 1000 {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

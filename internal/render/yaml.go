package render

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/probe"
)

// yamlReports writes what jsonReports writes, member for member and in the same
// order. Everything outside ASCII is escaped, so nothing invisible gets through.
func yamlReports(reports []*probe.Report) ([]byte, error) {
	data, err := jsonReports(reports)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	node, err := yamlNode(d)
	if err != nil {
		return nil, err
	}
	return yaml.Dump(node, yaml.WithIndent(2), yaml.WithUnicode(false), yaml.WithLineWidth(-1))
}

// yamlNode reads one JSON value from d and keeps the order of its members.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return yamlScalar(token), nil
	}
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if delim == '{' {
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
	}
	for d.More() { // the name of a member is a value to the decoder, too
		value, err := yamlNode(d)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, value)
	}
	_, err = d.Token() // the closing delimiter
	return node, err
}

func yamlScalar(token json.Token) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := token.(type) {
	case nil:
		node.Tag, node.Value = "!!null", "null"
	case bool:
		node.Tag, node.Value = "!!bool", "false"
		if v {
			node.Value = "true"
		}
	case json.Number:
		node.Value = v.String()
		node.Tag = "!!int"
		if bytes.ContainsAny([]byte(node.Value), ".eE") {
			node.Tag = "!!float"
		}
	case string:
		node.SetString(v)
		node.Tag = "!!str"
	}
	return node
}

package lint

import "github.com/mcpvigil/mcpvigil/surface"

// names are the names of tools that agents see side by side.
type names struct {
	own map[string]bool // of the surface
	// server names a neighbour that has a tool of the name.
	server map[string]string
}

func newNames(items []surface.Item, neighbours map[string][]string) *names {
	n := &names{own: map[string]bool{}, server: map[string]string{}}
	for i := range items {
		if items[i].Kind == surface.Tool {
			n.own[items[i].Name] = true
		}
	}
	for server, tools := range neighbours {
		for _, tool := range tools {
			if first, ok := n.server[tool]; !ok || server < first {
				n.server[tool] = server
			}
		}
	}
	return n
}

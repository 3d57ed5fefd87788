package alert

import "github.com/mcpvigil/mcpvigil/internal/watch"

// Type is a type of channels.
type Type struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Fields []Field `json:"fields"`
	// AdminOnly: only an administrator may make one.
	AdminOnly bool `json:"admin_only,omitempty"`
}

// Field is one setting of a type.
type Field struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Example  string `json:"example,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Secret: it is never shown again.
	Secret bool `json:"secret,omitempty"`
}

// Types lists the types of channels.
func Types() []Type { return nil }

// Validate gives what is wrong with the settings of a channel.
func Validate(_ string, _ map[string]string) []watch.Problem { return nil }

// Shown says where a channel goes, without its secrets.
func Shown(_ string, _ map[string]string) string { return "" }

// AdminOnly reports whether only an administrator may make channels of this type.
func AdminOnly(_ string) bool { return false }

package surface

// ChangeGroup is the same change across items.
type ChangeGroup struct {
	Class   Class    `json:"class"`
	Event   string   `json:"event"`
	Effect  Effect   `json:"effect"`
	Kind    Kind     `json:"kind"`
	Pointer string   `json:"pointer,omitempty"`
	Detail  string   `json:"detail"`
	Items   []string `json:"items"` // untrusted
	Changes []Change `json:"-"`
}

// Group puts the same change across many items together, the strongest effect
// first.
func Group(_ []Change) []ChangeGroup { return nil }

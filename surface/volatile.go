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

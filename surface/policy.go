package surface

// PolicyName is a table of effects.
type PolicyName string

// The tables.
const (
	Alert  PolicyName = "alert"  // the default
	Record PolicyName = "record" // drift fails nothing
	Seed   PolicyName = "seed"   // what hosted monitors do: tools and instructions alone fail
)

// Policy says what changes do. The zero Policy is [Alert].
type Policy struct {
	Base PolicyName
	// Effects override the table for single classes.
	Effects map[Class]Effect
}

// Apply sets the effects, and the events, of changes; it returns a new slice.
func (p Policy) Apply(changes []Change) []Change { return changes }

// ClassInfo explains a class.
type ClassInfo struct {
	Class        Class
	Event        string
	Effect, Seed Effect // under Alert and under Seed
	Text         string
}

// Classes returns every class, in the order of the kinds.
func Classes() []ClassInfo { return nil }

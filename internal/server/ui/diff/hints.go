package diff

// Hint is one of the annotations of a tool, before and after, as it takes effect.
type Hint struct {
	// Name is the member, such as readOnlyHint.
	Name string
	// Before and After are what counts, which is the default where nothing is said.
	Before, After bool
	// SaidBefore and SaidAfter: the server says so itself.
	SaidBefore, SaidAfter bool
}

// Annotations compares the hints of a tool that the protocol knows, and tells whether
// anything else among its annotations differs.
func Annotations(before, after []byte) (hints []Hint, other bool) {
	a, errA := parse(before)
	b, errB := parse(after)
	if errA != nil || errB != nil {
		return nil, true
	}
	known := map[string]bool{}
	for _, h := range []struct {
		name     string
		fallback bool
	}{{"readOnlyHint", false}, {"destructiveHint", true}, {"idempotentHint", false}, {"openWorldHint", true}} {
		known[h.name] = true
		x, y := a.Get(h.name), b.Get(h.name)
		if same(x, y) {
			continue
		}
		hint := Hint{Name: h.name, Before: h.fallback, After: h.fallback}
		if value, ok := x.Bool(); ok {
			hint.Before, hint.SaidBefore = value, true
		}
		if value, ok := y.Bool(); ok {
			hint.After, hint.SaidAfter = value, true
		}
		if x.Exists() && !hint.SaidBefore || y.Exists() && !hint.SaidAfter {
			other = true // something else than true or false
		}
		hints = append(hints, hint)
	}
	for _, name := range names(a, b) {
		if !known[name] && !same(a.Get(name), b.Get(name)) {
			other = true
		}
	}
	return hints, other
}

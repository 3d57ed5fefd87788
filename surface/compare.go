package surface

// CompareOptions change what is compared.
type CompareOptions struct {
	// Masks are texts that change by themselves.
	Masks []Mask
	// IgnoreProtocol leaves out the negotiated revision.
	IgnoreProtocol bool
}

// Compare says what changed, in the order of kinds and names, with the effects of
// the default policy. Inventories that after did not list to their end are left
// out.
func Compare(_, _ *Surface, _ CompareOptions) []Change { return nil }

// Cloaked compares what two clients were told at the same time.
func Cloaked(_, _ *Surface, _ string, _ bool) []Change { return nil }

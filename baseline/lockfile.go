package baseline

// Lockfile is a file of baselines.
type Lockfile struct {
	Baselines []*Baseline
}

// Read reads a lockfile. Its errors name line and column.
func Read(_ []byte) (*Lockfile, error) { return &Lockfile{}, nil }

// Encode writes the lockfile, always the same bytes for the same content.
func (l *Lockfile) Encode() []byte { return nil }

// Find returns the baseline of a target. Its errors are [ErrNoBaseline] and
// *[BindingError].
func (l *Lockfile) Find(_ string, _ Binding) (*Baseline, error) { return nil, nil }

// Put adds b or replaces the baseline of the same name and binding; baselines of
// the same name for another endpoint are dropped.
func (l *Lockfile) Put(_ *Baseline) {}

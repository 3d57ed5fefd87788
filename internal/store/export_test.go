package store

import "context"

// OpenVersion opens an empty database with the schema of an older version.
func OpenVersion(ctx context.Context, o Options, version int) (*Store, error) {
	s, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	steps, err := s.steps()
	if err != nil {
		return nil, err
	}
	return s, s.apply(ctx, steps[:version])
}

package people

import "context"

// Names are those of the accounts that can be used, for who may write: whom something can
// be given to.
func (p *People) Names(ctx context.Context, by Actor) (names []string, err error) {
	if !by.Can(Write) {
		return nil, ErrForbidden
	}
	err = p.storage.View(ctx, func(tx Tx) error {
		accounts, err := tx.Accounts(ctx)
		names = nil
		for _, a := range accounts {
			if !a.Disabled {
				names = append(names, a.Name)
			}
		}
		return err
	})
	return names, err
}

// Hash is that of a password of something else than an account. It has to be as good as
// one of an account. Errors: *InputError, *RateError.
func (p *People) Hash(ctx context.Context, password string) (string, error) {
	if err := acceptable(password, ""); err != nil {
		return "", err
	}
	return p.hasher.make(ctx, password)
}

// Matches compares a password with what Hash gave. With an empty hash it takes the same
// work and tells no. Errors: *RateError.
func (p *People) Matches(ctx context.Context, password, hash string) (bool, error) {
	return p.hasher.matches(ctx, password, hash)
}

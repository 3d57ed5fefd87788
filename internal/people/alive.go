package people

import "context"

// Alive is ErrUnauthenticated when a session has ended, as its person signed out, or may
// not use it any more. To ask does not count as using it: what is sent to an open page
// keeps nobody signed in.
func (p *People) Alive(ctx context.Context, s *Session) error {
	if !p.made(s) {
		return ErrUnauthenticated
	}
	return p.storage.View(ctx, func(tx Tx) error {
		_, _, err := p.alive(ctx, tx, s.row.Token, p.now())
		return err
	})
}

package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

func testCodeApps(t *testing.T, b *bench) {
	ann := b.account("ann")
	ann.TOTPStep, ann.Recovery, ann.Subject = 7, []string{"aa", "bb"}, "https://login.example.com 17"
	secret := []byte("JBSWY3DPEHPK3PXP")
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.PutAccount(ctx, &ann); err != nil {
			return err
		}
		_, err := tx.TOTP(ctx, ann.ID)
		wantError(t, err, people.ErrNotFound)
		_, err = tx.TOTP(ctx, 12345)
		wantError(t, err, people.ErrNotFound)
		wantError(t, tx.SetTOTP(ctx, 12345, secret), people.ErrNotFound)
		return tx.SetTOTP(ctx, ann.ID, secret)
	})
	if b.stored("select totp from accounts where id = $1", ann.ID, secret) {
		t.Error("the secret of a code app lies readable")
	}
	ann.TOTP = true
	b.changed(func(ctx context.Context, tx people.Tx) error {
		got, err := tx.AccountBySubject(ctx, ann.Subject)
		same(t, "by subject", ann, got)
		if err != nil {
			return err
		}
		_, missed := tx.AccountBySubject(ctx, "https://login.example.com 18")
		wantError(t, missed, people.ErrNotFound)
		read, err := tx.TOTP(ctx, ann.ID)
		same(t, "secret", string(secret), string(read))
		if err != nil {
			return err
		}
		if err := tx.SetTOTP(ctx, ann.ID, nil); err != nil {
			return err
		}
		if got, err = tx.Account(ctx, ann.ID); got.TOTP {
			t.Errorf("account %+v", got)
		}
		return err
	})
	other := people.Account{Name: "bob", Role: people.Viewer, Subject: ann.Subject}
	wantError(t, b.change(func(ctx context.Context, tx people.Tx) error { return tx.PutAccount(ctx, &other) }), people.ErrExists)
}

func testPasskeys(t *testing.T, b *bench) {
	ann := b.account("ann")
	key := people.PasskeyRow{Account: ann.ID, Name: "laptop", Credential: "c1", Data: "{}", CreatedAt: day0()}
	second := people.PasskeyRow{Account: ann.ID, Name: "phone", Credential: "c2", Data: "{}", CreatedAt: day0(), UsedAt: day0()}
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.PutPasskey(ctx, &key); err != nil {
			return err
		}
		return tx.PutPasskey(ctx, &second)
	})
	again := people.PasskeyRow{Account: ann.ID, Name: "other", Credential: "c1", CreatedAt: day0()}
	wantError(t, b.change(func(ctx context.Context, tx people.Tx) error { return tx.PutPasskey(ctx, &again) }), people.ErrExists)
	key.UsedAt, key.Data = day0().Add(time.Hour), `{"counter":1}`
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.PutPasskey(ctx, &key); err != nil {
			return err
		}
		missing := people.PasskeyRow{ID: 12345}
		wantError(t, tx.PutPasskey(ctx, &missing), people.ErrNotFound)
		keys, err := tx.Passkeys(ctx, ann.ID)
		same(t, "passkeys", []people.PasskeyRow{key, second}, keys)
		if err != nil {
			return err
		}
		found, err := tx.PasskeyByCredential(ctx, "c2")
		same(t, "by credential", second, found)
		_, missed := tx.PasskeyByCredential(ctx, "c3")
		wantError(t, missed, people.ErrNotFound)
		return err
	})
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.DeletePasskey(ctx, key.ID); err != nil {
			return err
		}
		if err := tx.DeletePasskey(ctx, 12345); err != nil {
			return err
		}
		got, err := tx.Account(ctx, ann.ID)
		if got.Passkeys != 1 {
			t.Errorf("account %+v", got)
		}
		return err
	})
}

// stored tells whether a value that is stored holds a text.
func (b *bench) stored(query string, arg any, text []byte) bool {
	b.Helper()
	var value []byte
	b.do(func(ctx context.Context, t *store.Tx) error {
		return t.SQL().QueryRowContext(ctx, query, arg).Scan(&value)
	})
	if len(value) == 0 {
		b.Fatalf("%s gives nothing", query)
	}
	return bytes.Contains(value, text)
}

func testChallenges(t *testing.T, b *bench) {
	c := func(hash, purpose string, minutes int) people.Challenge {
		return people.Challenge{Hash: hash, Purpose: purpose, Data: []byte("data of " + hash), ExpiresAt: day0().Add(time.Duration(minutes) * time.Minute)}
	}
	b.changed(func(ctx context.Context, tx people.Tx) error {
		for _, c := range []people.Challenge{c("a", "login", 5), c("b", "login", 6), c("c", "login", 7), c("d", "proof x", 5), c("e", "login", 1)} {
			if err := tx.PutChallenge(ctx, c); err != nil {
				return err
			}
		}
		replaced := c("a", "login", 8)
		if err := tx.PutChallenge(ctx, replaced); err != nil {
			return err
		}
		got, err := tx.Challenge(ctx, "a")
		same(t, "challenge", replaced, got)
		_, missing := tx.Challenge(ctx, "x")
		wantError(t, missing, people.ErrNotFound)
		return err
	})
	if b.stored("select data from challenges where hash = $1", "a", []byte("data of")) {
		t.Error("a challenge lies readable")
	}
	b.changed(func(ctx context.Context, tx people.Tx) error {
		return tx.DropChallenges(ctx, "login", day0().Add(2*time.Minute), 2)
	})
	same(t, "those that stay", 3, b.number("select count(*) from challenges where hash in ('a', 'c', 'd')"))
	same(t, "all that stay", 3, b.number("select count(*) from challenges"))
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.DeleteChallenge(ctx, "a"); err != nil {
			return err
		}
		return tx.DeleteChallenge(ctx, "x")
	})
	same(t, "after one was removed", 2, b.number("select count(*) from challenges"))
}

func testRekeyFactors(t *testing.T, b *bench) {
	ann := b.account("ann")
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.PutChallenge(ctx, people.Challenge{Hash: "a", Purpose: "login", ExpiresAt: day0()}); err != nil {
			return err
		}
		return tx.SetTOTP(ctx, ann.ID, []byte("s3cret"))
	})
	next := b.options
	next.Sealer = seal.Generate()
	if err := b.Rekey(t.Context(), next.Sealer); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []store.Options{b.options, next} {
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		err = s.View(t.Context(), func(tx *store.Tx) error {
			secret, err := tx.TOTP(t.Context(), ann.ID)
			if right := o.Sealer == next.Sealer; right != (err == nil && string(secret) == "s3cret") {
				t.Errorf("with the new key %t: %q, %v", right, secret, err)
			}
			_, err = tx.Challenge(t.Context(), "a")
			wantError(t, err, people.ErrNotFound)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) verified() people.AuditCheck {
	b.Helper()
	var check people.AuditCheck
	err := b.View(b.Context(), func(t *store.Tx) error {
		previous, entries, err := t.AuditTrail(b.Context())
		if err == nil {
			check, err = people.VerifyAudit(previous, entries)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return check
}

// Whoever writes the audit at the same time, in whichever order rows are locked, it is
// one chain.
func testAuditChain(t *testing.T, b *bench) {
	const writers, each = 6, 20
	undone := errors.New("undone")
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				entry := people.AuditEntry{At: day0().Add(time.Duration(i) * time.Millisecond), Actor: fmt.Sprint("user:", w), Action: "test", Detail: "a\x00\xff"}
				err := b.InTx(t.Context(), func(tx *store.Tx) error {
					if err := tx.Audit(t.Context(), entry); err != nil {
						return err
					}
					// Afterwards it waits for what the others have.
					for _, name := range []string{fmt.Sprint("s", (w+i)%3), fmt.Sprint("s", (w+2*i+1)%3)} {
						if err := tx.SetSetting(t.Context(), name, fmt.Sprint(w)); err != nil {
							return err
						}
					}
					if i%5 == 0 {
						return undone
					}
					return nil
				})
				if err != nil && i%5 != 0 {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	check := b.verified()
	if check.Broken != 0 || check.Entries != writers*each*4/5 || check.Last != check.Entries || check.Unchained != 0 {
		t.Errorf("%+v", check)
	}
}

// The audit is only added to, but for its oldest entries, whose last hash is kept.
func testAuditIsKept(t *testing.T, b *bench) {
	for i := range 10 {
		b.do(func(ctx context.Context, tx *store.Tx) error {
			return tx.Audit(ctx, people.AuditEntry{At: day0().Add(time.Duration(i) * 24 * time.Hour), Actor: "user:ann", Action: "test"})
		})
	}
	whole := b.verified()
	for _, query := range []string{
		"update audit set detail = 'x' where id = 3", "update audit set hash = ''", "delete from audit where id = 1", "delete from audit where id = 10", "delete from audit",
	} {
		err := b.try(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(ctx, query)
			return err
		})
		if err == nil {
			t.Errorf("%s is done", query)
		}
	}
	same(t, "the audit", whole, b.verified())

	done := b.retain(day0().Add(14*24*time.Hour), store.Retention{Audit: 10 * 24 * time.Hour})
	same(t, "dropped", 4, done.Audit)
	check := b.verified()
	if check.Broken != 0 || check.Entries != 6 || check.First != 5 || check.Hash != whole.Hash {
		t.Errorf("after the oldest were dropped: %+v", check)
	}
	done = b.retain(day0().Add(999*24*time.Hour), store.Retention{Audit: 10 * 24 * time.Hour})
	same(t, "dropped to the end", 6, done.Audit)
	b.do(func(ctx context.Context, tx *store.Tx) error {
		return tx.Audit(ctx, people.AuditEntry{At: day0(), Actor: "user:ann", Action: "test"})
	})
	check = b.verified()
	if check.Broken != 0 || check.Entries != 1 || check.First != 11 {
		t.Errorf("after all were dropped: %+v", check)
	}
	// What was there before is part of the chain.
	b.exec("update settings set value = '12 x' where name = 'audit_anchor'")
	if check := b.verified(); check.Broken != 11 {
		t.Errorf("with another anchor: %+v", check)
	}
}

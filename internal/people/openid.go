package people

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Identity is a person as an OpenID provider knows it.
type Identity struct {
	// Issuer and Subject know the person; an account is never found by its name.
	Issuer, Subject string
	// Name is what a new account is called, as far as it can be.
	Name string
	// Role is what the account may do from now on.
	Role Role
}

// LoginAs starts a session of the account of an OpenID person, under a new token. The
// account is made when it is not there, and gets the role each time. Errors:
// ErrCredentials for an account that is disabled, ErrLastAdmin, *RateError, *InputError.
func (p *People) LoginAs(ctx context.Context, who Identity, address, agent string) (string, *Session, error) {
	now := p.now()
	if who.Issuer == "" || who.Subject == "" {
		return "", nil, &InputError{"subject", "is missing"}
	}
	if !who.Role.Valid() {
		return "", nil, &InputError{"role", "has to be viewer, editor, approver or admin"}
	}
	if err := p.addresses.take(network(address), now); err != nil {
		return "", nil, err
	}
	return p.begin(ctx, now, address, agent, func(tx Tx, row SessionRow) (Account, error, error) {
		a, err := tx.AccountBySubject(ctx, who.subject())
		if missing(err) {
			a, err = newcomer(ctx, tx, now, who)
			return a, nil, err
		}
		if err != nil {
			return a, nil, err
		}
		if a.Disabled {
			return a, ErrCredentials, loginFailed(ctx, tx, a, "disabled", row)
		}
		if a.Role == who.Role {
			return a, nil, nil
		}
		if err := checkLastAdmin(ctx, tx, a.ID, who.Role); errors.Is(err, ErrLastAdmin) {
			return a, err, loginFailed(ctx, tx, a, "the provider gives the last admin another role", row)
		} else if err != nil {
			return a, nil, err
		}
		was := a.Role
		a.Role, a.UpdatedAt = who.Role, now
		if err := tx.PutAccount(ctx, &a); err != nil {
			return a, nil, err
		}
		if err := tx.DeleteSessions(ctx, a.ID, ""); err != nil {
			return a, nil, err
		}
		return a, nil, audit(ctx, tx, now, "openid", "account.role", personOf(a), "role "+string(a.Role)+", before "+string(was))
	})
}

func (who Identity) subject() string { return who.Issuer + " " + who.Subject }

// newcomer makes the account of a person whom the provider sends for the first time.
func newcomer(ctx context.Context, tx Tx, now time.Time, who Identity) (Account, error) {
	all, err := tx.Accounts(ctx)
	if err != nil {
		return Account{}, err
	}
	if len(all) >= maxAccounts {
		return Account{}, &InputError{"name", "is one too many: there are 1000 accounts"}
	}
	a := Account{Name: freeName(who.Name, all), Role: who.Role, Subject: who.subject(), CreatedAt: now, UpdatedAt: now}
	if err := tx.PutAccount(ctx, &a); err != nil {
		return Account{}, err
	}
	return a, audit(ctx, tx, now, "openid", "account.create", personOf(a), "role "+string(a.Role))
}

// freeName makes of a name one that an account can have and none of all has.
func freeName(text string, all []Account) string {
	const room = maxName - len("-1001")
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameLetters+nameMarks, r) {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSpace(text)))
	name = strings.TrimLeft(name, nameMarks)
	if name = strings.TrimRight(name[:min(len(name), room)], "-"); name == "" {
		name = "person"
	}
	free := name
	for n := 2; slices.ContainsFunc(all, func(a Account) bool { return a.Name == free }); n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

// checkLastAdmin gives ErrLastAdmin when nobody could administer any more once the
// account has the role.
func checkLastAdmin(ctx context.Context, tx Tx, id int64, role Role) error {
	if role == Admin {
		return nil
	}
	all, err := tx.Accounts(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(a Account) bool { return a.ID != id && a.Role == Admin && !a.Disabled }) {
		return ErrLastAdmin
	}
	return nil
}

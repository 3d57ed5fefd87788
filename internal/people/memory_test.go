package people

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// memory is a Storage in memory, whose transactions can fail.
type memory struct {
	mu   sync.Mutex
	data tables
	// views and changes count transactions; broken is what every change ends with.
	views, changes int
	broken         error
	inside         func() // called within the next change
}

type tables struct {
	next     int64
	accounts map[int64]Account
	sessions map[string]SessionRow
	keys     map[int64]Key
	settings map[string]string
	audit    []AuditEntry
	totp     map[int64][]byte
	passkeys map[int64]PasskeyRow
	asked    map[string]Challenge
}

func newMemory() *memory {
	return &memory{data: tables{
		accounts: map[int64]Account{}, sessions: map[string]SessionRow{}, keys: map[int64]Key{}, settings: map[string]string{},
		totp: map[int64][]byte{}, passkeys: map[int64]PasskeyRow{}, asked: map[string]Challenge{},
	}}
}

func (t tables) clone() tables {
	t.accounts, t.sessions, t.keys = maps.Clone(t.accounts), maps.Clone(t.sessions), maps.Clone(t.keys)
	t.settings, t.audit = maps.Clone(t.settings), slices.Clone(t.audit)
	t.totp, t.passkeys, t.asked = maps.Clone(t.totp), maps.Clone(t.passkeys), maps.Clone(t.asked)
	return t
}

func (m *memory) View(_ context.Context, f func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.views++
	copied := m.data.clone()
	return f(&memoryTx{&copied, true})
}

func (m *memory) Change(_ context.Context, f func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	if inside := m.inside; inside != nil {
		m.inside = nil
		inside()
	}
	copied := m.data.clone()
	if err := errors.Join(f(&memoryTx{&copied, false}), m.broken); err != nil {
		return err
	}
	m.data = copied
	return nil
}

func (m *memory) lastAudit(t *testing.T) AuditEntry {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.data.audit) == 0 {
		t.Fatal("the audit is empty")
	}
	return m.data.audit[len(m.data.audit)-1]
}

type memoryTx struct {
	*tables
	reads bool
}

func (x *memoryTx) writes() {
	if x.reads {
		panic("a write in View")
	}
}

func find[K comparable, V any](m map[K]V, ok func(V) bool) (V, error) {
	for _, v := range m {
		if ok(v) {
			return v, nil
		}
	}
	var none V
	return none, ErrNotFound
}

func sorted[K comparable, V any](m map[K]V, ok func(V) bool, order func(a, b V) int) []V {
	var list []V
	for _, v := range m {
		if ok(v) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, order)
	return list
}

// filled is an account with what is kept beside it.
func (x *memoryTx) filled(a Account, err error) (Account, error) {
	a.TOTP, a.Passkeys = x.totp[a.ID] != nil, 0
	for _, k := range x.passkeys {
		if k.Account == a.ID {
			a.Passkeys++
		}
	}
	return a, err
}

func (x *memoryTx) AccountBySubject(_ context.Context, subject string) (Account, error) {
	return x.filled(find(x.accounts, func(a Account) bool { return a.Subject == subject }))
}

func (x *memoryTx) TOTP(_ context.Context, id int64) ([]byte, error) {
	if x.totp[id] == nil {
		return nil, ErrNotFound
	}
	return x.totp[id], nil
}

func (x *memoryTx) SetTOTP(_ context.Context, id int64, secret []byte) error {
	x.writes()
	x.totp[id] = secret
	return nil
}

func (x *memoryTx) Passkeys(_ context.Context, account int64) ([]PasskeyRow, error) {
	return sorted(x.passkeys, func(k PasskeyRow) bool { return k.Account == account }, func(a, b PasskeyRow) int { return cmp.Compare(a.ID, b.ID) }), nil
}

func (x *memoryTx) PasskeyByCredential(_ context.Context, credential string) (PasskeyRow, error) {
	return find(x.passkeys, func(k PasskeyRow) bool { return k.Credential == credential })
}

func (x *memoryTx) PutPasskey(_ context.Context, k *PasskeyRow) error {
	x.writes()
	if _, err := find(x.passkeys, func(b PasskeyRow) bool { return b.Credential == k.Credential && b.ID != k.ID }); err == nil {
		return ErrExists
	}
	if k.ID == 0 {
		x.next++
		k.ID = x.next
	}
	x.passkeys[k.ID] = *k
	return nil
}

func (x *memoryTx) DeletePasskey(_ context.Context, id int64) error {
	x.writes()
	delete(x.passkeys, id)
	return nil
}

func (x *memoryTx) Challenge(_ context.Context, hash string) (Challenge, error) {
	return find(x.asked, func(c Challenge) bool { return c.Hash == hash })
}

func (x *memoryTx) PutChallenge(_ context.Context, c Challenge) error {
	x.writes()
	x.asked[c.Hash] = c
	return nil
}

func (x *memoryTx) DeleteChallenge(_ context.Context, hash string) error {
	x.writes()
	delete(x.asked, hash)
	return nil
}

func (x *memoryTx) DropChallenges(_ context.Context, purpose string, now time.Time, keep int) error {
	x.writes()
	maps.DeleteFunc(x.asked, func(_ string, c Challenge) bool { return c.ExpiresAt.Before(now) })
	of := sorted(x.asked, func(c Challenge) bool { return c.Purpose == purpose }, func(a, b Challenge) int { return b.ExpiresAt.Compare(a.ExpiresAt) })
	for _, c := range of[min(keep, len(of)):] {
		delete(x.asked, c.Hash)
	}
	return nil
}

func (x *memoryTx) Accounts(context.Context) ([]Account, error) {
	return sorted(x.accounts, func(Account) bool { return true }, func(a, b Account) int { return cmp.Compare(a.Name, b.Name) }), nil
}

func (x *memoryTx) Account(_ context.Context, id int64) (Account, error) {
	return x.filled(find(x.accounts, func(a Account) bool { return a.ID == id }))
}

func (x *memoryTx) AccountByName(_ context.Context, name string) (Account, error) {
	return x.filled(find(x.accounts, func(a Account) bool { return a.Name == name }))
}

func (x *memoryTx) PutAccount(_ context.Context, a *Account) error {
	x.writes()
	if other, err := find(x.accounts, func(b Account) bool { return b.Name == a.Name }); err == nil && other.ID != a.ID {
		return ErrExists
	}
	if a.ID == 0 {
		x.next++
		a.ID = x.next
	}
	x.accounts[a.ID] = *a
	return nil
}

func (x *memoryTx) Session(_ context.Context, hash string) (SessionRow, error) {
	return find(x.sessions, func(s SessionRow) bool { return s.Token == hash })
}

func (x *memoryTx) Sessions(_ context.Context, account int64) ([]SessionRow, error) {
	return sorted(x.sessions, func(s SessionRow) bool { return s.Account == account }, func(a, b SessionRow) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Token, b.Token))
	}), nil
}

func (x *memoryTx) InsertSession(_ context.Context, s SessionRow) error {
	x.writes()
	x.sessions[s.Token] = s
	return nil
}

func (x *memoryTx) TouchSession(_ context.Context, hash string, at time.Time) error {
	x.writes()
	if s, ok := x.sessions[hash]; ok {
		s.SeenAt = at
		x.sessions[hash] = s
	}
	return nil
}

func (x *memoryTx) DeleteSession(_ context.Context, hash string) error {
	x.writes()
	delete(x.sessions, hash)
	return nil
}

func (x *memoryTx) DeleteSessions(_ context.Context, account int64, except string) error {
	x.writes()
	maps.DeleteFunc(x.sessions, func(hash string, s SessionRow) bool { return s.Account == account && hash != except })
	return nil
}

func (x *memoryTx) DeleteOldSessions(_ context.Context, seen, now time.Time) error {
	x.writes()
	maps.DeleteFunc(x.sessions, func(_ string, s SessionRow) bool { return s.SeenAt.Before(seen) || s.ExpiresAt.Before(now) })
	return nil
}

func (x *memoryTx) Keys(context.Context) ([]Key, error) {
	return sorted(x.keys, func(Key) bool { return true }, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) }), nil
}

func (x *memoryTx) Key(_ context.Context, id int64) (Key, error) {
	return find(x.keys, func(k Key) bool { return k.ID == id })
}

func (x *memoryTx) KeyByHash(_ context.Context, hash string) (Key, error) {
	return find(x.keys, func(k Key) bool { return k.Hash == hash })
}

func (x *memoryTx) PutKey(_ context.Context, k *Key) error {
	x.writes()
	if other, err := find(x.keys, func(b Key) bool { return b.Name == k.Name }); err == nil && other.ID != k.ID {
		return ErrExists
	}
	if k.ID == 0 {
		x.next++
		k.ID = x.next
	}
	x.keys[k.ID] = *k
	return nil
}

func (x *memoryTx) TouchKey(_ context.Context, id int64, at time.Time) error {
	x.writes()
	if k, ok := x.keys[id]; ok {
		k.UsedAt = at
		x.keys[id] = k
	}
	return nil
}

func (x *memoryTx) Setting(_ context.Context, name string) (string, error) {
	return x.settings[name], nil
}

func (x *memoryTx) SetSetting(_ context.Context, name, value string) error {
	x.writes()
	x.settings[name] = value
	return nil
}

func (x *memoryTx) Audit(_ context.Context, e AuditEntry) error {
	x.writes()
	previous := ""
	if n := len(x.audit); n > 0 {
		previous = x.audit[n-1].Hash
	}
	e.ID = int64(len(x.audit)) + 1
	e.Hash = e.Chain(previous)
	x.audit = append(x.audit, e)
	return nil
}

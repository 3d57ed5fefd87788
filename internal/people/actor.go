package people

import "time"

// Valid tells whether r is one of the roles.
func (r Role) Valid() bool { return rank(r) > 0 }

// Can tells whether the role has the permission.
func (r Role) Can(p Permission) bool {
	needs := map[Permission]Role{Read: Viewer, Write: Editor, Approve: Approver, Administer: Admin}[p]
	return needs != "" && rank(r) >= rank(needs)
}

func rank(r Role) int {
	switch r {
	case Viewer:
		return 1
	case Editor:
		return 2
	case Approver:
		return 3
	case Admin:
		return 4
	}
	return 0
}

// Actor is who makes a request: a person with a session, or a program with a key. Only
// this package makes one; the zero value can do nothing.
type Actor struct {
	name    string
	role    Role
	session *Session
}

// Name is "user:ann" or "key:ci", or empty.
func (a Actor) Name() string { return a.name }

// Role is what the account or the key may do.
func (a Actor) Role() Role { return a.role }

// Can tells whether the actor has the permission. A key never can approve.
func (a Actor) Can(p Permission) bool {
	if p == Approve && a.session == nil {
		return false
	}
	return a.role.Can(p)
}

// Session is that of a person; a key has none.
func (a Actor) Session() (*Session, bool) { return a.session, a.session != nil }

// Session is a person who is signed in. Only [People.Login] and
// [People.AuthenticateSession] make one.
type Session struct {
	owner   *People
	row     SessionRow
	account Account
}

// Account is the account as it was when the session was looked up.
func (s *Session) Account() Account { return s.account }

// ID is the hash of the session's token, as in the list of [People.Sessions].
func (s *Session) ID() string { return s.row.Token }

// ExpiresAt is when the session ends however much it is used.
func (s *Session) ExpiresAt() time.Time { return s.row.ExpiresAt }

// Actor is the person as who makes a request.
func (s *Session) Actor() Actor {
	return Actor{name: "user:" + s.account.Name, role: s.account.Role, session: s}
}

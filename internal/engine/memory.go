package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// How long things are remembered of a monitor.
const (
	// loginEvery is how often the metadata of a login are looked at when nothing
	// points to a change, loginAgain how soon after that failed, and loginKept how
	// long what was seen stands for what is.
	loginEvery = time.Hour
	loginAgain = 5 * time.Minute
	loginKept  = 2 * time.Hour
	// reportEvery is how old a stored report may get while nothing changes.
	reportEvery = 5 * time.Minute
	// sightingEvery is how far behind the end of a stored sighting may be.
	sightingEvery = 10 * time.Minute
	maxMemories   = 50_000
)

// place is a monitor at a location.
type place struct {
	monitor  int64
	location string
}

// memory is what this process remembers of a monitor between its checks at one
// location. All of it can be lost. Whoever runs the check has it alone.
type memory struct {
	revision int64
	// sum is of the bytes that made the surface of digest.
	sum    [sha256.Size]byte
	digest surface.Digest
	// unconfirmed is a surface that was new, when it could not be listed again.
	unconfirmed *surface.Surface
	// judged is the digest of the surface that was judged last.
	judged surface.Digest
	// login is what was found last of the login, at loginAt; loginTried is when it
	// was looked for last.
	login               *surface.AuthMetadata
	loginAt, loginTried time.Time
	// bound is the binding that was found to be the approved one, at approvals.
	bound     baseline.Binding
	boundAt   int64
	isBound   bool
	reportAt  time.Time
	reportKey string
	sightedAt time.Time
	sighted   surface.Digest
}

// memories are those of all monitors, and which of them are being checked here.
type memories struct {
	mu     sync.Mutex
	kept   map[place]*memory
	flying map[place]bool
}

func newMemories() *memories {
	return &memories{kept: map[place]*memory{}, flying: map[place]bool{}}
}

// begin takes the memory of a place for a check of this revision, unless a check of it
// runs here.
func (m *memories) begin(p place, revision int64) (*memory, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flying[p] {
		return nil, false
	}
	m.flying[p] = true
	mem := m.kept[p]
	if mem == nil || mem.revision != revision {
		mem = &memory{revision: revision}
		if len(m.kept) >= maxMemories {
			for other := range m.kept { // any of them
				delete(m.kept, other)
				break
			}
		}
		m.kept[p] = mem
	}
	return mem, true
}

// end gives a memory back.
func (m *memories) end(p place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.flying, p)
}

func (m *memories) running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.flying)
}

// loginDue reports whether a check should look at the login.
func (m *memory) loginDue(now time.Time) bool {
	if m.login == nil {
		return m.loginTried.IsZero() || now.Sub(m.loginTried) >= loginAgain
	}
	return now.Sub(m.loginAt) >= loginEvery && now.Sub(m.loginTried) >= loginAgain
}

// recall notes what a check found of the login, and where it did not look puts what was
// found last in its place, so that a surface has the same digest whether it was looked
// at or not.
func (m *memory) recall(inv *probe.Inventory, looked bool, now time.Time) {
	if looked {
		m.loginTried = now
	}
	switch {
	case inv.Auth != nil:
		m.login, m.loginAt = inv.Auth, now
	case m.login != nil && now.Sub(m.loginAt) < loginKept:
		inv.Auth = m.login
	}
}

// sumOf is a hash of what makes the surface of a report.
func sumOf(r *probe.Report) [sha256.Size]byte {
	h := sha256.New()
	var length [8]byte
	write := func(b []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(b)))
		_, _ = h.Write(length[:])
		_, _ = h.Write(b)
	}
	inv := r.Inventory
	if r.Server != nil {
		write([]byte(r.Server.ProtocolVersion))
	}
	write(inv.Opening)
	for _, list := range [][]json.RawMessage{inv.Tools, inv.Resources, inv.ResourceTemplates, inv.Prompts} {
		n := uint64(len(list)) + 1
		if list == nil {
			n = 0
		}
		binary.BigEndian.PutUint64(length[:], n)
		_, _ = h.Write(length[:])
		for _, raw := range list {
			write(raw)
		}
	}
	for _, kind := range inv.Disputed {
		write([]byte(kind))
	}
	if inv.Auth != nil {
		write(inv.Auth.Resource)
		write(inv.Auth.Issuer)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

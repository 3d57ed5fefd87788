package store

import (
	"context"
	"database/sql"
	"slices"
	"sync"
)

// mostStatements bounds the statements that are kept, as the text of some depends on
// what is asked for.
const mostStatements = 200

// statements keeps the statements of a SQLite database prepared from one transaction to
// the next: to read the text of one takes longer than to run it. On PostgreSQL the driver
// does that. It is safe for concurrent use; none is one that keeps nothing.
type statements struct {
	db *sql.DB

	mu     sync.Mutex
	known  map[string]*sql.Stmt // nil: not prepared yet, or it cannot be
	wanted []string
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, known: map[string]*sql.Stmt{}}
}

// get returns a statement that is prepared, or nil. It is prepared for the next time
// then: while a transaction runs there may be no connection for it.
func (s *statements) get(query string) *sql.Stmt {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	statement, ok := s.known[query]
	if !ok && len(s.known) < mostStatements {
		s.known[query] = nil
		s.wanted = append(s.wanted, query)
	}
	return statement
}

// prepare prepares what was wanted. What cannot be prepared fails where it is used. No
// transaction of the caller may be open.
func (s *statements) prepare(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	wanted := slices.Clone(s.wanted)
	s.wanted = s.wanted[:0]
	s.mu.Unlock()
	for _, query := range wanted {
		statement, err := s.db.PrepareContext(ctx, query)
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.known[query] = statement
		s.mu.Unlock()
	}
}

package people

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"time"
)

func chained(previous string, n int) []AuditEntry {
	var out []AuditEntry
	for i := range n {
		e := AuditEntry{
			ID: int64(i + 1), At: time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC), Actor: "user:ann", Action: "login", Object: "user:ann", Detail: "from 192.0.2.1",
		}
		e.Hash = e.Chain(previous)
		previous = e.Hash
		out = append(out, e)
	}
	return out
}

func each(entries []AuditEntry) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// The form of the hash is one that others rely on.
func TestChainIsFixed(t *testing.T) {
	e := AuditEntry{ID: 7, At: time.UnixMilli(1_772_366_400_123), Actor: "user:ann", Action: "login", Object: "user:ann", Detail: "von überall"}
	const want = "e02a5f083e3554ee1ec68f1b6eb914f1eed095b1dd638908dc6c13499088d235" // computed apart
	if got := e.Chain("ab"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// What stands in one field does not pass for another.
	a, b := AuditEntry{Actor: "ab", Action: "c"}, AuditEntry{Actor: "a", Action: "bc"}
	if a.Chain("") == b.Chain("") {
		t.Error("fields run into each other")
	}
}

func TestVerifyAudit(t *testing.T) {
	whole := chained("", 5)
	check, err := VerifyAudit("", each(whole))
	if err != nil || check != (AuditCheck{Entries: 5, First: 1, Last: 5, Hash: whole[4].Hash}) {
		t.Errorf("%+v, %v", check, err)
	}
	for name, change := range map[string]func(list []AuditEntry) []AuditEntry{
		"actor":        func(l []AuditEntry) []AuditEntry { l[2].Actor = "user:eve"; return l },
		"action":       func(l []AuditEntry) []AuditEntry { l[2].Action = "logout"; return l },
		"object":       func(l []AuditEntry) []AuditEntry { l[2].Object = ""; return l },
		"detail":       func(l []AuditEntry) []AuditEntry { l[2].Detail += " "; return l },
		"time":         func(l []AuditEntry) []AuditEntry { l[2].At = l[2].At.Add(time.Millisecond); return l },
		"id":           func(l []AuditEntry) []AuditEntry { l[2].ID = 99; return l },
		"hash":         func(l []AuditEntry) []AuditEntry { l[2].Hash = hashOf("x"); return l },
		"no hash":      func(l []AuditEntry) []AuditEntry { l[2].Hash = ""; return l },
		"rehashed":     func(l []AuditEntry) []AuditEntry { l[1].Detail = "x"; l[1].Hash = l[1].Chain(l[0].Hash); return l },
		"taken out":    func(l []AuditEntry) []AuditEntry { return slices.Delete(l, 1, 2) },
		"put in":       func(l []AuditEntry) []AuditEntry { return slices.Insert(l, 2, AuditEntry{ID: 3, Action: "x"}) },
		"twice":        func(l []AuditEntry) []AuditEntry { return slices.Insert(l, 2, l[1]) },
		"no hashes":    func(l []AuditEntry) []AuditEntry { l[0].Hash, l[1].Hash = "", ""; return l },
		"no beginning": func(l []AuditEntry) []AuditEntry { return l[1:] },
	} {
		if check, err := VerifyAudit("", each(change(slices.Clone(whole)))); err != nil || check.Broken == 0 {
			t.Errorf("%s: %+v, %v", name, check, err)
		}
	}
	if check, err := VerifyAudit(whole[1].Hash, each(whole[2:])); err != nil || check.Broken != 0 || check.Entries != 3 {
		t.Errorf("after the oldest were dropped: %+v, %v", check, err)
	}
	old := append([]AuditEntry{{ID: 1, Action: "a"}, {ID: 2, Action: "b"}}, whole...)
	previous := ""
	for i := range old[2:] {
		e := &old[2+i]
		e.ID += 2
		e.Hash = e.Chain(previous)
		previous = e.Hash
	}
	if check, err := VerifyAudit("", each(old)); err != nil || check.Broken != 0 || check.Unchained != 2 {
		t.Errorf("with entries from before there was a chain: %+v, %v", check, err)
	}
	broken := errors.New("the database is gone")
	_, err = VerifyAudit("", func(yield func(AuditEntry, error) bool) { yield(AuditEntry{}, broken) })
	is(t, "what cannot be read", err, broken)
	if check, err := VerifyAudit("", each(nil)); err != nil || check != (AuditCheck{}) {
		t.Errorf("nothing: %+v, %v", check, err)
	}
}

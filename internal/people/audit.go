package people

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
)

// Chain is the hash of an entry that follows one with the hash previous: the SHA-256,
// hexadecimal, over previous, id, time in Unix milliseconds, actor, action, object and
// detail, each written as its length in bytes, a colon, its bytes and a comma.
func (e AuditEntry) Chain(previous string) string {
	sum := sha256.New()
	for _, field := range []string{
		previous, strconv.FormatInt(e.ID, 10), strconv.FormatInt(e.At.UnixMilli(), 10), e.Actor, e.Action, e.Object, e.Detail,
	} {
		_, _ = fmt.Fprintf(sum, "%d:%s,", len(field), field)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// AuditCheck is what VerifyAudit found.
type AuditCheck struct {
	// Entries are how many were looked at, Unchained those at the beginning from before
	// there was a chain.
	Entries   int64 `json:"entries"`
	Unchained int64 `json:"unchained,omitempty"`
	// First and Last are ids.
	First int64 `json:"first,omitempty"`
	Last  int64 `json:"last,omitempty"`
	// Hash is that of the last one that is right. Who keeps it elsewhere sees later
	// whether the end was cut off, or all of it written anew.
	Hash string `json:"hash"`
	// Broken is the id of the first entry that does not follow; 0: none.
	Broken int64 `json:"broken,omitempty"`
}

// VerifyAudit follows the chain through entries, the oldest first, of which the first
// follows one with the hash previous; it is empty at the beginning of everything. The
// error is the first of entries.
func VerifyAudit(previous string, entries iter.Seq2[AuditEntry, error]) (AuditCheck, error) {
	c := AuditCheck{Hash: previous}
	for e, err := range entries {
		if err != nil {
			return c, err
		}
		if c.Entries == 0 {
			c.First = e.ID
		}
		c.Entries++
		unchained := e.Hash == "" && c.Hash == ""
		if e.ID <= c.Last || !unchained && e.Hash != e.Chain(c.Hash) {
			c.Broken = e.ID
			return c, nil
		}
		if unchained {
			c.Unchained++
		}
		c.Last, c.Hash = e.ID, e.Hash
	}
	return c, nil
}

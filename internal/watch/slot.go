package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
)

// Offset is where in its interval a monitor is checked from a location. It is the same
// for ever, and spreads monitors evenly, so that they are not checked all at once
// after a start.
func Offset(monitor int64, location string, interval time.Duration) time.Duration {
	ms := interval.Milliseconds()
	if ms <= 0 {
		return 0
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", monitor, location))
	return time.Duration(binary.BigEndian.Uint64(sum[:])%uint64(ms)) * time.Millisecond
}

// NextSlot is the first slot after a time. Slots are a whole number of intervals, and
// offset, after 1970 began.
func NextSlot(offset, interval time.Duration, after time.Time) time.Time {
	every := max(interval.Milliseconds(), 1)
	first := offset.Milliseconds() % every
	n := (after.UnixMilli() - first) / every
	if after.UnixMilli() < first {
		n-- // division cuts towards zero
	}
	slot := first + n*every
	for slot <= after.UnixMilli() {
		slot += every
	}
	return time.UnixMilli(slot).UTC()
}

// margin is what a check may take beyond its own budgets.
const margin = 5 * time.Second

// Budget is how long a check may take in all, when the server may take startup to
// start.
func Budget(d *Definition, startup time.Duration) time.Duration {
	return min(time.Duration(cmp.Or(d.Timeout, Duration(DefaultTimeout))), d.every()/2) + startup + margin
}

// every is the interval, or the default one.
func (d *Definition) every() time.Duration {
	return time.Duration(cmp.Or(d.Interval, Duration(DefaultInterval)))
}

// startup is what a stdio server may take to start.
func (d *Definition) startup() time.Duration {
	if d.Transport == Stdio {
		return probe.DefaultStartupTimeout
	}
	return 0
}

// cut is a time as it is stored.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

package config

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestLineIndex: places are right in whichever order they are asked for, and a file that
// is one line takes no longer than one of many.
func TestLineIndex(t *testing.T) {
	data := []byte("äb\n\ncdü€f\n" + strings.Repeat("é,", 50))
	naive := func(offset int) place {
		before := string(data[:offset])
		return place{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1}
	}
	x := indexLines(data)
	for from := range len(data) + 1 {
		for _, offset := range []int{from, len(data), 0, from / 2, from} {
			if offset < len(data) && !utf8.RuneStart(data[offset]) {
				continue
			}
			if got := x.at(offset); got != naive(offset) {
				t.Fatalf("offset %d is at %v, want %v", offset, got, naive(offset))
			}
		}
	}
	long := indexLines([]byte(strings.Repeat("x", 4<<20)))
	began := time.Now()
	for offset := range len(long.data) {
		long.at(offset)
	}
	if took := time.Since(began); took > 20*time.Second { // in the square of it, an hour
		t.Errorf("all places of a long line take %s", took)
	}
}

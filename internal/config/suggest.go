package config

import (
	"strconv"
	"strings"
)

// closest returns the candidate that word most likely stands for, or "".
// Case, dashes and underscores do not count.
func closest(word string, candidates []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	w := plain(word)
	if w == "" || len(w) > 64 {
		return ""
	}
	best, distance := "", 1+max(1, len(w)/3)
	for _, c := range candidates {
		if len(c) > 96 {
			continue
		}
		if d := editDistance(w, plain(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, replace or swap with
// their neighbour (optimal string alignment).
func editDistance(a, b string) int {
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, row
	}
	return prev[len(b)]
}

// meant returns `did you mean "x"?`, or the whole list when nothing is near.
func meant(word string, candidates []string, what string) string {
	if c := closest(word, candidates); c != "" {
		return "did you mean " + strconv.QuoteToASCII(c) + "?"
	}
	if len(candidates) == 0 {
		return ""
	}
	shown := make([]string, 0, min(len(candidates), 31))
	for _, c := range candidates {
		if len(shown) == 30 {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, strings.Trim(strconv.QuoteToASCII(c), `"`))
	}
	return what + " " + listed(shown, "and")
}

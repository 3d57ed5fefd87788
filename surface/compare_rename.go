package surface

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

const (
	// minWords is how many words a description needs to tell an item from others.
	minWords = 4
	// alike is the share of words, and of parameters, that two descriptions have in
	// common when one is the other under a new name.
	alike = 0.8
	// maxRenamePairs bounds how many pairs are compared for that.
	maxRenamePairs = 200 * 200
	// maxRenameWords bounds the words of a description that are compared.
	maxRenameWords = 400
)

// renames finds removed items that were added under another name: those of equal
// content first, then those that are alike. It gives pairs of indexes. A pair has to
// be clear: no other item may be as much alike.
//
// Those that moved are known already.
func renames(removed, added []Item, moved map[int]int) map[int]int {
	if len(removed) == 0 || len(added) == 0 || removed[0].Kind == Resource {
		return moved
	}
	seed := maphash.MakeSeed()
	olds, news := facesOf(removed, seed), facesOf(added, seed)
	found := maps.Clone(moved)
	for i, j := range moved {
		olds[i].paired, news[j].paired = true, true
	}
	equalFaces(olds, news, found)
	similarFaces(olds, news, found)
	return found
}

// moves finds removed resources, and templates, that were added under a URI that is
// the same but for its query, its fragment, letter case and slashes at its end.
func moves(removed, added []Item) map[int]int {
	found := make(map[int]int)
	if len(removed) == 0 || !isResource(removed[0].Kind) {
		return found
	}
	waiting := make(map[string][]int, len(added))
	for j, item := range added {
		place := placeOf(item.Name)
		waiting[place] = append(waiting[place], j)
	}
	for i, item := range removed {
		place := placeOf(item.Name)
		if to := waiting[place]; len(to) > 0 {
			found[i], waiting[place] = to[0], to[1:]
		}
	}
	return found
}

func placeOf(uri string) string {
	if end := strings.IndexAny(uri, "?#"); end >= 0 {
		uri = uri[:end]
	}
	return strings.ToLower(strings.TrimRight(uri, "/"))
}

// move compares a resource with what it was under another URI, in all but that.
func (c *comparer) move(before, after Item) {
	x, _, _ := rawjson.Parse(before.Definition)
	y, _, _ := rawjson.Parse(after.Definition)
	d := differ{comparer: c, kind: after.Kind, item: after.Name, whole: wholeClass(after.Kind), moved: true}
	d.definition(x, y)
}

// face is what an item looks like apart from its name.
type face struct {
	content    string // all but the name
	shape      Digest
	words      []uint64 // of the description, sorted
	parameters []uint64 // their names, sorted
	paired     bool
}

func facesOf(items []Item, seed maphash.Seed) []face {
	faces := make([]face, len(items))
	for i, item := range items {
		v, _, _ := rawjson.Parse(item.Definition)
		f := face{shape: item.Digests.Shape}
		var content strings.Builder
		for name, m := range v.RawMembers() {
			if string(name) != `"`+traitsOfKind(item.Kind).name+`"` {
				content.Write(name)
				content.Write(m.Raw())
			}
		}
		f.content = content.String()
		description, _ := v.Get("description").Text()
		f.words = hashes(seed, strings.FieldsFunc(description, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}))
		var parameters []string
		for name := range v.Get("inputSchema").Get("properties").Members() {
			parameters = append(parameters, name)
		}
		for _, argument := range v.Get("arguments").Elems() {
			name, _ := argument.Get("name").Text()
			parameters = append(parameters, name)
		}
		f.parameters = hashes(seed, parameters)
		faces[i] = f
	}
	return faces
}

// hashes gives a sorted set.
func hashes(seed maphash.Seed, words []string) []uint64 {
	words = words[:min(len(words), maxRenameWords)]
	set := make([]uint64, 0, len(words))
	for _, word := range words {
		set = append(set, maphash.String(seed, word))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// equalFaces pairs items whose content occurs once on each side.
func equalFaces(olds, news []face, found map[int]int) {
	count := func(faces []face) map[string][]int {
		by := make(map[string][]int, len(faces))
		for i := range faces {
			if !faces[i].paired {
				by[faces[i].content] = append(by[faces[i].content], i)
			}
		}
		return by
	}
	byOld, byNew := count(olds), count(news)
	for content, from := range byOld {
		to := byNew[content]
		if len(from) == 1 && len(to) == 1 && len(olds[from[0]].words) >= minWords {
			found[from[0]] = to[0]
			olds[from[0]].paired, news[to[0]].paired = true, true
		}
	}
}

// similarFaces pairs items that are alike, each with the only one that is so.
func similarFaces(olds, news []face, found map[int]int) {
	unpaired := func(faces []face) (left []int) {
		for i := range faces {
			if !faces[i].paired && len(faces[i].words) >= minWords {
				left = append(left, i)
			}
		}
		return left
	}
	from, to := unpaired(olds), unpaired(news)
	left := maxRenamePairs
	candidates := func(*face) []int { return to }
	if len(from)*len(to) > maxRenamePairs { // then only those of equal constraints
		byShape := make(map[Digest][]int, len(to))
		for _, j := range to {
			byShape[news[j].shape] = append(byShape[news[j].shape], j)
		}
		candidates = func(f *face) []int { return byShape[f.shape] }
	}
	fromOld, fromNew := make(map[int][]int), make(map[int][]int)
	for _, i := range from {
		among := candidates(&olds[i])
		if left -= len(among); left < 0 {
			return
		}
		for _, j := range among {
			if olds[i].isLike(&news[j]) {
				fromOld[i] = append(fromOld[i], j)
				fromNew[j] = append(fromNew[j], i)
			}
		}
	}
	for i, to := range fromOld {
		if len(to) == 1 && len(fromNew[to[0]]) == 1 {
			found[i] = to[0]
		}
	}
}

func (f *face) isLike(other *face) bool {
	return common(f.words, other.words) >= alike &&
		(f.shape == other.shape || common(f.parameters, other.parameters) >= alike)
}

// common is the share of the elements of two sorted sets that both have.
func common(a, b []uint64) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// place is a line and a column, both from 1; zeros are not known.
type place struct{ line, column int }

// in writes path with the place behind it, as in FILE:LINE:COLUMN.
func (p place) in(path string) string {
	if p.line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, p.line, p.column)
}

// places are where the members of a client's file are, by the names that lead
// there, joined by placeSep.
type places map[string]place

const placeSep = "\x00"

func (p places) set(at place, names ...string) { p[strings.Join(names, placeSep)] = at }

// of returns where the member of these names is, or else what holds it.
func (p places) of(names ...string) place {
	for n := len(names); n > 0; n-- {
		if at, ok := p[strings.Join(names[:n], placeSep)]; ok {
			return at
		}
	}
	return place{}
}

// lineIndex finds the line and column of an offset.
type lineIndex struct {
	data   []byte
	starts []int // of lines
	// last and column are what was asked for last: places are asked for from the front
	// to the back, and a line may be as long as the file.
	last, column int
}

func indexLines(data []byte) *lineIndex {
	x := &lineIndex{data: data, starts: []int{0}}
	for i, c := range data {
		if c == '\n' {
			x.starts = append(x.starts, i+1)
		}
	}
	return x
}

func (x *lineIndex) at(offset int) place {
	if offset < 0 || offset > len(x.data) {
		return place{}
	}
	line, exact := slices.BinarySearch(x.starts, offset)
	if !exact {
		line--
	}
	column := 1
	from := x.starts[line]
	if x.last >= from && x.last <= offset && x.column > 0 {
		column, from = x.column, x.last
	}
	column += utf8.RuneCount(x.data[from:offset])
	x.last, x.column = offset, column
	return place{line + 1, column}
}

// jsonPlaces records the members of an entry, and those of its objects.
func (x *lineIndex) jsonPlaces(out places, v *hujson.Value, depth int, names ...string) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok || depth == 0 {
		return
	}
	for i := range obj.Members {
		m := &obj.Members[i]
		path := append(slices.Clone(names), nameOf(*m))
		out.set(x.at(m.Value.StartOffset), path...)
		x.jsonPlaces(out, &m.Value, depth-1, path...)
	}
}

// tomlPlaces returns where the keys under root are, and root itself under "".
// data parses as TOML.
func tomlPlaces(data []byte, root string) places {
	out := places{}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.KeyValue && e.Kind != unstable.ArrayTable {
			continue
		}
		var path []string
		if e.Kind == unstable.KeyValue {
			path = slices.Clone(table)
		}
		for keys := e.Key(); keys.Next(); {
			n := keys.Node()
			path = append(path, string(n.Data))
			if path[0] != root {
				continue
			}
			if key := strings.Join(path[1:], placeSep); out[key] == (place{}) {
				start := p.Shape(n.Raw).Start
				out[key] = place{start.Line, start.Column}
			}
		}
		if e.Kind != unstable.KeyValue {
			table = path
		}
	}
	return out
}

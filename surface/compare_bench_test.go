package surface

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkCompare compares surfaces of which one tool, or every text and every
// limit, changed.
func BenchmarkCompare(b *testing.B) {
	for _, tools := range []int{188, 1880} {
		file := generated(tools)
		before := New(inputOf(b, file))
		one := bytes.Replace(file, []byte("newest"), []byte("oldest"), 1)
		all := bytes.ReplaceAll(bytes.ReplaceAll(file, []byte("newest"), []byte("oldest")), []byte("1000"), []byte("100"))
		for name, file := range map[string][]byte{"one": one, "all": all} {
			after := New(inputOf(b, file))
			b.Run(fmt.Sprintf("%s of %d", name, tools), func(b *testing.B) {
				b.SetBytes(int64(len(file)))
				for b.Loop() {
					Group(Compare(before, after, CompareOptions{}))
				}
			})
		}
	}
}

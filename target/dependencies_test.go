package target

import (
	"slices"
	"testing"
)

func TestWithDependencies(t *testing.T) {
	a, b, c := &Target{Name: "a"}, &Target{Name: "b"}, &Target{Name: "c"}
	a.Dependencies = []Dependency{{Target: c}, {Target: nil}}
	b.Dependencies = []Dependency{{Target: c}}
	c.Dependencies = []Dependency{{Target: a}} // only a program can make a cycle
	if got := WithDependencies([]*Target{a, nil, b, a}); !slices.Equal(got, []*Target{a, c, b}) {
		t.Errorf("%d targets, want a, c and b", len(got))
	}
}

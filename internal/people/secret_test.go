package people

import (
	"errors"
	"slices"
	"testing"
)

func TestHash(t *testing.T) {
	p := empty()
	var input *InputError
	if _, err := p.Hash(t.Context(), "short"); !errors.As(err, &input) {
		t.Errorf("error %v", err)
	}
	hash, err := p.Hash(t.Context(), "a page of our own")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		password, hash string
		want           bool
	}{{"a page of our own", hash, true}, {"a page of your own", hash, false}, {"a page of our own", "", false}, {"", "", false}} {
		if got, err := p.Matches(t.Context(), c.password, c.hash); got != c.want || err != nil {
			t.Errorf("%q: %v, %v", c.password, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	h := newHouse(t)
	if _, err := h.Names(t.Context(), Actor{}); !errors.Is(err, ErrForbidden) {
		t.Errorf("error %v", err)
	}
	_, viewer := h.person(t, "vic", Viewer)
	if _, err := h.Names(t.Context(), viewer.Actor()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a viewer: error %v", err)
	}
	_, editor := h.person(t, "eve", Editor)
	if got, err := h.Names(t.Context(), editor.Actor()); err != nil || !slices.Equal(got, []string{"ann", "eve", "vic"}) {
		t.Errorf("%v, %v", got, err)
	}
}

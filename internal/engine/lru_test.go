package engine

import "testing"

func TestLRU(t *testing.T) {
	l := newLRU[string, int](10)
	l.put("a", 1, 4)
	l.put("b", 2, 4)
	if _, ok := l.get("a"); !ok {
		t.Fatal("a is gone")
	}
	l.put("c", 3, 4) // over the limit: b was used longest ago
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := l.get(key); ok != want {
			t.Errorf("%s is kept: %t", key, ok)
		}
	}
	l.put("a", 5, 9)
	if v, _ := l.get("a"); v != 5 || l.total != 9 {
		t.Errorf("a is %d, all cost %d", v, l.total)
	}
	l.put("a", 6, 11)
	if _, ok := l.get("a"); ok || l.total != 0 {
		t.Errorf("what is too large is kept, all cost %d", l.total)
	}
}

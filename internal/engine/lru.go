package engine

import (
	"container/list"
	"sync"
)

// lru keeps the values that were used last, up to a total cost. It is safe for
// concurrent use.
type lru[K comparable, V any] struct {
	most int

	mu    sync.Mutex
	total int
	order *list.List // of *lruEntry, the latest first
	known map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), known: map[K]*list.Element{}}
}

// get returns a value and makes it the latest.
func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.known[key]
	if at == nil {
		var none V
		return none, false
	}
	l.order.MoveToFront(at)
	return entryAt[K, V](at).value, true
}

// put keeps a value, unless it alone costs more than all may.
func (l *lru[K, V]) put(key K, value V, cost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(l.known[key])
	if cost > l.most {
		return
	}
	l.known[key] = l.order.PushFront(&lruEntry[K, V]{key, value, cost})
	l.total += cost
	for l.total > l.most {
		l.drop(l.order.Back())
	}
}

func (l *lru[K, V]) drop(at *list.Element) {
	if at == nil {
		return
	}
	l.order.Remove(at)
	e := entryAt[K, V](at)
	delete(l.known, e.key)
	l.total -= e.cost
}

// entryAt is what put put there.
func entryAt[K comparable, V any](at *list.Element) *lruEntry[K, V] {
	return at.Value.(*lruEntry[K, V]) //nolint:errcheck // nothing else is in the list
}

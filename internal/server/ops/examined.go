package ops

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// maxExamined are how many comparisons are kept: a page of ten thousand changes is read
// part by part.
const maxExamined = 4

// comparisons keeps the latest comparisons of surfaces with what is approved. What it
// keeps is never changed.
type comparisons struct {
	mu   sync.Mutex
	kept []compared // the latest used first
}

type compared struct {
	key     string
	surface *surface.Surface
	current *baseline.Baseline
	result  *baseline.Result
	found   []baseline.Verdict
}

// keyOf stands for all that a comparison depends on. approved has no baselines yet.
func keyOf(m *watch.Monitor, digest surface.Digest, approved []watch.Approved) string {
	key := fmt.Sprintf("%d %d %d %s %v", m.ID, m.Revision, m.Approvals, digest, m.Definition.Policy())
	for i := range approved {
		key += fmt.Sprintf(" %d:%s", approved[i].ID, approved[i].Digest)
	}
	return key
}

func (c *comparisons) get(key string) (compared, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(one compared) bool { return one.key == key })
	if i < 0 {
		return compared{}, false
	}
	one := c.kept[i]
	c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, one)
	return one, true
}

func (c *comparisons) put(one compared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(other compared) bool { return other.key == one.key })
	c.kept = slices.Insert(c.kept, 0, one)
	if len(c.kept) > maxExamined {
		c.kept = slices.Delete(c.kept, maxExamined, len(c.kept))
	}
}

package ops

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// maxBaselines bounds the definitions in the baselines that are kept, in bytes.
const maxBaselines = 64 << 20

// baselines keeps what approvals hold, as a large one takes a while to be read. What an
// approval holds never changes.
type baselines struct {
	mu   sync.Mutex
	size int
	kept []held // the latest used first
}

type held struct {
	approval int64
	baseline *baseline.Baseline
	size     int
}

// load gives the approvals with their baselines.
func (b *baselines) load(ctx context.Context, t *store.Tx, approvals []watch.Approved) ([]watch.Approved, error) {
	out := slices.Clone(approvals)
	var missing []int64
	for i := range out {
		if out[i].Baseline = b.get(out[i].ID); out[i].Baseline == nil {
			missing = append(missing, out[i].ID)
		}
	}
	read, err := t.Baselines(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if one := read[out[i].ID]; one != nil {
			out[i].Baseline = one
			b.put(out[i].ID, one)
		}
	}
	return out, nil
}

func (b *baselines) get(approval int64) *baseline.Baseline {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.kept, func(h held) bool { return h.approval == approval })
	if i < 0 {
		return nil
	}
	h := b.kept[i]
	b.kept = slices.Insert(slices.Delete(b.kept, i, i+1), 0, h)
	return h.baseline
}

func (b *baselines) put(approval int64, one *baseline.Baseline) {
	h := held{approval: approval, baseline: one}
	for _, item := range one.Surface.Items() {
		h.size += len(item.Definition) + len(item.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.size > maxBaselines || slices.ContainsFunc(b.kept, func(other held) bool { return other.approval == approval }) {
		return
	}
	b.kept = slices.Insert(b.kept, 0, h)
	b.size += h.size
	for b.size > maxBaselines {
		last := len(b.kept) - 1
		b.size -= b.kept[last].size
		b.kept = slices.Delete(b.kept, last, last+1)
	}
}

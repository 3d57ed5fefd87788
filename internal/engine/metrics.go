package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
)

// Metrics are the counters of one process since its start, and a few gauges.
type Metrics struct {
	// Checks counts finished checks by the status of their report.
	Checks map[string]uint64
	// Skipped counts slots in which no check ran.
	Skipped uint64
	// Listings counts the fresh listings that were needed to confirm a change.
	Listings uint64
	// StartLag is how long after its slot a check started, in seconds; of slots that
	// were missed, after the last of them.
	StartLag Histogram
	// CheckSeconds is how long checks took.
	CheckSeconds Histogram
	// BatchRows is how many results one transaction stored, BatchSeconds how long it took.
	BatchRows, BatchSeconds Histogram
	// StoreRetries counts transactions that were tried again, StoreFailures results
	// that could not be stored.
	StoreRetries, StoreFailures uint64
	// Dispatched counts jobs, DispatchFailures ticks that failed.
	Dispatched, DispatchFailures uint64
	// Sent and SendFailures count attempts to deliver notifications.
	Sent, SendFailures uint64
	// Panics counts panics that were caught.
	Panics uint64
	// Running is how many checks are in flight here, Waiting how many results wait
	// to be stored here.
	Running, Waiting int
	// Queued is how many jobs wait in each queue, in the whole database. It is
	// looked up at most every ten seconds.
	Queued map[string]int
}

// Histogram is a distribution. Counts[i] is how many values were at most Bounds[i] and
// above the bound before; the last of Counts is for those above all bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Count  uint64
	Sum    float64
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) add(v float64) {
	i, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[i]++
	h.Count++
	h.Sum += v
}

func (h Histogram) copy() Histogram {
	h.Counts = slices.Clone(h.Counts)
	return h
}

// Quantile is the bound that a share q of the values did not exceed, or the highest
// bound when more than that exceed all of them.
func (h Histogram) Quantile(q float64) float64 {
	rank, n := q*float64(h.Count), uint64(0)
	for i, bound := range h.Bounds {
		if n += h.Counts[i]; float64(n) >= rank {
			return bound
		}
	}
	return h.Bounds[len(h.Bounds)-1]
}

// meter counts.
type meter struct {
	mu  sync.Mutex
	now Metrics
}

func newMeter() *meter {
	seconds := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 1.5, 2, 2.5, 5, 10, 20, 30, 60}
	return &meter{now: Metrics{
		Checks: map[string]uint64{}, StartLag: newHistogram(seconds...), CheckSeconds: newHistogram(seconds...),
		BatchSeconds: newHistogram(seconds...), BatchRows: newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
	}}
}

func (m *meter) count(f func(*Metrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.now)
}

func (m *meter) checked(r *probe.Report) {
	m.count(func(n *Metrics) {
		n.Checks[string(r.Status)]++
		n.CheckSeconds.add(r.TotalMs.Duration().Seconds())
	})
}

// started notes that a check started lag after its slot, which counts when the slot
// had not passed.
func (m *meter) started(lag, interval time.Duration) {
	if lag < interval {
		m.count(func(n *Metrics) { n.StartLag.add(max(lag.Seconds(), 0)) })
	}
}

func (m *meter) stored(rows int, took time.Duration) {
	m.count(func(n *Metrics) {
		n.BatchRows.add(float64(rows))
		n.BatchSeconds.add(took.Seconds())
	})
}

func (m *meter) sent(ok bool) {
	m.count(func(n *Metrics) {
		if ok {
			n.Sent++
		} else {
			n.SendFailures++
		}
	})
}

func (m *meter) skipped(slots int) { m.count(func(n *Metrics) { n.Skipped += uint64(slots) }) }
func (m *meter) listing()          { m.count(func(n *Metrics) { n.Listings++ }) }
func (m *meter) storeRetried()     { m.count(func(n *Metrics) { n.StoreRetries++ }) }
func (m *meter) storeFailed(n int) { m.count(func(now *Metrics) { now.StoreFailures += uint64(n) }) }
func (m *meter) dispatched(n int)  { m.count(func(now *Metrics) { now.Dispatched += uint64(n) }) }
func (m *meter) dispatchFailed()   { m.count(func(n *Metrics) { n.DispatchFailures++ }) }
func (m *meter) panicked()         { m.count(func(n *Metrics) { n.Panics++ }) }
func (m *meter) snapshot() Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.now
	out.Checks = maps.Clone(out.Checks)
	out.StartLag, out.CheckSeconds = out.StartLag.copy(), out.CheckSeconds.copy()
	out.BatchRows, out.BatchSeconds = out.BatchRows.copy(), out.BatchSeconds.copy()
	return out
}

// Metrics returns the counters of this process.
func (e *Engine) Metrics() Metrics {
	out := e.metrics.snapshot()
	out.Running, out.Waiting = e.memories.running(), len(e.sink.in)
	out.Queued = e.depths.get(e)
	return out
}

package engine

// Metrics are the counters of one process since its start, and a few gauges.
type Metrics struct {
	// Checks counts finished checks by the status of their report.
	Checks map[string]uint64
	// Skipped counts slots in which no check ran.
	Skipped uint64
	// Listings counts the fresh listings that were needed to confirm a change.
	Listings uint64
	// StartLag is how long after its slot a check started, in seconds.
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

package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

const (
	// depthEvery is how old the depth of the queues may get, depthMost how far they
	// are counted, and depthPatience how long that may take.
	depthEvery    = 10 * time.Second
	depthMost     = 10_000
	depthPatience = 2 * time.Second
)

// depths are how many jobs wait.
type depths struct {
	mu    sync.Mutex
	at    time.Time
	known map[string]int
}

// get counts the jobs that wait in each queue, or returns what it counted shortly
// before.
func (d *depths) get(e *Engine) map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) >= depthEvery {
		ctx, cancel := context.WithTimeout(context.Background(), depthPatience)
		defer cancel()
		if jobs, err := e.waiting(ctx, rivertype.JobStateAvailable); err == nil {
			d.known = map[string]int{}
			for _, queue := range jobs {
				d.known[queue]++
			}
		}
		d.at = time.Now()
	}
	return maps.Clone(d.known)
}

// waiting are the queues of the jobs that are in a state, one entry for each job.
func (e *Engine) waiting(ctx context.Context, states ...rivertype.JobState) ([]string, error) {
	var out []string
	p := river.NewJobListParams().States(states...).First(1_000)
	for len(out) < depthMost {
		page, err := e.client.JobList(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, job := range page.Jobs {
			out = append(out, job.Queue)
		}
		if page.LastCursor == nil || len(page.Jobs) < 1_000 {
			break
		}
		p = p.After(page.LastCursor)
	}
	return out, nil
}

// Idle waits until no job is waiting for a worker or in one. Jobs that are tried again
// later do not count. It needs a Run elsewhere.
func (e *Engine) Idle(ctx context.Context) error {
	for {
		jobs, err := e.waiting(ctx, rivertype.JobStateAvailable, rivertype.JobStateRunning)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

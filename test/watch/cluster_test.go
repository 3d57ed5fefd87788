//go:build unix

package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
)

// TestCluster lets two and three processes share one PostgreSQL, and kills one of them.
func TestCluster(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d processes", n), func(t *testing.T) {
			t.Parallel()
			names := make([]string, 12)
			for i := range names {
				names[i] = fmt.Sprintf("server-%d", i)
			}
			f, r := newFleet(t, names...), newReceiver(t)
			url := storetest.Postgres(t)
			config, data := write(t, f, r, names...), t.TempDir() // one data folder: one encryption key
			nodes := make([]*process, n)
			for i := range nodes {
				nodes[i] = start(t, "--data", data, "--database", url, "--config", config)
			}
			eventually(t, time.Minute, "every server is up", func() bool { return nodes[0].healthy(names) == len(names) })
			for _, p := range nodes[1:] {
				if up := p.healthy(names); up != len(names) {
					t.Errorf("another process sees %d of %d servers up", up, len(names))
				}
			}
			for i, p := range nodes {
				eventually(t, 2*time.Minute, fmt.Sprintf("process %d has its part of the work", i), p.worked)
			}
			added := map[string][]string{}
			for i, name := range names {
				f.change(name, func(m *member) {
					if m.down = i%3 == 0; i%3 == 1 {
						m.tools = append(m.tools, "extra")
						added[name] = []string{"extra"}
					}
				})
			}
			time.Sleep(3 * time.Second)
			nodes[0].kill()
			rest := nodes[1:]
			eventually(t, 4*time.Minute, "the others see the outages", func() bool { return rest[0].healthy(names) == len(names)-4 })
			eventually(t, 4*time.Minute, "the others see the drift", func() bool { return rest[0].drifted(names, added) })
			for _, name := range names {
				f.change(name, func(m *member) { m.down = false })
			}
			eventually(t, 4*time.Minute, "the others see the recovery", func() bool { return rest[0].healthy(names) == len(names) })
			rest[0].tell(t)
			for _, p := range rest {
				p.stop()
			}
			judge(t, store.Options{URL: url}, names, added, r.all())
		})
	}
}

// worked reports whether the process ran a check.
func (p *process) worked() bool {
	_, metrics := p.get("/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "mcpvigil_checks_total{") && !strings.HasSuffix(strings.TrimSpace(line), " 0") {
			return true
		}
	}
	return false
}

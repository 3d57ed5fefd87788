//go:build unix

package watch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// TestKill and TestSoakKill kill the monitor at random moments, start it again, and look
// at the end whether anything was lost or done twice.
func TestKill(t *testing.T) { killed(t, 5) }

func TestSoakKill(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("takes long: run make soak")
	}
	killed(t, 100)
}

func killed(t *testing.T, seeds int) {
	for seed := range seeds {
		for name, args := range map[string]func(t *testing.T) ([]string, store.Options){"embedded": embedded, "postgres": postgres} {
			t.Run(fmt.Sprintf("%s seed %d", name, seed), func(t *testing.T) {
				t.Parallel()
				flags, options := args(t)
				killAtRandom(t, rand.New(rand.NewPCG(uint64(seed), 7)), flags, options)
			})
		}
	}
}

func embedded(t *testing.T) ([]string, store.Options) {
	dir := t.TempDir()
	return []string{"--data", dir}, store.Options{Path: filepath.Join(dir, "mcpvigil.db")}
}

func postgres(t *testing.T) ([]string, store.Options) {
	url := storetest.Postgres(t)
	return []string{"--data", t.TempDir(), "--database", url}, store.Options{URL: url}
}

func killAtRandom(t *testing.T, random *rand.Rand, flags []string, options store.Options) {
	names := make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("server-%d", i)
	}
	f, r := newFleet(t, names...), newReceiver(t)
	flags = append(flags, "--config", write(t, f, r, names...))
	p := start(t, flags...)
	eventually(t, time.Minute, "every server is up", func() bool { return p.healthy(names) == len(names) })

	added := map[string][]string{}
	for round := range 4 {
		for range 3 {
			name := names[random.IntN(len(names))]
			f.change(name, func(m *member) {
				switch random.IntN(3) {
				case 0:
					m.down = !m.down
				case 1:
					tool := fmt.Sprintf("extra_%d_%d", round, len(m.tools))
					m.tools = append(m.tools, tool)
					added[name] = append(added[name], tool)
				default:
					m.down = false
				}
			})
		}
		time.Sleep(time.Duration(500+random.IntN(4000)) * time.Millisecond)
		p.kill()
		p = start(t, flags...)
	}
	for _, name := range names {
		f.change(name, func(m *member) { m.down = false })
	}
	changed := time.Now()
	eventually(t, 3*time.Minute, "every server was checked since", func() bool { return p.checkedSince(names, changed) })
	eventually(t, 3*time.Minute, "every server is up again", func() bool { return p.healthy(names) == len(names) })
	// What stands on the timeline is told: nothing is left to say.
	eventually(t, time.Minute, "every added tool was noticed", func() bool { return p.drifted(names, added) })
	p.tell(t)
	p.stop()
	judge(t, options, names, added, r.all())
}

// healthy counts the monitors that are up.
func (p *process) healthy(names []string) int {
	n := 0
	for _, name := range names {
		if status, _ := p.get("/health/" + name); status == 200 {
			n++
		}
	}
	return n
}

// checkedSince reports whether every server was checked after a moment.
func (p *process) checkedSince(names []string, at time.Time) bool {
	for _, name := range names {
		var page struct {
			LastCheck time.Time `json:"last_check"`
		}
		_, body := p.get("/health/" + name)
		if json.Unmarshal([]byte(body), &page) != nil || !page.LastCheck.After(at) {
			return false
		}
	}
	return true
}

// tell waits until everything that has to be told was: what a killed process was
// delivering is taken up again when it counts as lost, and what follows waits for it.
func (p *process) tell(t *testing.T) {
	t.Helper()
	time.Sleep(2 * time.Second) // incidents become notifications
	eventually(t, 4*time.Minute, "nothing is left to tell", func() bool {
		_, metrics := p.get("/metrics")
		return strings.Contains(metrics, `mcpvigil_notifications{status="pending"} 0`)
	})
	time.Sleep(time.Second) // something that is told twice would arrive
}

// drifted reports whether every server with another surface shows as changed.
func (p *process) drifted(names []string, added map[string][]string) bool {
	for _, name := range names {
		_, body := p.get("/health/" + name)
		if len(added[name]) > 0 && !strings.Contains(body, `"changed"`) {
			return false
		}
	}
	return true
}

// judge reads what the monitor stored and holds it against what happened.
func judge(t *testing.T, options store.Options, names []string, added map[string][]string, messages []message) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var events []watch.Event
	var incidents []watch.Incident
	ids := map[string]int64{}
	err = s.View(ctx, func(tx *store.Tx) error {
		for _, name := range names {
			m, err := tx.MonitorByName(ctx, name)
			if err != nil {
				return err
			}
			ids[name] = m.ID
		}
		if events, _, err = tx.Events(ctx, store.EventFilter{Limit: 10_000, Ascending: true}); err != nil {
			return err
		}
		incidents, _, err = tx.Incidents(ctx, store.IncidentFilter{Limit: 10_000})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		judgeEvents(t, name, added[name], slices.DeleteFunc(slices.Clone(events), func(e watch.Event) bool { return e.Monitor != ids[name] }))
	}
	most := 1 // drift that is new in an open incident is told under a key of its own
	for _, tools := range added {
		most = max(most, len(tools))
	}
	judgeMessages(t, incidents, messages, most)
}

// judgeEvents: one baseline, an outage that ends before the next begins, and each added
// tool once.
func judgeEvents(t *testing.T, name string, added []string, events []watch.Event) {
	t.Helper()
	count := map[string]int{}
	var turns []string
	for _, e := range events {
		switch e.Name {
		case watch.EventDown, watch.EventUp:
			turns = append(turns, e.Name)
		case "mcp_tool_added":
			count[e.Name+" "+e.Data.Item]++
		default:
			count[e.Name]++
		}
	}
	if count[watch.EventBaselineSet] != 1 {
		t.Errorf("%s: the baseline was set %d times", name, count[watch.EventBaselineSet])
	}
	for i := 1; i < len(turns); i++ {
		if turns[i] == turns[i-1] {
			t.Errorf("%s: %s twice in a row: %v", name, turns[i], turns)
			break
		}
	}
	for _, tool := range added {
		if n := count["mcp_tool_added "+tool]; n != 1 {
			t.Errorf("%s: the event of the added tool %s was written %d times", name, tool, n)
		}
	}
}

// judgeMessages: every open incident was announced, every one that is over too, and each
// of both under one key however often it arrived.
func judgeMessages(t *testing.T, incidents []watch.Incident, messages []message, drifts int) {
	t.Helper()
	keys := map[string]map[string]bool{} // by incident and phase
	for _, m := range messages {
		at := m.Data.Incident.Key + " " + m.Data.Phase
		if keys[at] == nil {
			keys[at] = map[string]bool{}
		}
		keys[at][m.Data.Key] = true
	}
	for at, k := range keys {
		allowed := 1
		if strings.Contains(at, "-surface-") && strings.HasSuffix(at, string(watch.Triggered)) {
			allowed = drifts
		}
		if len(k) > allowed {
			t.Errorf("%s was announced under %d keys: %v", at, len(k), k)
		}
	}
	for _, i := range incidents {
		want := []watch.Phase{watch.Triggered}
		if !i.Open() {
			want = append(want, watch.Resolved)
		}
		if len(i.Told) == 0 && !i.Open() {
			continue // it was over before anybody was told
		}
		for _, phase := range want {
			if len(keys[i.Key+" "+string(phase)]) == 0 {
				t.Errorf("nobody was told that %s (%s) is %s", i.Key, i.Title, phase)
			}
		}
	}
	if len(incidents) == 0 {
		t.Error("there was no incident at all")
	}
}

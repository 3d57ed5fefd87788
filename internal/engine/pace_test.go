package engine

import (
	"testing"
	"time"
)

// After a pause everything is due: the pace starts it over time.
func TestPaceSpreadsWhatIsDueAllAtOnce(t *testing.T) {
	p := new(pace)
	now := time.Unix(1_000_000, 0)
	p.measured(100, now) // 6,000 monitors each minute
	backlog := 6_000
	var most, seconds int
	for ; backlog > 0; seconds++ {
		started := 0
		for range 4 {
			n := min(p.allow(now), backlog)
			p.took(n, n > 0)
			started += n
			backlog -= n
			now = now.Add(tickEvery)
		}
		most = max(most, started)
	}
	if most > 150+40 {
		t.Errorf("%d checks started in one second, the schedule has 100", most)
	}
	if seconds < 38 || seconds > 45 {
		t.Errorf("it took %d seconds to catch up, not 40", seconds)
	}
}

func TestPaceLetsTheScheduleThrough(t *testing.T) {
	p := new(pace)
	now := time.Unix(1_000_000, 0)
	p.measured(2.5, now) // 25 monitors each ten seconds
	p.allow(now)
	waiting := 0
	for i := range 400 {
		now = now.Add(tickEvery)
		if i%8 == 0 {
			waiting += 5 // all of two seconds at once
		}
		n := min(p.allow(now), waiting)
		p.took(n, n > 0)
		if waiting -= n; waiting > 5 {
			t.Fatalf("%d checks wait after tick %d", waiting, i)
		}
	}
	if !p.stale(now.Add(rateEvery)) || p.stale(now) {
		t.Error("the rate is measured again after five minutes")
	}
}

package people

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"2606:4700:1:2:3:4:5:6": "2606:4700:1:2::/64", "[2606:4700:1:2::9%eth0]:80": "2606:4700:1:2::/64", "": "", "@": "", "unix": "",
	} {
		if got := network(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	l := newLimiter(time.Minute, 2)
	now := time.Unix(1_000_000, 0)
	for i := range maxBuckets {
		if err := l.take(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.take("0", now)
	if err := l.take("0", now); !isLimited(err) {
		t.Errorf("the third of one: %v", err)
	}
	limited := 0
	for i := range 100 {
		if isLimited(l.take(fmt.Sprint("more", i), now)) {
			limited++
		}
	}
	if limited != 98 || len(l.buckets) != maxBuckets {
		t.Errorf("%d of 100 without room were limited, %d buckets", limited, len(l.buckets))
	}
	if err := l.take("0", now); !isLimited(err) {
		t.Errorf("it was pushed out: %v", err)
	}
	now = now.Add(10 * time.Minute)
	if err := l.take("new", now); err != nil || len(l.buckets) != 1 {
		t.Errorf("%v, %d buckets, after all limits had ended", err, len(l.buckets))
	}
}

func TestHashesAreFew(t *testing.T) {
	h := newHasher()
	var running, highest atomic.Int32
	release := make(chan struct{})
	var group sync.WaitGroup
	work := func() error {
		n := running.Add(1)
		for seen := highest.Load(); n > seen && !highest.CompareAndSwap(seen, n); seen = highest.Load() {
		}
		<-release
		running.Add(-1)
		return nil
	}
	for range maxWaiting + maxHashes {
		group.Go(func() {
			if err := h.run(t.Context(), work); err != nil {
				t.Error(err)
			}
		})
	}
	deadline := time.Now().Add(10 * time.Second)
	for h.waiting.Load() < maxWaiting+maxHashes || running.Load() < maxHashes {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, %d run", h.waiting.Load(), running.Load())
		}
		time.Sleep(time.Millisecond)
	}
	if err := h.run(t.Context(), work); !isLimited(err) {
		t.Errorf("one more: %v", err)
	}
	close(release)
	group.Wait()
	if highest.Load() != maxHashes {
		t.Errorf("%d at a time", highest.Load())
	}
	// Who waits gives up with its context.
	blocked := newHasher()
	for range maxHashes {
		blocked.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, "a canceled wait", blocked.run(ctx, func() error { return nil }), context.Canceled)
}

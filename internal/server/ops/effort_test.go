package ops

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// TestEffort: few efforts are made at a time, one of each actor, and who has asked for too
// many is refused while others get their turn.
func TestEffort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e effort
		nobody := people.Actor{} // whoever that is has the name ""
		var running, most, done atomic.Int32
		var all sync.WaitGroup
		effort := func() {
			end, err := e.begin(t.Context(), nobody)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			done.Add(1)
			end()
		}
		for range mostInLine {
			all.Go(effort)
		}
		synctest.Wait()
		var refused *Error
		if _, err := e.begin(t.Context(), nobody); !errors.As(err, &refused) || refused.Code != TooMany {
			t.Errorf("one too many: %v", err)
		}
		all.Wait()
		if most.Load() != 1 || done.Load() != mostInLine || len(e.line) != 0 {
			t.Errorf("%d at a time, %d of %d done, %d lines left", most.Load(), done.Load(), mostInLine, len(e.line))
		}

		for range mostEfforts { // those of others
			e.all <- struct{}{}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.begin(ctx, nobody); !errors.Is(err, context.DeadlineExceeded) || len(e.line) != 0 {
			t.Errorf("somebody who went away: %v, %d lines left", err, len(e.line))
		}
		<-e.all
		end, err := e.begin(t.Context(), nobody)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if len(e.all) != mostEfforts-1 {
			t.Errorf("%d slots are taken", len(e.all))
		}
	})
}

package ops_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// moving is an engine during whose answer the world goes on.
type moving struct {
	uitest.Engine
	meanwhile func()
}

func (e moving) Binding(ctx context.Context, m *watch.Monitor) (baseline.Binding, error) {
	e.meanwhile()
	return e.Engine.Binding(ctx, m)
}

// TestMovedMeanwhile: a check that sees another surface between the look at what is to be
// accepted and its being stored makes the acceptance void.
func TestMovedMeanwhile(t *testing.T) {
	w := uitest.New(t)
	ctx := context.Background()
	m := w.Monitor("search")
	w.See(m, uitest.Surface(t, "", uitest.Named(1)...))
	w.See(m, uitest.Surface(t, "", uitest.Named(2)...))
	o := ops.New(ops.Deps{Store: w.Store, People: w.People, Engine: moving{meanwhile: func() {
		w.See(m, uitest.Surface(t, "", uitest.Named(3)...))
	}}})
	r, err := o.Review(ctx, w.Actor("approver"), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	shown := w.Proof("approver")
	_, _, err = o.Accept(ctx, w.Actor("approver"), m.ID, ops.Acceptance{
		Digest: r.Digest, All: true, Reason: "looks right", Proof: ops.Proof{Password: shown.Get("proof_password"), Code: shown.Get("proof_code")},
	})
	var refused *ops.Error
	if !errors.As(err, &refused) || refused.Code != ops.Moved {
		t.Errorf("the acceptance: %v, want moved", err)
	}
	approved, err := o.Approvals(ctx, w.Actor("viewer"), m.ID)
	if err != nil || len(approved) != 1 || approved[0].Source != watch.ApprovedFirst {
		t.Errorf("approved: %+v, %v", approved, err)
	}
}

package ops_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

// TestAudited: whatever a person does to a monitor is in the audit, under that person's
// name.
func TestAudited(t *testing.T) {
	w := uitest.New(t)
	ctx := context.Background()
	editor, admin := w.Actor("editor"), w.Actor("admin")
	m, err := w.Ops.CreateMonitor(ctx, editor, ops.MonitorInput{Fields: ops.Fields{Name: "search", URL: "https://mcp.example.com/mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	group := "core"
	if _, err := w.Ops.EditMonitor(ctx, editor, m.ID, 0, ops.MonitorEdit{Group: &group}, ops.Proof{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ops.PauseMonitor(ctx, editor, m.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ops.ResumeMonitor(ctx, editor, m.ID); err != nil {
		t.Fatal(err)
	}
	watched := w.Monitor("docs")
	w.See(watched, uitest.Surface(t, "", uitest.Named(1)...))
	w.See(watched, uitest.Surface(t, "", uitest.Named(2)...))
	r, err := w.Ops.Review(ctx, w.Actor("approver"), watched.ID)
	if err != nil {
		t.Fatal(err)
	}
	shown := w.Proof("approver")
	_, _, err = w.Ops.Accept(ctx, w.Actor("approver"), watched.ID, ops.Acceptance{
		Digest: r.Digest, All: true, Reason: "the new tool is ours", Proof: ops.Proof{Password: shown.Get("proof_password"), Code: shown.Get("proof_code")},
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.Ops.AuditLog(ctx, admin, ops.AuditFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Items {
		got = append(got, e.Actor+" "+e.Action+" "+e.Object)
	}
	for _, want := range []string{
		"user:editor monitor.create monitor:search", "user:editor monitor.edit monitor:search", "user:editor monitor.pause monitor:search",
		"user:editor monitor.resume monitor:search", "user:approver surface.accept monitor:docs",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the audit has no %q:\n%q", want, got)
		}
	}
}

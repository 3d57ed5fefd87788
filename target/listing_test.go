package target

import "testing"

// TestListing: whatever a target asks for, a listing lists.
func TestListing(t *testing.T) {
	many := 1000
	full := &Target{
		Checks: []Dimension{Functional, Latency}, Call: &Call{Tool: "x", Safe: true}, HeadReachability: true,
		Expect: Expectations{Tools: []string{"y"}, MinTools: &many}, Dependencies: []Dependency{{Target: &Target{}}},
		Headers: []Header{Bearer(FromEnv("TOKEN"))}, ProtocolVersion: "2025-11-25",
	}
	got := full.Listing()
	if got.Call != nil || got.Dependencies != nil || got.HeadReachability || got.Expect.Tools != nil || got.Expect.MinTools != nil || got.Judges(Functional) || !got.Judges(Capability) {
		t.Errorf("it does more than list: %+v", got)
	}
	if len(got.Headers) != 1 || got.ProtocolVersion != "2025-11-25" || full.Call == nil {
		t.Errorf("it does not list the same, or the target was changed: %+v", got)
	}
}

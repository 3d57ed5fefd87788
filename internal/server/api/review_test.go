package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// TestReject: a rejection is a person's note on what is shown, and changes nothing that
// fails.
func TestReject(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		id := w.monitor("search", nil)
		w.observe(id, tools(map[string]string{"find": "Finds things."}))
		w.observe(id, tools(map[string]string{"find": "Finds other things.", "send": "Sends things."}))
		review, address := path("/monitors/%d/review", id), path("/monitors/%d/rejections", id)
		var r ops.Review
		w.request("GET", review, w.credentials["key viewer"], nil, http.StatusOK, &r)
		approver := w.credentials["session approver"]
		reject := map[string]any{"digest": r.Digest, "changes": []string{r.Changes[0].Key}, "reason": "nobody asked for it"}

		for _, who := range []string{"session viewer", "session editor", "key editor", "key admin"} {
			w.request("POST", address, w.credentials[who], reject, http.StatusForbidden, nil)
		}
		w.problem("POST", address, approver, with(reject, "digest", tools(nil).Digest().String()), http.StatusConflict, "moved")
		w.problem("POST", address, approver, with(reject, "reason", " "), http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", address, approver, with(reject, "changes", []string{"nonsense"}), http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", path("/monitors/%d/rejections", id+1), approver, reject, http.StatusNotFound, "not-found")

		w.request("POST", address, approver, reject, http.StatusOK, &r)
		w.request("POST", address, approver, without(reject, "changes"), http.StatusOK, nil)
		w.request("GET", review, w.credentials["key viewer"], nil, http.StatusOK, &r)
		if len(r.Changes) != 2 || len(r.Rejections) != 2 {
			t.Fatalf("%d changes, rejections %+v", len(r.Changes), r.Rejections)
		}
		i := slices.IndexFunc(r.Rejections, func(one ops.Rejected) bool { return len(one.Changes) == 1 })
		if i < 0 || r.Rejections[i].By != "approver" || r.Rejections[i].Reason != "nobody asked for it" || r.Rejections[i].Changes[0] != r.Changes[0].Key {
			t.Errorf("rejections: %+v", r.Rejections)
		}
		if m := w.get(id); m.Status.Surface.State != watch.Changed {
			t.Errorf("the surface is %+v", m.Status.Surface)
		}
	})
}

// TestProposals: where it takes two persons, what the first one accepts is a proposal,
// which the second one accepts by its id, or the first one takes back.
func TestProposals(t *testing.T) {
	s := open(t, "")
	w := newWorld(t, s)
	w = newWorld(t, s, func(d *api.Deps) {
		d.Ops = ops.New(ops.Deps{Store: s, People: w.people, Engine: w.engine, Now: w.now, TwoPersons: true})
		d.People = w.people
	})
	w.populate()
	id := w.monitor("search", nil)
	w.observe(id, tools(map[string]string{"find": "Finds things."}))
	w.observe(id, tools(map[string]string{"find": "Finds other things."}))
	review, approvals := path("/monitors/%d/review", id), path("/monitors/%d/approvals", id)
	var r ops.Review
	w.request("GET", review, w.credentials["key viewer"], nil, http.StatusOK, &r)
	if !r.TwoPersons {
		t.Fatal("the review does not say that it takes two")
	}
	propose := func() {
		t.Helper()
		w.request("POST", approvals, w.credentials["session approver"], map[string]any{"digest": r.Digest, "all": true, "reason": "reviewed", "password": password}, http.StatusAccepted, nil)
		w.request("GET", review, w.credentials["key viewer"], nil, http.StatusOK, &r)
		if len(r.Proposals) != 1 || r.Proposals[0].By != "approver" || len(r.Changes) == 0 {
			t.Fatalf("proposals %+v, %d changes", r.Proposals, len(r.Changes))
		}
	}
	propose()
	one := func() string { return path("/monitors/%d/proposals/%d", id, r.Proposals[0].ID) }
	w.problem("DELETE", one(), w.credentials["session editor"], nil, http.StatusForbidden, "forbidden")
	w.problem("DELETE", path("/monitors/%d/proposals/%d", id, r.Proposals[0].ID+1), w.credentials["session approver"], nil, http.StatusNotFound, "not-found")
	w.request("DELETE", one(), w.credentials["session approver"], nil, http.StatusOK, nil)
	propose()
	second := map[string]any{"digest": r.Digest, "proposal": r.Proposals[0].ID, "password": password}
	var m ops.Monitor
	w.request("POST", approvals, w.credentials["session admin"], second, http.StatusOK, &m)
	if m.Status.Surface.State != watch.AsApproved {
		t.Errorf("the surface is %+v", m.Status.Surface)
	}
}

// TestSearch: what servers say is found, in any case, with where it stands.
func TestSearch(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key := w.credentials["key viewer"]
		id := w.monitor("search", nil)
		w.observe(id, tools(map[string]string{"find": "Finds THINGS.\u202e"}))
		w.observe(id, tools(map[string]string{"find": "Looks for something."}))
		var found ops.Found
		w.request("GET", "/search?q=something", key, nil, http.StatusOK, &found)
		if len(found.Hits) != 1 || found.Hits[0].Monitor != id || found.Hits[0].Item != "find" || found.Hits[0].Pointer != "/description" || found.Partial || found.More {
			t.Errorf("found %+v", found)
		}
		w.request("GET", "/search?q=things", key, nil, http.StatusOK, &found)
		if len(found.Hits) != 0 {
			t.Errorf("of what was before: %+v", found.Hits)
		}
		w.request("GET", "/search?q=things&past=true&limit=10", key, nil, http.StatusOK, &found)
		if len(found.Hits) != 1 || found.Hits[0].Match != "THINGS" {
			t.Errorf("of what was before: %+v", found.Hits)
		}
		w.problem("GET", "/search?q=a", key, nil, http.StatusUnprocessableEntity, "invalid")
		w.problem("GET", "/search?q=things", "", nil, http.StatusUnauthorized, "unauthenticated")
	})
}

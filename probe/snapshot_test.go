package probe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// itemNames are the names of one kind.
func itemNames(s *surface.Surface, kind surface.Kind) []string {
	var names []string
	for _, item := range s.Of(kind) {
		names = append(names, item.Name)
	}
	return names
}

// snapshot checks and returns what was seen.
func snapshot(t *testing.T, tgt *target.Target, o probe.Options) *surface.Surface {
	t.Helper()
	r := check(t, tgt, o)
	s := r.Snapshot()
	if s == nil {
		t.Fatalf("there is no snapshot:\n%s", describe(r))
	}
	return s
}

func TestSnapshotHoldsEverything(t *testing.T) {
	t.Parallel()
	for name, era := range map[string]fakemcp.Era{"legacy": fakemcp.Legacy, "modern": fakemcp.Modern} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{
				Era: era, Instructions: "Be brief.",
				Tools: fakemcp.Tools("b", "a"), Resources: fakemcp.Resources("x://1"),
				Templates: fakemcp.Templates("x://{n}"), Prompts: fakemcp.Prompts("p"),
			})
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{})
			s := r.Snapshot()
			got := map[surface.Kind][]string{}
			for _, item := range s.Items() {
				got[item.Kind] = append(got[item.Kind], item.Name)
			}
			want := map[surface.Kind][]string{
				surface.Server: {""}, surface.Protocol: {""}, surface.Capabilities: {""}, surface.Instructions: {""},
				surface.Tool: {"a", "b"}, surface.Resource: {"x://1"}, surface.ResourceTemplate: {"x://{n}"}, surface.Prompt: {"p"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if u := s.Unlisted(); len(u) > 0 && !slices.Equal(u, []surface.Kind{surface.Auth}) {
				t.Errorf("unlisted: %v", u)
			}
			if r.Digest() != s.Digest() || r.Digest().IsZero() {
				t.Errorf("the report has the digest %s, the snapshot %s", r.Digest(), s.Digest())
			}
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var shown struct{ Surface struct{ Digest string } }
			if err := json.Unmarshal(data, &shown); err != nil || shown.Surface.Digest != s.Digest().String() {
				t.Errorf("the JSON has the digest %q (%v), want %s", shown.Surface.Digest, err, s.Digest())
			}
			if !r.Surface.Digest.IsZero() {
				t.Error("marshalling wrote into the report")
			}
		})
	}
}

// TestSnapshotListStates: what is not there is told from what was not seen.
func TestSnapshotListStates(t *testing.T) {
	t.Parallel()
	tools := fakemcp.Config{Tools: fakemcp.Tools("a")}
	for name, tt := range map[string]struct {
		cfg     fakemcp.Config
		on      map[string]fakemcp.Handler
		options probe.Options
		want    []surface.Kind // unlisted
	}{
		"not declared": {cfg: tools},
		"method not found": {
			cfg: fakemcp.Config{Tools: fakemcp.Tools("a"), Capabilities: `{"tools":{},"prompts":{},"resources":{}}`},
			on: map[string]fakemcp.Handler{
				"prompts/list": fakemcp.Error(-32601, "Method not found"), "resources/list": fakemcp.Error(-32601, "Method not found"),
				"resources/templates/list": fakemcp.Error(-32601, "Method not found"),
			},
		},
		"templates alone not found": {
			cfg: fakemcp.Config{Tools: fakemcp.Tools("a"), Resources: fakemcp.Resources("x://1")},
			on:  map[string]fakemcp.Handler{"resources/templates/list": fakemcp.Error(-32601, "Method not found")},
		},
		"declared and empty": {cfg: fakemcp.Config{Tools: []string{}, Prompts: []string{}}},
		"left out on request": {
			cfg: tools, options: probe.Options{Skip: []string{probe.StepResources, probe.StepPrompts}},
			want: []surface.Kind{surface.Resource, surface.ResourceTemplate, surface.Prompt},
		},
		"failed": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": fakemcp.Error(-32603, "Internal error")},
			want: []surface.Kind{surface.Tool},
		},
		"templates failed": {
			cfg:  fakemcp.Config{Tools: fakemcp.Tools("a"), Resources: fakemcp.Resources("x://1")},
			on:   map[string]fakemcp.Handler{"resources/templates/list": fakemcp.Error(-32603, "Internal error")},
			want: []surface.Kind{surface.Resource, surface.ResourceTemplate},
		},
		"truncated": {
			cfg: fakemcp.Config{Tools: fakemcp.ManyTools(30), PageSize: 10}, options: probe.Options{Limits: target.Limits{Pages: 2}},
			want: []surface.Kind{surface.Tool},
		},
		"over the limit of entries": {
			cfg: fakemcp.Config{Tools: fakemcp.ManyTools(30)}, options: probe.Options{Limits: target.Limits{Entries: 29}},
			want: []surface.Kind{surface.Tool},
		},
		"repeats a cursor": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": fakemcp.Result(`{"tools":[` + fakemcp.Tool("a") + `],"nextCursor":"again"}`)},
			want: []surface.Kind{surface.Tool},
		},
		"a list twice": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": fakemcp.Result(`{"tools":[` + fakemcp.Tool("b") + `],"tools":[` + fakemcp.Tool("a") + `]}`)},
			want: []surface.Kind{surface.Tool},
		},
		"a list in another letter case": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": fakemcp.Result(`{"tools":[` + fakemcp.Tool("a") + `],"Tools":[]}`)},
			want: []surface.Kind{surface.Tool},
		},
		"a cursor in another letter case": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": fakemcp.Result(`{"tools":[` + fakemcp.Tool("a") + `],"NextCursor":"x"}`)},
			want: []surface.Kind{surface.Tool},
		},
		"a result twice": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": func(x *fakemcp.Exchange) {
				x.Text(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]},"result":{"tools":[%s]}}`, x.ID, fakemcp.Tool("a")))
			}},
			want: []surface.Kind{surface.Tool},
		},
		"an error beside a result in another letter case": {
			cfg: tools, on: map[string]fakemcp.Handler{"tools/list": func(x *fakemcp.Exchange) {
				x.Text(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"},"Result":{"tools":[%s]}}`, x.ID, fakemcp.Tool("a")))
			}},
			want: []surface.Kind{surface.Tool},
		},
		"an opening twice": {
			cfg: tools, on: map[string]fakemcp.Handler{"initialize": func(x *fakemcp.Exchange) {
				const result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
				x.Text(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s,"RESULT":%s}`, x.ID, result, result))
			}},
			want: []surface.Kind{surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt},
		},
		"one entry without a name": {
			cfg:  fakemcp.Config{Tools: []string{fakemcp.Tool("a"), `{"description":"x"}`}},
			want: []surface.Kind{surface.Tool},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, tt.cfg)
			for method, h := range tt.on {
				srv.On(method, h)
			}
			r := check(t, srv.Target(), tt.options)
			got := slices.DeleteFunc(slices.Clone(r.Snapshot().Unlisted()), func(k surface.Kind) bool { return k == surface.Auth })
			if !slices.Equal(got, tt.want) {
				t.Errorf("unlisted are %v, want %v:\n%s", got, tt.want, describe(r))
			}
			if r.Digest().IsZero() != (len(tt.want) > 0) {
				t.Errorf("the digest is %s with %v unlisted", r.Digest(), tt.want)
			}
		})
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Text(500, "text/plain", "no"))
	r := check(t, srv.Target(), probe.Options{})
	if r.Snapshot() != nil || !r.Digest().IsZero() {
		t.Errorf("a server that was not opened has the snapshot %v", r.Snapshot())
	}
}

// TestSnapshotHoldsWhatClientsDrop: tools that the check leaves out, and further
// definitions of one name, are on the wire and so in the surface.
func TestSnapshotHoldsWhatClientsDrop(t *testing.T) {
	t.Parallel()
	const dropped = `"inputSchema":{"type":"object","properties":{"q":{"type":"string","x-mcp-header":"bad name"}}}`
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern, Tools: []string{
		fakemcp.Tool("a"), fakemcp.Tool("hidden", dropped), fakemcp.Tool("a", `"title":"Other"`), fakemcp.Tool("a"), fakemcp.Tool("hidden", dropped),
		fakemcp.Tool("a", `"title":"Other"`), fakemcp.Tool("b"),
	}})
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"duplicate-tool", "invalid-tool-header"}})
	toolCount(t, r, 2)
	if got, want := itemNames(r.Snapshot(), surface.Tool), []string{"a", "a", "b", "hidden"}; !slices.Equal(got, want) {
		t.Errorf("the tools are %q, want %q", got, want)
	}
	if n := len(r.Inventory.Tools); n != 4 {
		t.Errorf("the inventory has %d entries, want 4", n)
	}
}

func TestEntriesThatAreNoItemsAreBounded(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 40 {
		list = append(list, fakemcp.Tool("same", fmt.Sprintf(`"title":"%d"`, i)))
	}
	srv := fakemcp.New(t, fakemcp.Config{Tools: list})
	r := check(t, srv.Target(), probe.Options{Limits: target.Limits{Entries: 20}})
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "entry-limit"})
}

// TestSnapshotHoldsNoSecret: a server that repeats its caller's credential gets it
// into no lockfile, however it spells it.
func TestSnapshotHoldsNoSecret(t *testing.T) {
	t.Parallel()
	of := func(token string) *surface.Surface {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
			got := strings.TrimPrefix(x.Header.Get("Authorization"), "Bearer ")
			var spelled strings.Builder
			for _, b := range []byte(got) {
				fmt.Fprintf(&spelled, `\u%04x`, b)
			}
			c.Instructions = "You are " + got
			c.Tools = []string{
				fakemcp.Tool("a", `"title":"`+got+`"`),
				fakemcp.Tool("b", `"title":"`+strings.ReplaceAll(got, "/", `\/`)+`"`),
				fakemcp.Tool("c", `"title":"`+spelled.String()+`"`),
			}
		})
		tgt := srv.Target()
		tgt.Headers = []target.Header{target.Bearer(target.Literal(token))}
		s := snapshot(t, tgt, probe.Options{})
		if n := len(s.Of(surface.Tool)); n != 3 {
			t.Fatalf("%d tools", n)
		}
		for _, item := range s.Items() {
			if bytes.Contains(item.Definition, []byte(token)) {
				t.Errorf("the secret is in %s %s: %s", item.Kind, item.Name, item.Definition)
			}
		}
		return s
	}
	if a, b := of("sesame/open/1"), of("quite-another/2"); a.Digest() != b.Digest() {
		t.Error("another credential makes another digest, though the server changed nothing but its echo")
	}
}

// TestSnapshotHoldsWhatTheServerChose: a server chooses the id of its session, and
// could have any text hidden if that were masked.
func TestSnapshotHoldsWhatTheServerChose(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("a", `"description":"Run fake-session-1 now."`)}})
	r := check(t, srv.Target(), probe.Options{})
	definition := r.Inventory.Tools[0]
	if shown := r.Redact(definition); bytes.Contains(shown, []byte("fake-session-1")) {
		t.Fatalf("the id of the session is shown, so this test proves nothing: %s", shown)
	}
	got := string(r.Snapshot().Of(surface.Tool)[0].Definition)
	if !strings.Contains(got, "Run fake-session-1 now.") {
		t.Errorf("the snapshot has not what the server sent: %s", got)
	}
}

// TestSnapshotMasksOnlyStrings: a secret can be JSON, or look like a number; the
// structure of a definition is never part of it.
func TestSnapshotMasksOnlyStrings(t *testing.T) {
	t.Parallel()
	const mark = surface.Redacted
	for secret, tt := range map[string]struct{ in, want string }{
		"80808080":      {`"x":80808080,"80808080":{"y":[80808080,"port 80808080"]}`, `"name":"a","x":80808080,"` + mark + `":{"y":[80808080,"port ` + mark + `"]}}`},
		`","x":"y`:      {`"title":"k","x":"y"`, `"type":"object"},"name":"a","title":"k","x":"y"}`},
		"properties":    {`"x":{}`, `"type":"object","` + mark + `":{"q":{"type":"string"}}},"name":"a","x":{}}`},
		"true":          {`"x":true,"y":"true"`, `"type":"object"},"name":"a","x":true,"y":"true"}`}, // a common word
		"back\\slash\"": {`"x":"a back\\slash\" b"`, `"type":"object"},"name":"a","x":"a ` + mark + ` b"}`},
	} {
		srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("a", tt.in)}})
		tgt := srv.Target()
		tgt.Headers = []target.Header{{Name: "X-Key", Value: target.Literal(secret)}}
		got := string(snapshot(t, tgt, probe.Options{}).Of(surface.Tool)[0].Definition)
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("with the secret %q the tool is\n%s, want it to end with\n%s", secret, got, tt.want)
		}
	}
}

// authOf checks with AuthMetadata, and proves that nothing else comes of it.
func authOf(t *testing.T, tgt *target.Target, o probe.Options) *probe.Report {
	t.Helper()
	without := check(t, tgt, o)
	o.AuthMetadata = true
	with := check(t, tgt, o)
	plainly := func(r *probe.Report) []string {
		lines := []string{string(r.Status), fmt.Sprint(r.Summary)}
		for _, c := range r.Checks {
			lines = append(lines, fmt.Sprintf("step %s %s %s %v %s", c.Name, c.Status, c.Reason, c.Skipped, c.Hint))
		}
		for _, n := range r.Notes {
			lines = append(lines, fmt.Sprintf("note %s %d %s", n.Reason, n.Count, n.Text))
		}
		for _, x := range r.Evidence {
			lines = append(lines, "sent "+x.Method+" "+x.HTTPMethod)
		}
		return append(lines, fmt.Sprint(len(r.Chain)))
	}
	if diff := cmp.Diff(plainly(without), plainly(with)); diff != "" {
		t.Errorf("the report changes (-without +with):\n%s", diff)
	}
	return with
}

func TestAuthMetadata(t *testing.T) {
	t.Parallel()
	const resource = `{"resource":"$ENDPOINT", "authorization_servers":["$AS"],"x":1.0}`
	const server = `{"issuer":"$AS","authorization_endpoint":"$AS/authorize", "token_endpoint":"$AS/token","code_challenge_methods_supported":["S256"],"client_id_metadata_document_supported":true}`
	both := func() *login {
		return &login{resource: map[string]string{resourcePath + "/mcp": resource}, server: map[string]string{serverPath: server}}
	}
	missing := map[string]string{}
	for name, tt := range map[string]struct {
		login    *login
		target   func(*login) *target.Target
		options  probe.Options
		want     [2]string // the documents; "" for none
		unknown  bool      // nothing is known
		posts    int       // at most, to the endpoint
		document int       // requests for documents, exactly, at both origins
	}{
		"refused":        {login: both(), target: (*login).plain, want: [2]string{resource, server}, posts: 2, document: 2},
		"refused, 403":   {login: &login{resource: both().resource, server: both().server, refuse: fakemcp.Text(403, "text/plain", "no")}, target: (*login).plain, want: [2]string{resource, server}, posts: 2, document: 2},
		"let in":         {login: both(), target: func(l *login) *target.Target { return l.bearer("opens-me") }, want: [2]string{resource, server}, posts: 6, document: 2},
		"token refused":  {login: both(), target: func(l *login) *target.Target { return l.bearer("opens-nothing"[6:]) }, want: [2]string{resource, server}, posts: 2, document: 2},
		"machine":        {login: both(), target: (*login).machine, want: [2]string{resource, server}, posts: 6, document: 2},
		"mode oauth":     {login: both(), target: (*login).audit, want: [2]string{resource, server}, posts: 2, document: 2},
		"diagnosed":      {login: both(), target: (*login).plain, options: diagnose, want: [2]string{resource, server}, posts: 3, document: 2},
		"no login":       {login: &login{anybody: true}, target: (*login).plain, posts: 4},
		"open to others": {login: &login{anybody: true}, target: func(l *login) *target.Target { return l.bearer("opens-me") }, posts: 8},
		"nothing published": {
			login: &login{resource: missing, server: missing, challenge: "Bearer"}, target: (*login).plain, posts: 2, document: 3,
		},
		"another issuer": {
			login:  &login{resource: both().resource, server: map[string]string{serverPath: strings.Replace(server, `"$AS"`, `"https://other.example"`, 1)}},
			target: (*login).plain, want: [2]string{resource, strings.Replace(server, `"$AS"`, `"https://other.example"`, 1)}, posts: 2, document: 2,
		},
		"root only": {
			login:  &login{challenge: "Bearer", resource: map[string]string{resourcePath: resource}, server: both().server},
			target: (*login).plain, want: [2]string{resource, server}, posts: 2, document: 3,
		},
		"no metadata of the issuer": {login: &login{resource: both().resource, server: missing}, target: (*login).plain, want: [2]string{resource, ""}, posts: 2, document: 3},
		"issuer down":               {login: &login{resource: both().resource, server: map[string]string{serverPath: "503"}}, target: (*login).plain, unknown: true, posts: 2, document: 3},
		"resource down": {
			login:  &login{resource: map[string]string{resourcePath + "/mcp": "502", resourcePath: resource}, server: both().server},
			target: (*login).plain, unknown: true, posts: 2, document: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := tt.login.start(t)
			l.mcp.Allow("*") // what a refused opening of two eras sends is not the matter here
			tgt := tt.target(l)
			authOf(t, tgt, tt.options)
			l.mcp.Reset()
			asked := len(l.asked())
			o := tt.options
			o.AuthMetadata = true
			r := check(t, tgt, o)

			if tt.unknown {
				if r.Inventory != nil && r.Inventory.Auth != nil {
					t.Errorf("the metadata is %s", r.Inventory.Auth)
				}
			} else if r.Inventory == nil || r.Inventory.Auth == nil {
				t.Fatalf("nothing was found out:\n%s", describe(r))
			} else {
				got := [2]string{string(r.Inventory.Auth.Resource), string(r.Inventory.Auth.Issuer)}
				if want := [2]string{l.fill(tt.want[0]), l.fill(tt.want[1])}; got != want {
					t.Errorf("the documents are\n%q, want\n%q", got, want)
				}
			}
			documents, posts := 0, 0
			for _, q := range l.mcp.Requests() {
				switch {
				case q.HTTPMethod == http.MethodPost:
					posts++
				case q.HTTPMethod == http.MethodGet && q.Path == "/mcp" && !o.Diagnose, q.HTTPMethod == http.MethodHead:
					t.Errorf("%s %s was sent", q.HTTPMethod, q.Path)
				case q.HTTPMethod == http.MethodGet && q.Path != "/mcp":
					documents++
				}
			}
			for _, q := range l.asked()[asked:] {
				if strings.HasPrefix(q, "GET ") {
					documents++
				}
			}
			if documents != tt.document || posts > tt.posts {
				t.Errorf("%d documents were asked for, want %d; %d POSTs, at most %d", documents, tt.document, posts, tt.posts)
			}
		})
	}
}

// TestAuthMetadataAlone: in mode oauth a surface has the login and nothing else.
func TestAuthMetadataAlone(t *testing.T) {
	t.Parallel()
	l := (&login{}).start(t)
	r := check(t, l.audit(), probe.Options{AuthMetadata: true})
	s := r.Snapshot()
	if s == nil {
		t.Fatal("there is no snapshot")
	}
	for _, item := range s.Items() {
		if item.Kind != surface.Auth {
			t.Errorf("there is the item %s %q", item.Kind, item.Name)
		}
	}
	if len(s.Of(surface.Auth)) != 1 {
		t.Errorf("%d items of auth", len(s.Of(surface.Auth)))
	}
	if changes := surface.Compare(s, snapshot(t, l.audit(), probe.Options{AuthMetadata: true}), surface.CompareOptions{}); len(changes) > 0 {
		t.Errorf("the same login reads as changed: %+v", changes)
	}
	whole := snapshot(t, l.bearer("opens-me"), probe.Options{AuthMetadata: true})
	if a, b := whole.Of(surface.Auth)[0], s.Of(surface.Auth)[0]; a.Digests.Raw != b.Digests.Raw {
		t.Errorf("one login is two:\n%s\n%s", a.Definition, b.Definition)
	}
	if changes := surface.Compare(whole, snapshot(t, l.bearer("opens-me"), probe.Options{}), surface.CompareOptions{}); len(changes) > 0 {
		t.Errorf("a login that was not looked at reads as changed: %+v", changes)
	}
	l.mu.Lock()
	l.server = map[string]string{serverPath: serverDoc("$AS", cimd)}
	l.mu.Unlock()
	var classes []surface.Class
	for _, c := range surface.Compare(s, snapshot(t, l.audit(), probe.Options{AuthMetadata: true}), surface.CompareOptions{}) {
		classes = append(classes, c.Class)
	}
	if !slices.Equal(classes, []surface.Class{surface.AuthS256Lost}) {
		t.Errorf("the login lost S256, and what changed is %q", classes)
	}
	if !r.Digest().IsZero() {
		t.Error("the report has a digest, and no list")
	}
}

// TestAuthMetadataKeepsToTheTimeout: a login that hangs takes what is left, and no
// more; what it would have said is unknown.
func TestAuthMetadataKeepsToTheTimeout(t *testing.T) {
	t.Parallel()
	l := (&login{}).start(t)
	l.mcp.OnPath(resourcePath+"/mcp", fakemcp.Hang())
	start := time.Now()
	r := check(t, l.bearer("opens-me"), probe.Options{AuthMetadata: true, Timeout: 2 * time.Second, CheckTimeout: time.Minute})
	verify(t, r, want{})
	if took := time.Since(start); took > 50*time.Second {
		t.Errorf("it took %s", took)
	}
	if r.TotalMs.Duration() > 1900*time.Millisecond {
		t.Errorf("the check counts %s, the wait for the metadata among it", r.TotalMs)
	}
	if r.Inventory.Auth != nil {
		t.Errorf("the metadata is %+v", r.Inventory.Auth)
	}
	for _, kind := range []surface.Kind{surface.Tool, surface.Server} {
		if slices.Contains(r.Snapshot().Unlisted(), kind) {
			t.Errorf("%s is lost", kind)
		}
	}
}

// TestAuthMetadataFollowsNoDependency: only targets that are named are looked at.
func TestAuthMetadataFollowsNoDependency(t *testing.T) {
	t.Parallel()
	under := (&login{}).start(t)
	srv := fakemcp.New(t, fakemcp.Config{})
	tgt := srv.Target()
	tgt.Dependencies = []target.Dependency{{Target: under.bearer("opens-me")}}
	reports := probe.CheckAll(t.Context(), []*target.Target{tgt}, 0, probe.Options{AuthMetadata: true})
	if reports[0].Inventory.Auth == nil {
		t.Error("the target was not looked at")
	}
	if d := reports[0].Dependencies; len(d) != 1 || d[0].Report.Inventory.Auth != nil || len(under.documents()) != 0 {
		t.Errorf("the dependency was asked for %q", under.documents())
	}
}

// TestClientIdentity: who asks is what the options say, in every place that a
// server can look at.
func TestClientIdentity(t *testing.T) {
	t.Parallel()
	client := probe.Client{Name: "an-editor", Version: "9.8.7", UserAgent: "editor/9 (test)"}
	for name, start := range map[string]func(t *testing.T) *fakemcp.Server{
		"legacy":     func(t *testing.T) *fakemcp.Server { return fakemcp.New(t, fakemcp.Config{}) },
		"stateless":  func(t *testing.T) *fakemcp.Server { return fakemcp.New(t, fakemcp.Config{Stateless: true}) },
		"modern":     func(t *testing.T) *fakemcp.Server { return fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern}) },
		"legacy SSE": func(t *testing.T) *fakemcp.Server { return fakemcp.NewSSE(t, fakemcp.Config{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			var seen []fakemcp.Caller
			srv.Vary(func(x *fakemcp.Exchange, _ *fakemcp.Config) { seen = append(seen, x.Caller()) })
			verify(t, check(t, srv.Target(), probe.Options{Client: client}), want{})
			if len(seen) == 0 {
				t.Fatal("nothing was answered")
			}
			for _, c := range seen {
				if c.Name != client.Name || c.Version != client.Version {
					t.Errorf("the server saw the client %s %s", c.Name, c.Version)
				}
			}
			for _, q := range srv.Requests() {
				if got := q.Header.Get("User-Agent"); got != client.UserAgent {
					t.Errorf("%s %s came from %q", q.HTTPMethod, q.Method, got)
				}
			}
		})
	}
	for name, era := range map[string]fakemcp.Era{"stdio": fakemcp.Legacy, "stdio, modern": fakemcp.Modern} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := fakemcp.Stdio(t, fakemcp.Script{Config: fakemcp.Config{Era: era}})
			verify(t, check(t, proc.Target(), probe.Options{Client: client}), want{})
			method := "initialize"
			if era == fakemcp.Modern {
				method = "tools/list"
			}
			for _, params := range proc.Params(method) {
				contains(t, "the parameters", params, `"name":"an-editor"`, `"version":"9.8.7"`)
			}
			if len(proc.Params(method)) == 0 {
				t.Errorf("no %s was sent", method)
			}
		})
	}
}

// TestCloakingIsSeen: whatever a server tells its callers apart by, two checks can
// see both of its faces.
func TestCloakingIsSeen(t *testing.T) {
	t.Parallel()
	monitor, editor := probe.Options{}, probe.Options{Client: probe.Client{Name: "editor", Version: "1", UserAgent: "editor/1"}}
	same := func(tgt target.Target) *target.Target { return &tgt }
	for name, tt := range map[string]struct {
		cloak   func(c fakemcp.Caller) bool
		options probe.Options
		target  func(tgt target.Target) *target.Target
	}{
		"client name": {cloak: func(c fakemcp.Caller) bool { return c.Name == "editor" }, options: editor, target: same},
		"user agent":  {cloak: func(c fakemcp.Caller) bool { return c.UserAgent == "editor/1" }, options: editor, target: same},
		"revision":    {cloak: func(c fakemcp.Caller) bool { return c.Revision == "2025-06-18" }, options: monitor, target: func(tgt target.Target) *target.Target { tgt.ProtocolVersion = "2025-06-18"; return &tgt }},
		"authorization": {cloak: func(c fakemcp.Caller) bool { return c.Authorization == "Bearer opens-2" }, options: monitor, target: func(tgt target.Target) *target.Target {
			tgt.Headers = []target.Header{target.Bearer(target.Literal("opens-2"))}
			return &tgt
		}},
	} {
		for eraName, era := range map[string]fakemcp.Era{"legacy": fakemcp.Legacy, "dual": fakemcp.Dual} {
			t.Run(name+", "+eraName, func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, fakemcp.Config{Era: era})
				srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
					if tt.cloak(x.Caller()) {
						c.Tools = fakemcp.Tools("search", "fetch", "wipe")
					}
				})
				own, other := snapshot(t, srv.Target(), monitor), snapshot(t, tt.target(*srv.Target()), tt.options)
				if a, b := len(own.Of(surface.Tool)), len(other.Of(surface.Tool)); a != 2 || b != 3 {
					t.Errorf("one saw %d tools, the other %d", a, b)
				}
			})
		}
	}
}

// TestDigestOfStdio: a digest belongs to the surface, not to the transport.
func TestDigestOfStdio(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{})
	srv := fakemcp.New(t, fakemcp.Config{})
	if a, b := snapshot(t, proc.Target(), probe.Options{}), snapshot(t, srv.Target(), probe.Options{}); a.Digest() != b.Digest() || a.Digest().IsZero() {
		t.Errorf("over stdio %s, over HTTP %s", a.Digest(), b.Digest())
	}
}

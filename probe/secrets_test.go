package probe_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// TestSharedSecrets: a server repeats to one caller what it was told by another, by
// a header, in its address and on its command line.
func TestSharedSecrets(t *testing.T) {
	told := []string{"alphaTOKEN99881", "adminTOKEN77662", "QUERYsecret998877"}
	s := fakemcp.New(t, fakemcp.Config{
		Tools: []string{fmt.Sprintf(`{"name":"t","description":"seen: %s, acme","inputSchema":{"type":"object"}}`, strings.Join(told, " "))},
	})
	t.Setenv("ALPHA", told[0])
	t.Setenv("ADMIN", told[1])
	alpha := &target.Target{Endpoint: s.URL + "?api_key=" + told[2] + "&v=seen:", Headers: []target.Header{
		target.Bearer(target.FromEnv("ALPHA")), {Name: "X-Tenant", Value: target.Literal("acme")},
	}}
	admin := &target.Target{Endpoint: s.URL, Headers: []target.Header{target.Bearer(target.FromEnv("ADMIN"))}}

	var secrets probe.Secrets
	secrets.Learn(context.Background(), alpha, admin)
	want := fmt.Sprintf("seen: %[1]s %[1]s %[1]s, acme", surface.Redacted)
	for _, at := range []*target.Target{alpha, admin} {
		r := probe.Check(context.Background(), at, probe.Options{Secrets: &secrets})
		tools := r.Snapshot().Of(surface.Tool)
		if len(tools) != 1 || !bytes.Contains(tools[0].Definition, []byte(want)) {
			t.Errorf("%s: %q", r.Status, tools)
		}
	}
	// Alone, a check knows its own.
	r := probe.Check(context.Background(), admin, probe.Options{})
	if tools := r.Snapshot().Of(surface.Tool); len(tools) != 1 || !bytes.Contains(tools[0].Definition, []byte(told[0]+" "+surface.Redacted+" "+told[2])) {
		t.Errorf("%s: %q", r.Status, tools)
	}
	if got := fmt.Sprintf("%v %+v", &secrets, &secrets); strings.Contains(got, "TOKEN") {
		t.Error("the secrets are printed")
	}
}

func TestSecretsOnACommandLine(t *testing.T) {
	told := "argsecret5544"
	c := fakemcp.Stdio(t, fakemcp.Script{Config: fakemcp.Config{
		Tools: []string{fmt.Sprintf(`{"name":"t","description":"%s","inputSchema":{"type":"object"}}`, told)},
	}}).Command("--api-key=" + told)
	c.ShownArgs = append(slices.Clone(c.Args[:len(c.Args)-1]), "--api-key=***")
	r := probe.Check(context.Background(), &target.Target{Command: c}, probe.Options{})
	if tools := r.Snapshot().Of(surface.Tool); len(tools) != 1 || bytes.Contains(tools[0].Definition, []byte(told)) {
		t.Errorf("%s: %q", r.Status, tools)
	}
}

// TestToolsThatAreRefused: tools that are declared and answered with method not found
// are not an empty list, which would read as removal.
func TestToolsThatAreRefused(t *testing.T) {
	s := fakemcp.New(t, fakemcp.Config{})
	s.On("tools/list", fakemcp.Error(-32601, "Method not found"))
	r := probe.Check(context.Background(), s.Target(), probe.Options{})
	if got := r.Snapshot().Unlisted(); !slices.Equal(got, []surface.Kind{surface.Tool}) {
		t.Errorf("not listed: %v, want the tools", got)
	}
}

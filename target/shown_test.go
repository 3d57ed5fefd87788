package target

import "testing"

func TestAddressShowsNoArguments(t *testing.T) {
	c := &Command{Path: "server", Args: []string{"--key=value"}}
	if got := (&Target{Command: c}).Address(); got != "server --key=value" {
		t.Errorf("%q", got)
	}
	c.ShownArgs = []string{"--key=***"}
	if got := (&Target{Command: c}).Label(); got != "server --key=***" {
		t.Errorf("%q", got)
	}
}

func TestSecretReferences(t *testing.T) {
	for _, c := range []struct {
		s              Secret
		variable, path string
	}{
		{FromEnv("A"), "A", ""},
		{FromFile("/a"), "", "/a"},
		{Literal("value"), "", ""},
		{FromCommand("a"), "", ""},
		{Secret{}, "", ""},
	} {
		if c.s.Variable() != c.variable || c.s.Path() != c.path {
			t.Errorf("%s: variable %q, path %q", c.s.Origin(), c.s.Variable(), c.s.Path())
		}
	}
}

package probe

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

// shortestShared is the length in bytes from which a secret is looked for in what a
// server advertises, and in the reports of other checks. A shorter one is a common
// word too often: a header that says "acme" must not take the word out of tools.
const shortestShared = 8

// Secrets are values that none of the checks which share it shows, in reports and
// snapshots: a server that was told one by one check may repeat it to another. The
// zero Secrets is ready; it is safe for concurrent use and prints itself as ***.
type Secrets struct {
	known plain.Redactor
}

// Learn reads the secrets of targets, and of what they depend on, before their
// checks do. What cannot be read, and what a program prints, is left to the check.
func (s *Secrets) Learn(ctx context.Context, targets ...*target.Target) {
	for _, t := range target.WithDependencies(targets) {
		for _, secret := range secretsOf(t) {
			if secret.IsZero() || secret.FromProgram() {
				continue
			}
			if value, err := secret.RevealText(ctx); err == nil {
				s.add(value)
			}
		}
		for _, value := range hidden(t) {
			s.add(value)
		}
	}
}

func (s *Secrets) add(value string) {
	if len(value) >= shortestShared {
		s.known.Add(value)
	}
}

// Format prints *** whatever the verb.
func (s *Secrets) Format(f fmt.State, verb rune) { s.known.Format(f, verb) }

// redactor is what a check adds its secrets to.
func (s *Secrets) redactor() *plain.Redactor {
	if s == nil {
		return plain.NewRedactor()
	}
	return &s.known
}

func secretsOf(t *target.Target) []target.Secret {
	var out []target.Secret
	for _, h := range t.Headers {
		out = append(out, h.Value)
	}
	if t.Command != nil {
		for _, v := range t.Command.Env {
			out = append(out, v.Value)
		}
	}
	if o := t.OAuth; o != nil {
		out = append(out, o.ClientSecret, o.PrivateKey, o.RefreshToken)
	}
	return out
}

// credentialParameter matches the names of query parameters that hold a credential.
// The others are not shown either, but "version" says nothing secret.
var credentialParameter = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|auth|credential|signature|^sig$|^code$|jwt|session`)

// hidden are the parts of an address that are not shown: the values of its query, a
// password, and what ShownArgs leaves out.
func hidden(t *target.Target) []string {
	var out []string
	if u, err := url.Parse(t.Endpoint); err == nil && t.Command == nil {
		for name, values := range u.Query() {
			if credentialParameter.MatchString(name) {
				out = append(out, values...)
			}
		}
		password, _ := u.User.Password()
		out = append(out, password)
	}
	if c := t.Command; c != nil && len(c.ShownArgs) == len(c.Args) {
		for i, arg := range c.Args {
			out = append(out, between(arg, c.ShownArgs[i]))
		}
	}
	return out
}

// between is the part of text that shown has something else for.
func between(text, shown string) string {
	for text != "" && shown != "" && text[0] == shown[0] {
		text, shown = text[1:], shown[1:]
	}
	for text != "" && shown != "" && text[len(text)-1] == shown[len(shown)-1] {
		text, shown = text[:len(text)-1], shown[:len(shown)-1]
	}
	return strings.TrimSpace(text)
}

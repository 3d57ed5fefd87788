package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// identity is another client that a server is listed as.
type identity struct {
	name   string
	client probe.Client
	// headers take the place of the target's credential; nil keeps it.
	headers  []target.Header
	protocol string
}

// sameCredential reports whether the server sees the same user.
func (i *identity) sameCredential() bool { return i.headers == nil }

// identityKeys are what --as can set, and how.
func identityKeys() map[string]func(*identity, string) error {
	text := func(set func(*identity, string)) func(*identity, string) error {
		return func(i *identity, value string) error {
			set(i, value)
			return nil
		}
	}
	return map[string]func(*identity, string) error{
		"client-name":      text(func(i *identity, v string) { i.client.Name = v }),
		"client-version":   text(func(i *identity, v string) { i.client.Version = v }),
		"user-agent":       text(func(i *identity, v string) { i.client.UserAgent = v }),
		"protocol-version": text(func(i *identity, v string) { i.protocol = v }),
		"bearer-env": func(i *identity, v string) error {
			if err := isVariable(v); err != nil {
				return err
			}
			i.headers = append(i.headers, target.Bearer(target.FromEnv(v)))
			return nil
		},
		"header-env": func(i *identity, v string) error {
			name, variable, err := pair(v, "=")
			if err != nil {
				return errors.New("not of the form header-env=NAME=VARIABLE")
			}
			if err := isVariable(variable); err != nil {
				return err
			}
			i.headers = append(i.headers, target.Header{Name: name, Value: target.FromEnv(variable)})
			return nil
		},
	}
}

// isIdentity refuses what [identities] would.
func isIdentity(s string) error {
	_, err := identities([]string{s})
	return err
}

// identities reads the values of --as, of which several can be of one identity.
func identities(values []string) ([]*identity, error) {
	var out []*identity
	given := map[[2]string]bool{}
	for _, value := range values {
		name, rest, err := pair(value, "=")
		if err != nil || rest == "" {
			return nil, errors.New("not of the form NAME=KEY=VALUE, such as other=client-name=other")
		}
		at := slices.IndexFunc(out, func(i *identity) bool { return i.name == name })
		if first, _, _ := strings.Cut(rest, "="); identityKeys()[name] != nil && identityKeys()[strings.TrimSpace(first)] == nil {
			return nil, fmt.Errorf("an identity begins with a name for it, such as other=%s=VALUE", name)
		}
		if at < 0 {
			at = len(out)
			out = append(out, &identity{name: name})
		}
		for _, assignment := range splitIdentity(rest) {
			key, v, err := pair(assignment, "=")
			set := identityKeys()[key]
			if err != nil || set == nil {
				return nil, fmt.Errorf("an identity has %s", strings.Join(slices.Sorted(maps.Keys(identityKeys())), ", "))
			}
			if strings.TrimSpace(v) == "" {
				return nil, fmt.Errorf("%s has no value", key)
			}
			if err := set(out[at], v); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			switch key {
			case "bearer-env":
				v = "header authorization"
			case "header-env":
				header, _, _ := pair(v, "=")
				v = "header " + strings.ToLower(header)
			default:
				v = key
			}
			if given[[2]string{name, v}] {
				return nil, fmt.Errorf("%s has %s twice", name, strings.TrimPrefix(v, "header "))
			}
			given[[2]string{name, v}] = true
		}
	}
	return out, nil
}

// splitIdentity takes "key=value,key=value" apart. A comma that no key follows
// belongs to the value.
func splitIdentity(s string) []string {
	var out []string
	for piece := range strings.SplitSeq(s, ",") {
		key, _, found := strings.Cut(piece, "=")
		if len(out) > 0 && !(found && identityKeys()[strings.TrimSpace(key)] != nil) {
			out[len(out)-1] += "," + piece
			continue
		}
		out = append(out, piece)
	}
	return out
}

// list lists t as i.
func (i *identity) list(ctx context.Context, t *target.Target, p probe.Options) *probe.Report {
	c := t.Listing()
	if i.headers != nil {
		c.Headers, c.OAuth = i.headers, nil
	}
	if i.protocol != "" {
		c.ProtocolVersion = i.protocol
	}
	if i.client.Name != "" {
		p.Client.Name = i.client.Name
	}
	if i.client.Version != "" {
		p.Client.Version = i.client.Version
	}
	if i.client.UserAgent != "" {
		p.Client.UserAgent = i.client.UserAgent
	}
	return probe.Check(ctx, c, p)
}

// rounds are how often a difference between identities has to be seen to count.
const rounds = 2

// unmask lists the server as others, too, and adds to o what they are told and we
// are not. A difference counts when both sides say it again. The report of the
// first identity that could not be listed to its end is returned.
func (o *observation) unmask(ctx context.Context, others []*identity, policy surface.Policy, p probe.Options) (failed *identity, failure *probe.Report) {
	own := o.seen
	for _, other := range others {
		var changes []surface.Change
		evidence := render.Identity{Name: other.name}
		for round := 1; round <= rounds; round++ {
			report := other.list(ctx, o.target, p)
			theirs := report.Snapshot()
			evidence.Listed = listed(theirs, own)
			if failed == nil && !evidence.Listed {
				failed, failure = other, report
			}
			if !anything(theirs) {
				changes, evidence.Digest = nil, nil // what was seen before is not confirmed
				break
			}
			digest := theirs.Digest()
			evidence.Digest = &digest
			changes = surface.Cloaked(own, theirs, other.name, other.sameCredential(), surface.CompareOptions{Masks: o.approved.Masks})
			if len(changes) == 0 || round == rounds {
				break
			}
			again := probe.Check(ctx, o.target.Listing(), p)
			if s := again.Snapshot(); anything(s) {
				own = s
			}
		}
		evidence.Differences = len(changes)
		o.identities = append(o.identities, evidence)
		o.result.Add(policy.Apply(changes)...)
	}
	return failed, failure
}

// listed reports whether s has every list that own has.
func listed(s, own *surface.Surface) bool {
	return anything(s) && !slices.ContainsFunc(s.Unlisted(), func(k surface.Kind) bool { return !slices.Contains(own.Unlisted(), k) })
}

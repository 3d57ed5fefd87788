package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
)

const (
	clientSecretVariable = "MCPVIGIL_OIDC_CLIENT_SECRET"
	maxClientSecret      = 16 << 10
)

// openidOptions say with which OpenID provider people sign in, and who is what.
type openidOptions struct {
	issuer, clientID, secretFile string
	name, groupsClaim            string
	roles                        map[string]people.Role
	defaultRole                  string
	noPasswords                  bool
}

func (o *openidOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupSignIn, func() {
		fs.StringVar(&o.issuer, "oidc-issuer", "", "let people sign in with the OpenID provider at `url`")
		fs.StringVar(&o.clientID, "oidc-client-id", "", "the `id` that this server is registered with there")
		fs.StringVar(&o.secretFile, "oidc-client-secret-file", "", "read the client's secret from `file`; the variable "+clientSecretVariable+" may hold it instead")
		fs.StringVar(&o.name, "oidc-name", "", "`name` of the provider on the button (default: its host)")
		fs.StringVar(&o.groupsClaim, "oidc-groups-claim", "groups", "the `claim` that holds a person's groups; dots lead into objects")
		fs.Var(groupRoles{&o.roles}, "oidc-role", "give who is in this group a role, as `GROUP=ROLE`; the most powerful counts (repeatable)")
		fs.Var(checked{&o.defaultRole, typeRole, oneOf("viewer", "editor", "approver", "admin")}, "oidc-default-role", "the role of who is in none of them (default: they are refused)")
		fs.BoolVar(&o.noPasswords, "no-password-login", false, "let people sign in with the OpenID provider alone")
	})
}

func (o *openidOptions) check() error {
	switch {
	case o.issuer == "" && (o.clientID != "" || o.secretFile != "" || len(o.roles) > 0 || o.defaultRole != "" || o.noPasswords):
		return usageErrorf("--oidc-issuer is missing", "").hint("without a provider, the other --oidc- flags and --no-password-login mean nothing")
	case o.issuer != "" && o.clientID == "":
		return usageErrorf("--oidc-client-id is missing", "").hint("register this server with the provider, and name the id that it gives")
	case o.issuer != "" && len(o.roles) == 0 && o.defaultRole == "":
		return usageErrorf("nobody of the OpenID provider has a role", "").hint("give groups one with --oidc-role GROUP=ROLE, or everybody with --oidc-default-role viewer")
	}
	return nil
}

// openID makes the provider, or nil when there is none. It is not asked yet.
func (m *monitor) openID() (*openid.Provider, error) {
	o := m.o.openid
	if o.issuer == "" {
		return nil, nil //nolint:nilnil // people then sign in without one
	}
	secret, err := m.clientSecret()
	if err != nil {
		return nil, err
	}
	provider, err := openid.New(openid.Options{
		Issuer: o.issuer, ClientID: o.clientID, ClientSecret: secret, Name: o.name, PublicURL: m.o.publicURL,
		GroupsClaim: o.groupsClaim, Roles: o.roles, DefaultRole: people.Role(o.defaultRole), Policy: m.o.policy(),
	})
	if err != nil {
		return nil, hinted(fmt.Errorf("--oidc-issuer: %w", err), "write it as the provider's discovery document does, such as https://login.example.com/realms/main")
	}
	return provider, nil
}

func (m *monitor) clientSecret() (string, error) {
	path := m.o.openid.secretFile
	if path == "" {
		secret, _ := m.lookup(clientSecretVariable)
		return strings.TrimSpace(secret), nil
	}
	unusable := func(err error) error {
		return hinted(fmt.Errorf("the client's secret cannot be read: %s: %w", plain.Line(path, maxShown), bare(err)), "name a file that this user can read with --oidc-client-secret-file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", unusable(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxClientSecret+1))
	secret := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", unusable(err)
	case secret == "" || len(text) > maxClientSecret:
		return "", unusable(errors.New("it is empty, or longer than a secret"))
	}
	return secret, nil
}

// groupRoles is a repeatable flag for the role of a group.
type groupRoles struct{ roles *map[string]people.Role }

func (g groupRoles) Type() string { return typeGroupRole }
func (g groupRoles) String() string {
	if g.roles == nil {
		return ""
	}
	var all []string
	for _, group := range slices.Sorted(maps.Keys(*g.roles)) {
		all = append(all, group+"="+string((*g.roles)[group]))
	}
	return strings.Join(all, ",")
}

// Set takes GROUP=ROLE. Names of groups may hold = themselves, as those of LDAP do.
func (g groupRoles) Set(s string) error {
	i := strings.LastIndexByte(s, '=')
	if i < 1 || !people.Role(s[i+1:]).Valid() {
		return errors.New("not GROUP=ROLE; roles are viewer, editor, approver and admin")
	}
	if *g.roles == nil {
		*g.roles = map[string]people.Role{}
	}
	(*g.roles)[s[:i]] = people.Role(s[i+1:])
	return nil
}

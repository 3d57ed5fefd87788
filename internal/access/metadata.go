package access

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// ResourceMetadata is what a protected resource says of itself (RFC 9728,
// section 2). All of it is untrusted text.
type ResourceMetadata struct {
	Resource             string
	AuthorizationServers []string
	Scopes               []string // scopes_supported
	BearerMethods        []string // bearer_methods_supported
}

// ServerMetadata is what an authorization server says of itself (RFC 8414,
// section 2, and OpenID Connect Discovery). All of it is untrusted text. Lists
// that are not in the document are nil.
type ServerMetadata struct {
	Issuer                string
	AuthorizationEndpoint string
	TokenEndpoint         string
	RegistrationEndpoint  string
	DeviceEndpoint        string   // device_authorization_endpoint (RFC 8628)
	Scopes                []string // scopes_supported
	GrantTypes            []string // grant_types_supported
	AuthMethods           []string // token_endpoint_auth_methods_supported
	AuthAlgorithms        []string // token_endpoint_auth_signing_alg_values_supported
	CodeChallengeMethods  []string // code_challenge_methods_supported (RFC 7636)
	// ClientIDMetadataDocument is client_id_metadata_document_supported.
	ClientIDMetadataDocument bool
	// IssParameter is authorization_response_iss_parameter_supported (RFC 9207).
	IssParameter bool
}

// forPeople reports whether the server offers the authorization code, which is
// the default of RFC 8414 when it lists no grant types.
func (m *ServerMetadata) forPeople() bool {
	return m.GrantTypes == nil || slices.Contains(m.GrantTypes, "authorization_code")
}

// members reads the members of an untrusted JSON object, and remembers those of
// a wrong type, which then count as absent.
type members struct {
	object rawjson.Value
	wrong  []string
}

// parseObject reads data as one JSON object that every parser reads alike.
func parseObject(data []byte) (*members, error) {
	v, flaws, err := rawjson.Parse(data)
	switch {
	case err != nil:
		return nil, errors.New("is not JSON")
	case v.Kind() != rawjson.Object:
		return nil, errors.New("is not a JSON object")
	case len(flaws.Duplicates) > 0:
		return nil, errors.New("holds a member twice")
	case flaws.InvalidUTF8 > 0 || flaws.LoneSurrogates > 0:
		return nil, errors.New("is not valid UTF-8")
	}
	return &members{object: v}, nil
}

func (m *members) text(name string) string {
	v := m.object.Get(name)
	s, ok := v.Text()
	if !ok && v.Exists() && !v.IsNull() {
		m.wrong = append(m.wrong, name)
	}
	return s
}

func (m *members) flag(name string) bool {
	v := m.object.Get(name)
	b, ok := v.Bool()
	if !ok && v.Exists() && !v.IsNull() {
		m.wrong = append(m.wrong, name)
	}
	return b
}

// list reads an array of strings. It is nil when there is none, and not nil when
// there is an empty one.
func (m *members) list(name string) []string {
	v := m.object.Get(name)
	if !v.Exists() || v.IsNull() {
		return nil
	}
	if v.Kind() != rawjson.Array {
		m.wrong = append(m.wrong, name)
		return nil
	}
	found := []string{}
	for _, e := range v.Elems() {
		s, ok := e.Text()
		if !ok {
			m.wrong = append(m.wrong, name)
			return nil
		}
		found = append(found, s)
	}
	return found
}

// parseResourceMetadata reads a document of RFC 9728. It also names the members
// of a wrong type; the error is a clause about the document.
func parseResourceMetadata(data []byte) (doc *ResourceMetadata, wrong []string, err error) {
	m, err := parseObject(data)
	if err != nil {
		return nil, nil, err
	}
	doc = &ResourceMetadata{
		Resource:             m.text("resource"),
		AuthorizationServers: m.list("authorization_servers"),
		Scopes:               scopeList(m.list("scopes_supported")),
		BearerMethods:        m.list("bearer_methods_supported"),
	}
	return doc, m.wrong, nil
}

// parseServerMetadata is parseResourceMetadata for a document of RFC 8414.
func parseServerMetadata(data []byte) (doc *ServerMetadata, wrong []string, err error) {
	m, err := parseObject(data)
	if err != nil {
		return nil, nil, err
	}
	doc = &ServerMetadata{
		Issuer:                   m.text("issuer"),
		AuthorizationEndpoint:    m.text("authorization_endpoint"),
		TokenEndpoint:            m.text("token_endpoint"),
		RegistrationEndpoint:     m.text("registration_endpoint"),
		DeviceEndpoint:           m.text("device_authorization_endpoint"),
		Scopes:                   scopeList(m.list("scopes_supported")),
		GrantTypes:               m.list("grant_types_supported"),
		AuthMethods:              m.list("token_endpoint_auth_methods_supported"),
		AuthAlgorithms:           m.list("token_endpoint_auth_signing_alg_values_supported"),
		CodeChallengeMethods:     m.list("code_challenge_methods_supported"),
		ClientIDMetadataDocument: m.flag("client_id_metadata_document_supported"),
		IssParameter:             m.flag("authorization_response_iss_parameter_supported"),
	}
	return doc, m.wrong, nil
}

const maxScopes = 200

// scopeList keeps what can be a scope (RFC 6749, section 3.3), once each.
func scopeList(scopes []string) []string {
	var kept []string
	for _, s := range scopes {
		if len(kept) < maxScopes && isScope(s) && !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return s != "" && len(s) <= 1024
}

func splitScopes(s string) []string { return scopeList(strings.Fields(s)) }

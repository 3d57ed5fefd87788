package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// assertionLife is how long a client assertion is good for. The server's
	// clock may be off by some of it.
	assertionLife = 2 * time.Minute
)

// signer makes client assertions (RFC 7523, section 2.2).
type signer struct {
	key   crypto.Signer
	algs  []string // that fit the key, the preferred one first
	keyID string
}

// newSigner reads the private key of a grant. Errors hold no part of it.
func newSigner(g Grant) (*signer, *Error) {
	bad := func(text, hint string) (*signer, *Error) {
		return nil, &Error{Reason: ReasonGrantInvalid, Text: text, Hint: hint}
	}
	const pkcs8 = "give an unencrypted PEM file, as of: openssl pkcs8 -topk8 -nocrypt"
	block, _ := pem.Decode([]byte(g.PrivateKeyPEM.Reveal()))
	if block == nil {
		return bad("the private key is not in PEM form", pkcs8)
	}
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return bad("the private key is encrypted", pkcs8)
	}
	key, err := parseKey(block)
	if err != nil {
		return bad("the private key cannot be read", pkcs8)
	}
	s := &signer{key: key, keyID: g.KeyID}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() < 2048 {
			return bad("the RSA key is shorter than 2048 bits", "make a longer one")
		}
		s.algs = []string{"RS256", "PS256"}
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			return bad("the elliptic curve of the private key is not P-256", "use a P-256, Ed25519 or RSA key")
		}
		s.algs = []string{"ES256"}
	case ed25519.PrivateKey:
		s.algs = []string{"EdDSA"}
	default:
		return bad("the private key is of a kind that cannot sign assertions", "use a P-256, Ed25519 or RSA key")
	}
	if g.Algorithm != "" {
		if !slices.Contains(s.algs, g.Algorithm) {
			return bad(fmt.Sprintf("algorithm %q does not fit the private key", g.Algorithm), "use "+strings.Join(s.algs, " or "))
		}
		s.algs = []string{g.Algorithm}
	}
	return s, nil
}

func parseKey(block *pem.Block) (crypto.Signer, error) {
	switch block.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if s, ok := key.(crypto.Signer); ok {
		return s, nil
	}
	return nil, errors.New("cannot sign")
}

// choose picks the algorithm among those that the server takes; nil is silence.
func (s *signer) choose(supported []string) (string, *Error) {
	if len(supported) == 0 {
		return s.algs[0], nil
	}
	for _, alg := range s.algs {
		if slices.Contains(supported, alg) {
			return alg, nil
		}
	}
	return "", &Error{
		Reason: ReasonGrantInvalid,
		Text:   "the authorization server takes no client assertion signed with " + strings.Join(s.algs, " or "),
		Hint:   "use a key for one of the algorithms in its token_endpoint_auth_signing_alg_values_supported",
	}
}

// assert makes an assertion of client for the server. The audience is the issuer
// alone, as draft-ietf-oauth-rfc7523bis wants it, and RFC 9126 before it: the
// URL of the token endpoint lets another server use the assertion.
func (s *signer) assert(alg, client, issuer string, now time.Time) (string, error) {
	header := map[string]string{"alg": alg, "typ": "JWT"}
	if s.keyID != "" {
		header["kid"] = s.keyID
	}
	claims := map[string]any{
		"iss": client, "sub": client, "aud": issuer, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	}
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	c, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	signature, err := s.sign(alg, []byte(signed))
	if err != nil {
		return "", err
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// sign makes the signature of RFC 7518, section 3, or RFC 8037.
func (s *signer) sign(alg string, data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	switch key := s.key.(type) {
	case *ecdsa.PrivateKey:
		r, t, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			return nil, err
		}
		out := make([]byte, 64)
		r.FillBytes(out[:32])
		t.FillBytes(out[32:])
		return out, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(key, data), nil
	}
	if alg == "PS256" {
		return s.key.Sign(rand.Reader, digest[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256})
	}
	return s.key.Sign(rand.Reader, digest[:], crypto.SHA256)
}

// basicCredential is what goes behind "Basic " (RFC 6749, section 2.3.1: both
// parts are form-encoded first).
func basicCredential(id, secret string) string {
	return base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
}

// authenticate adds the client's authentication to a token request, in the way
// that the grant names, or else that the metadata allows (RFC 8414:
// client_secret_basic when it is silent).
func (g Grant) authenticate(c *client, m *ServerMetadata, form url.Values, header http.Header, now time.Time) *Error {
	takes := func(method string) bool { return slices.Contains(m.AuthMethods, method) }
	switch secret := g.ClientSecret.Reveal(); {
	case !g.PrivateKeyPEM.IsZero():
		s, problem := newSigner(g)
		if problem != nil {
			return problem
		}
		alg, problem := s.choose(m.AuthAlgorithms)
		if problem != nil {
			return problem
		}
		assertion, err := s.assert(alg, g.clientID(), m.Issuer, now)
		if err != nil {
			return &Error{Reason: ReasonGrantInvalid, Text: "the private key could not sign", Hint: "make a new key", Err: err}
		}
		c.Redact.Add(assertion)
		form.Set("client_id", g.clientID())
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	case secret == "" || takes("none") && len(m.AuthMethods) == 1:
		form.Set("client_id", g.clientID())
	case g.ClientAuth == "client_secret_post":
		form.Set("client_id", g.clientID())
		form.Set("client_secret", secret)
	case g.ClientAuth == "client_secret_basic" || m.AuthMethods == nil || takes("client_secret_basic"):
		header.Set("Authorization", "Basic "+basicCredential(g.clientID(), secret))
	case takes("client_secret_post"):
		form.Set("client_id", g.clientID())
		form.Set("client_secret", secret)
	default:
		return &Error{
			Reason: ReasonGrantInvalid,
			Text:   "the authorization server takes no client secret, but " + c.quote(strings.Join(m.AuthMethods, ", ")),
			Hint:   "register a client that authenticates in one of these ways",
		}
	}
	return nil
}

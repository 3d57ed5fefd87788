package shell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

// proofPrefix begins the names of the fields that show who sends a form; a passkey's
// answer is bound to all others.
const proofPrefix = "proof_"

// Proof is what a person added to a form to show who it is: see ProofFields.
func (q *Request) Proof() ops.Proof {
	p := ops.Proof{Password: q.PostFormValue("proof_password"), Code: q.Value("proof_code")}
	if answer := q.PostFormValue("proof_passkey"); answer != "" {
		p.Factor = people.Passkey([]byte(answer), q.binding())
	}
	return p
}

// Factor is what a person added to a form for the own account; nil: nothing.
func (q *Request) Factor() people.Factor { return q.Proof().Shown() }

// binding is that of the form that was sent. A form with files has none: their contents
// are not in it.
func (q *Request) binding() string {
	if q.MultipartForm != nil && len(q.MultipartForm.File) > 0 {
		return ""
	}
	return Binding(q.Method, q.URL.RequestURI(), q.PostForm)
}

// Binding is what a passkey's answer counts for: this method, this path with its query,
// and these fields of the form, whatever their order among each other. Line breaks count
// as one character each, as browsers send them in two ways.
func Binding(method, path string, form url.Values) string {
	sum := sha256.New()
	add := func(text string) { fmt.Fprintf(sum, "%d:%s,", len(text), text) }
	add(method)
	add(path)
	names := make([]string, 0, len(form))
	for name := range form {
		if !strings.HasPrefix(name, proofPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	for _, name := range names {
		for _, value := range form[name] {
			add(breaks.Replace(name))
			add(breaks.Replace(value))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ProofChallenge gives what a browser asks an authenticator for: it is sent the fields
// of a form, and in proof_target the address that the form goes to.
func ProofChallenge(q *Request) error {
	target := Local(q.Value("proof_target")) // reads the form
	options, err := q.shell.People.ProofChallenge(q.Context(), q.Session, Binding(http.MethodPost, target, q.PostForm))
	if err != nil {
		return ops.Personal(err)
	}
	return q.JSON(http.StatusOK, options)
}

// JSON answers a script of a page.
func (q *Request) JSON(status int, text []byte) error {
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(status)
	_, _ = q.w.Write(text)
	return nil
}

type proofKey struct{}

// proving is what ProofFields need to know of who looks at a page.
type proving struct {
	q       *Request
	factors *people.Factors
	shown   int // how often there are fields on the page
}

// withProof lets parts of the page ask what the person can show.
func withProof(ctx context.Context, q *Request) context.Context {
	return context.WithValue(ctx, proofKey{}, &proving{q: q})
}

// May tells whether who looks at the page may do something, so that no link leads to a
// refusal. It lets nobody do anything: that is for what is asked.
func May(ctx context.Context, what people.Permission) bool {
	p, ok := ctx.Value(proofKey{}).(*proving)
	return ok && p.q.Actor.Can(what)
}

// ask gives the factors that the person has, what makes the ids of the fields unique on
// the page, and whether to advise a second factor, which the page of the account does
// itself. What cannot be looked up is asked for by the password.
func ask(ctx context.Context) (f people.Factors, unique string, advise bool) {
	p, ok := ctx.Value(proofKey{}).(*proving)
	if !ok {
		return people.Factors{Password: true}, "", false
	}
	if p.factors == nil {
		f, err := p.q.shell.People.Factors(ctx, p.q.Session)
		if err != nil {
			p.q.Log(ctx, "the factors of a person could not be looked up", err)
			f = people.Factors{Password: true}
		}
		p.factors = &f
	}
	p.shown++
	if p.shown > 1 {
		unique = fmt.Sprintf("-%d", p.shown)
	}
	return *p.factors, unique, !strings.HasPrefix(p.q.URL.Path, "/account")
}

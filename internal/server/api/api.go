// Package api is the REST API under /api/v1.
//
// One table, [Routes], says what there is and what each request needs; the handler, the
// OpenAPI document and the tests are made from it. What a request does is in package
// ops; here it is only read, and its answer written.
package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// Prefix is where the API is.
const Prefix = "/api/v1"

// Deps are what the API works on. Ops and People are required.
type Deps struct {
	Ops    *ops.Ops
	People *people.People
	// PublicURL is the address that browsers know the server by. With https, cookies
	// are sent over that alone.
	PublicURL string
	Version   string
	Logger    *slog.Logger
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Rate and Burst bound the requests of one key or session; 0: 50 a second, 200.
	Rate  rate.Limit
	Burst int
	// Failures is how many requests without a good credential an address may make in
	// a row; one more every six seconds. 0: 20.
	Failures int
}

// API is the handler. It is safe for concurrent use.
type API struct {
	ops      *ops.Ops
	people   *people.People
	logger   *slog.Logger
	now      func() time.Time
	secure   bool
	cross    *http.CrossOriginProtection
	requests *web.Limiter // by credential
	failures *web.Limiter // by address
	huma     huma.API
	mux      *http.ServeMux
	document []byte
}

// New makes the API. Its error is a public URL that is none.
func New(d Deps) (*API, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Rate == 0 {
		d.Rate = 50
	}
	if d.Burst == 0 {
		d.Burst = 200
	}
	if d.Failures == 0 {
		d.Failures = 20
	}
	a := &API{
		ops: d.Ops, people: d.People, logger: d.Logger, now: d.Now, cross: http.NewCrossOriginProtection(),
		requests: web.NewLimiter(d.Rate, d.Burst, d.Now), failures: web.NewLimiter(rate.Every(6*time.Second), d.Failures, d.Now),
		mux: http.NewServeMux(),
	}
	if err := a.public(d.PublicURL); err != nil {
		return nil, err
	}
	if err := a.register(d.Version); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *API) public(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("public URL %q is not an address such as https://watch.example.com", address)
	}
	a.secure = u.Scheme == "https"
	if err := a.cross.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
		return fmt.Errorf("public URL: %w", err)
	}
	return nil
}

// register makes the handler and the document from the table.
func (a *API) register(version string) error {
	if version == "" {
		version = "dev"
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	a.huma = humago.New(a.mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "mcpvigil", Version: version,
				Description: "Watches MCP servers. Errors are problem details (RFC 9457) with a stable code. Text that came from a watched server is untrusted wherever it appears.",
			},
			Servers: []*huma.Server{{URL: Prefix}},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				"session": {Type: "apiKey", In: "cookie", Name: web.CookieName(web.SessionCookie, a.secure), Description: "A person who is signed in: POST /session."},
				"key":     {Type: "http", Scheme: "bearer", Description: "An API key, mvk_…"},
			}},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()},
		DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
		Transformers: []huma.Transformer{ours},
	})
	a.huma.UseMiddleware(a.recovered, a.admit)
	problem := registry.Schema(problemType, true, "Problem")
	for _, r := range Routes() {
		r.serve(a, problem)
	}
	// What the library would answer with is never sent.
	delete(registry.Map(), "ErrorModel")
	delete(registry.Map(), "ErrorDetail")
	document, err := a.huma.OpenAPI().MarshalJSON()
	if err != nil {
		return fmt.Errorf("write the API's document: %w", err)
	}
	a.document = document
	a.mux.HandleFunc("/", a.unknown)
	return nil
}

// ServeHTTP answers requests below Prefix.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if err := readable(r); err != "" {
		a.write(w, &Problem{Status: http.StatusBadRequest, Code: "malformed", Detail: err})
		return
	}
	r.Header.Del("Accept") // there is one representation
	http.StripPrefix(Prefix, a.mux).ServeHTTP(w, r)
}

// readable says what is wrong with the address of a request, if anything.
func readable(r *http.Request) string {
	if bad(r.URL.Path) {
		return "the path has characters that no name has"
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "the query cannot be read"
	}
	for name, values := range query {
		if len(values) > 1 {
			return "a parameter of the query stands there twice"
		}
		if bad(name) || bad(values[0]) {
			return "the query has characters that no value has"
		}
	}
	return ""
}

// unknown answers what is not in the table, to who has a credential.
func (a *API) unknown(w http.ResponseWriter, r *http.Request) {
	if _, problem := a.authenticate(r); problem != nil {
		a.write(w, problem)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		a.write(w, &Problem{Status: http.StatusNotFound, Code: "not-found", Detail: "there is nothing at this address", Hint: "GET " + Prefix + "/openapi.json lists what there is"})
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.write(w, &Problem{Status: http.StatusMethodNotAllowed, Code: "method-not-allowed", Detail: "the address does not take this method"})
}

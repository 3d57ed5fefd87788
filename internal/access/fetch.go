package access

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	maxDocument    = 64 << 10 // bytes of metadata, of a token response, of a token file
	maxRequests    = 8        // of one walk along the chain; three and three is the most it needs
	requestTimeout = 10 * time.Second
)

// HTTP is how this package reaches servers. The zero value works.
type HTTP struct {
	// Transport sends the requests. It must add no credential. Nil: a transport
	// of netguard that keeps no connection open.
	Transport http.RoundTripper
	UserAgent string
	// ProtocolVersion is sent as MCP-Protocol-Version with requests for
	// metadata, unless empty.
	ProtocolVersion string
	// Redact learns every secret that is read or received, and is applied to all
	// that is quoted. Nil: one of this package's own.
	Redact *plain.Redactor
	// Timeout bounds one request. Zero: 10 s.
	Timeout time.Duration
}

func (h HTTP) client() *client {
	if h.Transport == nil {
		t := netguard.NewTransport(netguard.Options{})
		t.DisableKeepAlives = true
		h.Transport = t
	}
	if h.Redact == nil {
		h.Redact = plain.NewRedactor()
	}
	if h.Timeout <= 0 {
		h.Timeout = requestTimeout
	}
	return &client{HTTP: h, http: &http.Client{
		Transport:     h.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type client struct {
	HTTP
	http *http.Client
}

// quote makes text of a server fit to be quoted.
func (c *client) quote(text string) string { return plain.Line(c.Redact.String(text), maxShow) }

// answer is what came back, or why nothing did.
type answer struct {
	url      *url.URL
	status   int
	header   http.Header
	body     []byte
	tooLarge bool
	duration time.Duration
	// failure says why there is no complete answer; ended, that time or patience
	// had run out.
	failure *netguard.Failure
	ended   bool
}

// get asks for a document, without credentials.
func (c *client) get(ctx context.Context, u *url.URL) answer {
	header := http.Header{"Accept": {"application/json"}}
	if c.ProtocolVersion != "" {
		header.Set("MCP-Protocol-Version", c.ProtocolVersion)
	}
	return c.do(ctx, http.MethodGet, u, header, nil)
}

// tokenTimeout bounds a token request at the least. One that is given up on may
// have been carried out, and a refresh token that rotates is then lost.
const tokenTimeout = 30 * time.Second

// post sends a form to a token endpoint.
func (c *client) post(ctx context.Context, u *url.URL, form url.Values, header http.Header) answer {
	header.Set("Accept", "application/json")
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	patient := *c
	patient.Timeout = max(c.Timeout, tokenTimeout)
	return patient.do(ctx, http.MethodPost, u, header, strings.NewReader(form.Encode()))
}

func (c *client) do(ctx context.Context, method string, u *url.URL, header http.Header, body io.Reader) answer {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	ctx, trail := netguard.Follow(ctx, nil)
	a := answer{url: u}
	started := time.Now()
	failed := func(err error) answer {
		f := netguard.Classify(trail.Explain(err))
		f.Text = c.quote(f.Text)
		a.failure, a.ended = &f, ctx.Err() != nil
		a.duration = time.Since(started)
		return a
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return failed(errors.New("the request cannot be built"))
	}
	request.Header = header
	if c.UserAgent != "" {
		request.Header.Set("User-Agent", c.UserAgent)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return failed(err)
	}
	defer response.Body.Close()
	a.status, a.header = response.StatusCode, response.Header
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return failed(err)
	}
	a.tooLarge = len(a.body) > maxDocument
	a.duration = time.Since(started)
	return a
}

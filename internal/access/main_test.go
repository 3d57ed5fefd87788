package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// childVariable makes the test binary one of several processes of a test.
const childVariable = "MCPVIGIL_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(m.Run())
}

// page is a canned answer.
type page struct {
	status int
	kind   string // Content-Type; "": application/json
	body   string
	header http.Header
	err    error
}

// web is an http.RoundTripper that holds pages by URL. Everything else is 404.
type web struct {
	mu    sync.Mutex
	pages map[string]page
	asked []string
	seen  []*http.Request
}

func newWeb(pages map[string]page) *web { return &web{pages: pages} }

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r.URL.String())
	w.seen = append(w.seen, r)
	p, ok := w.pages[r.URL.String()]
	if !ok {
		p = page{status: 404, kind: "text/plain", body: "not found"}
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.status == 0 {
		p.status = 200
	}
	header := p.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if p.kind == "" {
		p.kind = "application/json"
	}
	header.Set("Content-Type", p.kind)
	return &http.Response{
		StatusCode: p.status, Header: header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(p.body)), ContentLength: int64(len(p.body)),
	}, nil
}

func mustURL(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// object writes JSON of pairs of names and values.
func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(bytes.TrimSpace(data))
}

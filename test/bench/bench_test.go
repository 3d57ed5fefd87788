//go:build unix

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func BenchmarkColdCheck(b *testing.B) { each(b, check) }
func BenchmarkFloor(b *testing.B)     { each(b, floor) }
func BenchmarkSDK(b *testing.B)       { each(b, sdk) }

// TestClients keeps the benchmarks from rotting: each client works with each
// server.
func TestClients(t *testing.T) {
	for era, url := range servers(t) {
		for name, c := range map[string]client{"check": check, "floor": floor, "sdk": sdk} {
			if err := c(t, url)(); err != nil {
				t.Errorf("%s, %s: %v", era, name, err)
			}
		}
	}
}

// client makes something that opens the server at url, lists its tools and
// leaves, anew each time it is called.
type client func(tb testing.TB, url string) func() error

func each(b *testing.B, c client) {
	for era, url := range servers(b) {
		b.Run(era, func(b *testing.B) {
			run := c(b, url)
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// check is the check with its default options.
func check(_ testing.TB, url string) func() error {
	return func() error {
		r := probe.Check(context.Background(), &target.Target{Endpoint: url}, probe.Options{})
		if r.Status != probe.StatusHealthy || r.Surface == nil || r.Surface.Tools == nil || *r.Surface.Tools != 10 {
			return fmt.Errorf("status %s, counts %+v", r.Status, r.Surface)
		}
		return nil
	}
}

// sdk is the client of the Go SDK, without the standing stream that it opens
// by default, and the check does not.
func sdk(tb testing.TB, url string) func() error {
	return func() error {
		ctx := tb.Context()
		transport := http.DefaultTransport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true}, nil)
		if err != nil {
			return err
		}
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		if len(list.Tools) != 10 {
			return fmt.Errorf("%d tools", len(list.Tools))
		}
		return session.Close()
	}
}

// sent is one request of the check, as a server saw it.
type sent struct {
	method string
	header http.Header
	body   []byte
}

// record runs one check against the same server in this process, and returns
// what it sent.
func record(tb testing.TB, path string) []sent {
	tb.Helper()
	var all []sent
	inner := handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		header := r.Header.Clone()
		header.Del("Content-Length")
		all = append(all, sent{r.Method, header, body})
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	if err := check(tb, server.URL+path)(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// floor makes the requests of the check, header by header and byte by byte, with
// net/http alone, and decodes the replies to what a check has to know.
func floor(tb testing.TB, url string) func() error {
	requests := record(tb, url[len(url)-len("/modern"):])
	return func() error {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		c := &http.Client{Transport: transport}
		tools := 0
		for _, s := range requests {
			req, err := http.NewRequest(s.method, url, bytes.NewReader(s.body))
			if err != nil {
				return err
			}
			for name, values := range s.header {
				req.Header.Set(name, values[0])
			}
			resp, err := c.Do(req)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				return err
			}
			if len(body) == 0 {
				continue
			}
			var m struct {
				Result struct {
					Tools []struct {
						Name        string          `json:"name"`
						InputSchema json.RawMessage `json:"inputSchema"`
					} `json:"tools"`
				} `json:"result"`
			}
			if err := json.Unmarshal(body, &m); err != nil {
				return err
			}
			tools += len(m.Result.Tools)
		}
		if tools != 10 {
			return fmt.Errorf("%d tools", tools)
		}
		return nil
	}
}

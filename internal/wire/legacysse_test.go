package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server that sends requests faster than it takes their answers does not make
// this side open a connection for each.
func TestSSEPingFlood(t *testing.T) {
	var posting, most, replies atomic.Int32
	answers := make(chan string, 1)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typeSSE)
		fmt.Fprint(w, "event: endpoint\ndata: /m\n\n")
		w.(http.Flusher).Flush()
		for i := range 900 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case a := <-answers:
				fmt.Fprintf(w, "data: %s\n\n", a)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /m", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"method"`) {
			answers <- `{"jsonrpc":"2.0","id":1,"result":{}}`
		} else {
			replies.Add(1)
			most.Store(max(most.Load(), posting.Add(1)))
			<-release
			posting.Add(-1)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	u, err := url.Parse(server.URL + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cfg := stdioTestConfig()
	c, err := SSEConfig{URL: u}.connect(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close(ctx)
	if _, err := c.exchange(ctx, &request{id: 1, method: "a", body: encode(1, "a", nil)}); err != nil {
		t.Errorf("an exchange beside the flood: %v", err)
	}
	letGo()
	for last := int32(-1); replies.Load() != last; time.Sleep(200 * time.Millisecond) {
		last = replies.Load()
	}
	if n := most.Load(); n != 1 {
		t.Errorf("%d answers were posted at once", n)
	}
	if n := replies.Load(); n < maxQueued || n > maxQueued+1 {
		t.Errorf("%d answers were posted", n)
	}
	c.close(ctx)
	if x := len(cfg.Log.Exchanges()); x > maxExchanges {
		t.Errorf("%d exchanges", x)
	}
}

package watch_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// message is what a webhook was told.
type message struct {
	Data struct {
		Key      string `json:"key"`
		Phase    string `json:"phase"`
		Incident struct {
			Key   string `json:"key"`
			Axis  string `json:"axis"`
			State string `json:"state"`
		} `json:"incident"`
	} `json:"data"`
	body string
}

// receiver is a webhook that remembers.
type receiver struct {
	http *httptest.Server

	mu       sync.Mutex
	messages []message
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(io.LimitReader(q.Body, 1<<20))
		m := message{body: string(body)}
		if err != nil || json.Unmarshal(body, &m) != nil || m.Data.Key == "" || q.Header.Get("Webhook-Id") != m.Data.Key {
			t.Errorf("a webhook body without a key, or with another than its header's: %s", body)
		}
		r.mu.Lock()
		r.messages = append(r.messages, m)
		r.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.http.Close)
	return r
}

// all returns what was received until now, in order.
func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.messages...)
}

package watch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fleet is a number of MCP servers (2026-07-28) that can be changed while they run, at
// one address with a path for each.
type fleet struct {
	http *httptest.Server

	mu      sync.Mutex
	servers map[string]*member
}

// member is one server of a fleet. A down one answers 503.
type member struct {
	down        bool
	tools       []string
	description string
	requests    int
}

func newFleet(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := &fleet{servers: map[string]*member{}}
	for _, name := range names {
		f.servers[name] = &member{tools: []string{"search", "fetch"}, description: "Looks things up."}
	}
	f.http = httptest.NewServer(f)
	t.Cleanup(f.http.Close)
	return f
}

// newFleetAt is a fleet at an address of this machine.
func newFleetAt(t *testing.T, address string, names ...string) *fleet {
	t.Helper()
	f := newFleet(t, names...)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	f.http.Close()
	f.http = httptest.NewUnstartedServer(f)
	f.http.Listener.Close()
	f.http.Listener = listener
	f.http.Start()
	t.Cleanup(f.http.Close)
	return f
}

func (f *fleet) url(name string) string { return f.http.URL + "/" + name }

// change changes one server.
func (f *fleet) change(name string, change func(*member)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.servers[name])
}

// look returns a copy of a server.
func (f *fleet) look(name string) member {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := *f.servers[name]
	m.tools = slices.Clone(m.tools)
	return m
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&call) != nil {
		http.Error(w, "send me a JSON-RPC request", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	m, ok := f.servers[strings.TrimPrefix(r.URL.Path, "/")]
	var result string
	var down bool
	if ok {
		m.requests++
		down, result = m.down, m.answer(call.Method)
	}
	f.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case down:
		http.Error(w, "closed for today", http.StatusServiceUnavailable)
	case result == "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, call.ID)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	}
}

func (m *member) answer(method string) string {
	const head = `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
	switch method {
	case "server/discover":
		return `{` + head + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fleet","version":"1.0.0"}}}`
	case "tools/list":
		list := make([]string, len(m.tools))
		for i, tool := range m.tools {
			description, _ := json.Marshal(m.description)
			list[i] = fmt.Sprintf(`{"name":%q,"description":%s,"inputSchema":{"type":"object"}}`, tool, description)
		}
		return `{` + head + `,"tools":[` + strings.Join(list, ",") + `]}`
	}
	return ""
}

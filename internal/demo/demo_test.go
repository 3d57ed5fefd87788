package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func post(t *testing.T, body string, headers ...string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	new(Server).ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

func TestHTTP(t *testing.T) {
	modern := func(method string) []string {
		return []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	}
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{"discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`, modern("server/discover"), 200, `"supportedVersions":["2026-07-28"]`},
		{"list is cacheable", `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{` + modernMeta + `}}`, modern("tools/list"), 200, `"ttlMs":60000`},
		{"call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},` + modernMeta + `}}`, append(modern("tools/call"), "Mcp-Name", "add"), 200, `"text":"5"`},
		{"encoded name", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"demo://greetings/z%C3%A9",` + modernMeta + `}}`, append(modern("resources/read"), "Mcp-Name", "=?base64?ZGVtbzovL2dyZWV0aW5ncy96JUMzJUE5?="), 200, "Hello, zé!"},
		{"header missing", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, nil, 400, "-32020"},
		{"name differs", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",` + modernMeta + `}}`, append(modern("tools/call"), "Mcp-Name", "sub"), 400, "-32020"},
		{"unknown revision", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "server/discover"}, 400, "-32022"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, modern("ping"), 404, "-32601"},
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, nil, 200, `"protocolVersion":"2025-06-18"`},
		{"initialize, older", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`, nil, 200, `"protocolVersion":"2025-11-25"`},
		{"legacy list", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, []string{"MCP-Protocol-Version", "2025-11-25"}, 200, `"summarise"`},
		{"legacy, wrong header", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, []string{"MCP-Protocol-Version", "1"}, 400, "unsupported"},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"tool error", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"x"}}}`, nil, 200, `"isError":true`},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, nil, 200, "-32602"},
		{"not JSON", `{`, nil, 400, "-32700"},
		{"batch", `[]`, nil, 400, "-32600"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, "-32600"},
		{"other site", `{}`, []string{"Origin", "https://evil.example"}, 403, "origin"},
		{"other host", `{}`, []string{"Host", "evil.example"}, 403, "host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := post(t, tt.body, tt.headers...)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d with %s", status, body, tt.status, tt.want)
			}
		})
	}
}

func TestHTTPRefusesOtherMethods(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodDelete} {
		w := httptest.NewRecorder()
		new(Server).ServeHTTP(w, httptest.NewRequest(method, "http://localhost/mcp", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

func TestStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}

{"jsonrpc":"2.0","id":2,"method":"resources/templates/list"}
{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{` + modernMeta + `}}
nonsense
`)
	var out strings.Builder
	if err := (&Server{Version: "9"}).ServeStdio(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %d answers, want 4:\n%s", len(lines), out.String())
	}
	for i, want := range []string{`"version":"9"`, `"uriTemplate"`, `"resultType":"complete"`, "-32700"} {
		if !json.Valid([]byte(lines[i])) || !strings.Contains(lines[i], want) {
			t.Errorf("answer %d is %s, want %s in it", i, lines[i], want)
		}
	}
}

func TestStdioEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, _ := io.Pipe()
	if err := new(Server).ServeStdio(ctx, in, io.Discard); err != nil {
		t.Fatal(err)
	}
	in.Close()
}

func TestTurns(t *testing.T) {
	list := func(s *Server) string {
		var out strings.Builder
		if err := s.ServeStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	honest := list(new(Server))
	if before := list(&Server{Turns: time.Now().Add(time.Hour)}); before != honest || strings.Contains(honest, "id_rsa") {
		t.Errorf("before its time: %s", before)
	}
	if after := list(&Server{Turns: time.Now().Add(-time.Hour)}); !strings.Contains(after, "id_rsa") || !strings.Contains(after, `"context"`) {
		t.Errorf("after its time: %s", after)
	}
}

func TestListen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := new(Server).Listen(ctx, "127.0.0.1:0", func(url string) {
		defer cancel()
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); string(body) != `{"id":1,"jsonrpc":"2.0","result":{}}` {
			t.Errorf("got %s", body)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

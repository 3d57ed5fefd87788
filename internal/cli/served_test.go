package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// listings is a server for scripts. It answers from the file served.json, a
// surface, which it reads anew for each connection, so that a script changes the
// server by copying a file. Where there is served.NAME.json for the client's name
// or bearer token, that one has it; where there are served.1.json, served.2.json
// and so on, connections take turns. A file called token is what must be sent as
// bearer token, one called hang keeps tools/list from being answered, one called
// down.NAME lets the server fail for the client of that name, and one called once lets
// it fail after one connection, by a file called gone. A tools/call leaves a file
// called "called".
type listings struct {
	path func(name string) string

	mu       sync.Mutex
	opened   int
	sessions map[string]map[string]json.RawMessage
}

func newListings(path func(string) string) *listings {
	return &listings{path: path, sessions: map[string]map[string]json.RawMessage{}}
}

func (l *listings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProtocolVersion string
			ClientInfo      struct{ Name string }
			Cursor          string
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	for _, name := range []string{"gone", "down." + call.Params.ClientInfo.Name} {
		if _, err := os.Stat(l.path(name)); err == nil && call.Method == "initialize" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	}
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if want, err := os.ReadFile(l.path("token")); err == nil && strings.TrimSpace(string(want)) != bearer {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	}
	session := r.Header.Get("Mcp-Session-Id")
	surface := l.session(session)
	switch list := strings.TrimSuffix(call.Method, "/list"); {
	case call.Method == "initialize":
		_ = os.Rename(l.path("once"), l.path("gone")) // of which there may be none
		id, surface := l.open(call.Params.ClientInfo.Name, bearer)
		w.Header().Set("Mcp-Session-Id", id)
		version := call.Params.ProtocolVersion
		if v := surface["protocolVersion"]; v != nil {
			_ = json.Unmarshal(v, &version)
		}
		answer(opening(surface, version))
	case strings.HasPrefix(call.Method, "notifications/"):
		w.WriteHeader(http.StatusAccepted)
	case list == "resources/templates":
		answer(fmt.Sprintf(`{"resourceTemplates":%s}`, or(surface["resourceTemplates"], "[]")))
	case list != call.Method:
		if _, err := os.Stat(l.path("hang")); err == nil && list == "tools" {
			time.Sleep(time.Second)
			answer(`{"tools":[],"nextCursor":"again` + call.Params.Cursor + `"}`)
			return
		}
		answer(fmt.Sprintf(`{"%s":%s}`, list, or(surface[list], "[]")))
	default:
		if call.Method == "tools/call" {
			_ = os.WriteFile(l.path("called"), nil, 0o644)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, call.ID)
	}
}

func or(raw json.RawMessage, otherwise string) string {
	if raw == nil {
		return otherwise
	}
	return string(raw)
}

// opening is the answer to initialize.
func opening(surface map[string]json.RawMessage, version string) string {
	capabilities := []string{}
	for _, list := range []string{"tools", "resources", "prompts"} {
		if surface[list] != nil {
			capabilities = append(capabilities, fmt.Sprintf("%q:{}", list))
		}
	}
	instructions := ""
	if i := surface["instructions"]; i != nil {
		instructions = `,"instructions":` + string(i)
	}
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{%s},"serverInfo":%s%s}`, version, strings.Join(capabilities, ","),
		or(surface["serverInfo"], `{"name":"scripted","version":"1.0.0"}`), instructions)
}

func (l *listings) session(id string) map[string]json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// open starts a session with what the client is to see.
func (l *listings) open(client, bearer string) (id string, surface map[string]json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	turns := 0
	for ; turns < 9; turns++ {
		if _, err := os.Stat(l.path(fmt.Sprintf("served.%d.json", turns+1))); err != nil {
			break
		}
	}
	names := []string{"served." + client + ".json", "served." + bearer + ".json", "served.json"}
	if turns > 0 {
		names = append(names, fmt.Sprintf("served.%d.json", l.opened%turns+1))
	}
	for _, name := range names {
		data, err := os.ReadFile(l.path(name))
		if err == nil && json.Unmarshal(data, &surface) == nil {
			break
		}
	}
	id = fmt.Sprintf("session-%d", l.opened)
	l.sessions[id] = surface
	return id, surface
}

// npx is a program for scripts: "npx -y NAME@VERSION" serves the surface in the file
// NAME@VERSION.json over stdio.
func npx() {
	l := newListings(func(name string) string {
		if name == "served.json" {
			return os.Args[len(os.Args)-1] + ".json"
		}
		return filepath.Join("nothing", name)
	})
	session := ""
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(lines.Bytes()))
		r.Header.Set("Mcp-Session-Id", session)
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if w.Body.Len() > 0 {
			fmt.Println(w.Body)
		}
	}
}

//go:build unix

// Package bench_test measures what a check costs, beside the least that any
// client must do (bare net/http, making the same requests) and the official Go
// SDK's client. Its servers run in a process of their own, so that only the
// client's allocations are counted.
package bench_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// role is the variable that makes the test binary one of its own helpers.
const role = "MCPVIGIL_BENCH_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "server":
		serve()
	case "launcher":
		launch(os.Args[1:])
	default:
		os.Exit(m.Run())
	}
}

// helper starts the test binary in a role.
func helper(tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// servers starts the canned servers and returns their addresses by era. They
// end with the test.
func servers(tb testing.TB) map[string]string {
	tb.Helper()
	cmd := helper(tb, "server")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	base, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("the servers do not start: %v", err)
	}
	base = strings.TrimSpace(base)
	return map[string]string{"modern": base + "/modern", "legacy": base + "/legacy"}
}

// serve is the process of the servers. It ends when its input does.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, handler())
	fmt.Printf("http://%s\n", listener.Addr())
	io.Copy(io.Discard, os.Stdin)
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/modern", canned{
		"server/discover": {200, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Looks things up.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"canned","version":"1.0.0"}}}`},
		"tools/list":      {200, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":` + tools() + `}`},
	})
	mux.Handle("/legacy", canned{
		"server/discover":           {400, ""},
		"initialize":                {200, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"Looks things up.","serverInfo":{"name":"canned","version":"1.0.0"}}`},
		"notifications/initialized": {202, ""},
		"tools/list":                {200, `{"tools":` + tools() + `}`},
	})
	return mux
}

// tools is a list of ten tools of ordinary size.
func tools() string {
	const one = `{"name":"search_%d","title":"Search %d","description":"Searches the index for documents that match the query, and returns at most limit of them with their titles and a summary of each.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to search for","minLength":1},"limit":{"type":"integer","description":"How many to return","minimum":1,"maximum":100,"default":10},"fields":{"type":"array","items":{"type":"string","enum":["title","body","author"]}}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":true}}`
	all := make([]string, 10)
	for i := range all {
		all[i] = fmt.Sprintf(one, i, i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// reply is an HTTP status and a JSON-RPC result.
type reply struct {
	status int
	result string
}

// canned answers methods with prepared results.
type canned map[string]reply

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		return
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := errors.Join(err, json.Unmarshal(body, &m)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, ok := c[m.Method]
	if !ok {
		answer.status = http.StatusNotFound
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "e1b1c0de-0000-4000-8000-000000000001")
	}
	if answer.status == http.StatusAccepted {
		w.WriteHeader(answer.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	if answer.status == http.StatusOK {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer.result)
		return
	}
	io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`)
}

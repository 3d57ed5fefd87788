package peers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// countsOfSDK counts what the server lists by way of another client, which
// declares as little as the check does: some servers have more tools for more.
func countsOfSDK(t *testing.T, p peer, tgt *target.Target, revision string) [4]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var transport mcp.Transport
	switch p.transport() {
	case target.Stdio:
		transport = &mcp.CommandTransport{Command: command(t, p), TerminateDuration: 5 * time.Second}
	case target.SSE:
		transport = &mcp.SSEClientTransport{Endpoint: tgt.Endpoint}
	default:
		transport = &mcp.StreamableClientTransport{Endpoint: tgt.Endpoint, DisableStandaloneSSE: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "truth", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("the Go SDK's client: %v", err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("the Go SDK's client settles on %s, the check on %s", got, revision)
	}
	counts := [4]string{"-", "-", "-", "-"}
	declared := session.InitializeResult().Capabilities
	if declared.Tools != nil {
		counts[0] = length(t, session.Tools(ctx, nil))
	}
	if declared.Resources != nil {
		counts[1] = length(t, session.Resources(ctx, nil))
		counts[2] = length(t, session.ResourceTemplates(ctx, nil))
	}
	if declared.Prompts != nil {
		counts[3] = length(t, session.Prompts(ctx, nil))
	}
	return counts
}

func length[T any](t *testing.T, all iter.Seq2[T, error]) string {
	t.Helper()
	n := 0
	for _, err := range all {
		if err != nil {
			t.Fatalf("the Go SDK's client: %v", err)
		}
		n++
	}
	return fmt.Sprint(n)
}

func command(t *testing.T, p peer) *exec.Cmd {
	t.Helper()
	argv, env := p.words(t)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// discover is a server/discover without any client behind it.
const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"truth","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// discoverAnswer sends discover and says in the words of README.md what came
// back.
func discoverAnswer(t *testing.T, p peer, tgt *target.Target) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	switch p.transport() {
	case target.Stdio:
		return describe(t, 0, stdioAnswer(t, command(t, p)))
	case target.SSE:
		status, answer := sseAnswer(ctx, t, tgt.Endpoint)
		if status >= 300 {
			return fmt.Sprintf("%d on the POST", status)
		}
		return describe(t, 0, answer)
	}
	resp := send(ctx, t, http.MethodPost, tgt.Endpoint)
	defer resp.Body.Close()
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/plain":
		return fmt.Sprintf("%d, plain text", resp.StatusCode)
	case "text/event-stream":
		return describe(t, resp.StatusCode, firstAnswer(bufio.NewReader(resp.Body), "data:"))
	default:
		return describe(t, resp.StatusCode, firstAnswer(bufio.NewReader(resp.Body), ""))
	}
}

func stdioAnswer(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(stdin, discover)
	answer := firstAnswer(bufio.NewReader(stdout), "")
	stdin.Close()
	cmd.Process.Kill()
	cmd.Wait()
	return answer
}

// sseAnswer returns the status of the POST and what came on the stream.
func sseAnswer(ctx context.Context, t *testing.T, endpoint string) (status int, answer string) {
	t.Helper()
	resp := send(ctx, t, http.MethodGet, endpoint)
	defer resp.Body.Close()
	stream := bufio.NewReader(resp.Body)
	to, err := resp.Request.URL.Parse(firstAnswer(stream, "data:"))
	if err != nil {
		t.Fatal(err)
	}
	posted := send(ctx, t, http.MethodPost, to.String())
	posted.Body.Close()
	if posted.StatusCode >= 300 {
		return posted.StatusCode, ""
	}
	return posted.StatusCode, firstAnswer(stream, "data:")
}

// send makes one HTTP request: discover when it is a POST.
func send(ctx context.Context, t *testing.T, method, to string) *http.Response {
	t.Helper()
	body := ""
	if method == http.MethodPost {
		body = discover
	}
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "server/discover")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// firstAnswer returns the first line that begins with prefix, without it, and
// is not empty then.
func firstAnswer(r *bufio.Reader, prefix string) string {
	for {
		line, err := r.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, prefix); ok && strings.TrimSpace(rest) != "" {
			return strings.TrimSpace(rest)
		}
		if err != nil {
			return ""
		}
	}
}

func describe(t *testing.T, status int, answer string) string {
	t.Helper()
	var a struct {
		Result *struct{ SupportedVersions []string }
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("the answer to server/discover is %q: %v", answer, err)
	}
	legacy := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	switch {
	case a.Error != nil && status >= 400:
		return fmt.Sprintf("%d, %d", status, a.Error.Code)
	case a.Error != nil && a.Error.Code == 0:
		return "error of code 0"
	case a.Error != nil:
		return fmt.Sprint(a.Error.Code)
	case a.Result == nil:
		return answer
	}
	switch versions := slices.Sorted(slices.Values(a.Result.SupportedVersions)); {
	case slices.Equal(versions, legacy):
		return "the four legacy revisions"
	case slices.Equal(versions, append(legacy, "2026-07-28")):
		return "all five"
	case len(versions) == 1:
		return versions[0] + " alone"
	default:
		return strings.Join(versions, ", ")
	}
}

// replies says how the lists were answered, and whether there was a session.
func replies(r *probe.Report) (kind, session string) {
	session = "no"
	for _, x := range r.Evidence {
		if x.Method != "tools/list" {
			continue
		}
		kind = map[bool]string{true: "SSE", false: "JSON"}[strings.HasPrefix(x.ContentType, "text/event-stream")]
		if x.Curl != nil && strings.Contains(x.Curl(), "Mcp-Session-Id") {
			session = "yes"
		}
	}
	return kind, session
}

// children returns the command lines of this process's children (Linux).
func children() []string {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var out []string
	for _, list := range lists {
		ids, _ := os.ReadFile(list)
		for _, id := range strings.Fields(string(ids)) {
			line, _ := os.ReadFile("/proc/" + id + "/cmdline")
			out = append(out, id+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

package demo

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxMessage bounds one message, in bytes.
const maxMessage = 1 << 20

// ServeHTTP is the Streamable HTTP endpoint. It answers POST only, in JSON, and
// refuses callers from other web sites (DNS rebinding).
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case !localRequest(req):
		http.Error(w, "host or origin is not this machine", http.StatusForbidden)
		return
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "Content-Type is not application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMessage))
	if err != nil {
		http.Error(w, "message too large or cut off", http.StatusRequestEntityTooLarge)
		return
	}
	r, rpc := decode(body)
	if rpc != nil {
		writeJSON(w, http.StatusBadRequest, failure(nil, rpc))
		return
	}
	if rpc := checkHeaders(r, req.Header); rpc != nil {
		writeJSON(w, http.StatusBadRequest, failure(r.ID, rpc))
		return
	}
	answer, rpc := s.answer(r)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, statusOf(r, rpc), answer)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away gets no answer
}

// statusOf is the HTTP status of an answer. Only 2026-07-28 ties errors to one.
func statusOf(r *request, rpc *rpcError) int {
	if rpc == nil || r.meta().version == "" {
		return http.StatusOK
	}
	switch rpc.Code {
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeUnsupportedVersion, codeInvalidParams:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// checkHeaders compares what a request's headers say with what its body says.
func checkHeaders(r *request, h http.Header) *rpcError {
	mismatch := func(what string) *rpcError {
		return &rpcError{Code: codeHeaderMismatch, Message: what + " header is missing or differs from the body"}
	}
	m := r.meta()
	version := h.Get("Mcp-Protocol-Version")
	if m.version == "" {
		legacy := version == "" || slices.Contains([]string{rev20250618, rev20251125}, version)
		if r.Method != "initialize" && !legacy {
			return &rpcError{
				Code: codeUnsupportedVersion, Message: "unsupported protocol version",
				Data: object{"supported": []string{rev20260728}, "requested": version},
			}
		}
		return nil
	}
	switch {
	case version != m.version:
		return mismatch("MCP-Protocol-Version")
	case h.Get("Mcp-Method") != r.Method:
		return mismatch("Mcp-Method")
	}
	var p params
	if len(r.Params) > 0 && json.Unmarshal(r.Params, &p) != nil {
		return nil // content gives the better error
	}
	want := map[string]string{"tools/call": p.Name, "prompts/get": p.Name, "resources/read": p.URI}[r.Method]
	if want != "" && headerValue(h.Get("Mcp-Name")) != want {
		return mismatch("Mcp-Name")
	}
	return nil
}

// headerValue undoes the Base64 form of values that are no header text.
func headerValue(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if inner, end := strings.CutSuffix(inner, "?="); ok && end {
		if raw, err := base64.StdEncoding.DecodeString(inner); err == nil {
			return string(raw)
		}
	}
	return v
}

// localRequest refuses a Host or Origin other than this machine.
func localRequest(req *http.Request) bool {
	host := req.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if !localHost(host) {
		return false
	}
	origin := req.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && localHost(u.Hostname())
}

func localHost(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// ServeStdio answers newline-delimited messages until in ends or ctx is done.
// A read that is under way when ctx ends is left behind, as reads from a
// terminal or pipe cannot be interrupted.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	done := make(chan error, 1)
	go func() { done <- s.serveLines(in, out) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *Server) serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var answer []byte
		if r, rpc := decode(lines.Bytes()); rpc != nil {
			answer = failure(nil, rpc)
		} else {
			answer, _ = s.answer(r)
		}
		if answer == nil {
			continue
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Listen serves HTTP on addr, such as 127.0.0.1:0, until ctx is done. It calls
// ready with the endpoint's URL once it accepts connections, and returns after
// the last one has ended.
func (s *Server) Listen(ctx context.Context, addr string, ready func(url string)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ready("http://" + listener.Addr().String() + "/mcp")
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err = server.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		return ended
	}
	return err
}

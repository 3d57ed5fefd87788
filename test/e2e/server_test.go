package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// password is that of every account: admin, viewer, editor and approver.
const password = "correct horse battery staple"

// server is a running mcpvigil serve.
type server struct {
	t   testing.TB
	url string // as browsers know it
	// output is what it printed, such as the first token.
	output *output
	cmd    *exec.Cmd
	done   chan struct{}

	// reported: that pages were kept from something is what the test is about.
	reported bool

	mu     sync.Mutex
	tokens map[string]string
}

// output is what a process prints, read while it does.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newServer starts a monitor with an account of each role. prepare, unless nil, writes
// to its database before.
func newServer(t testing.TB, prepare func(context.Context, *store.Store), args ...string) *server {
	t.Helper()
	return newServerAt(t, freePort(t), prepare, args...)
}

func newServerAt(t testing.TB, port int, prepare func(context.Context, *store.Store), args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	tokens := seed(t, dir, prepare)
	s := start(t, dir, port, args...)
	s.tokens = tokens
	return s
}

// seed makes a database with accounts that are signed in, and returns their tokens.
func seed(t testing.TB, dir string, prepare func(context.Context, *store.Store)) map[string]string {
	t.Helper()
	ctx := context.Background()
	key, _, err := seal.LoadOrCreate(filepath.Join(dir, "encryption.key"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "mcpvigil.db"), Sealer: key})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	// A minute ago: what is sorted by time is older than what a test does.
	p := people.New(s.People(), people.Options{Now: func() time.Time { return time.Now().Add(-time.Minute) }})
	tokens := map[string]string{}
	first, _, err := p.SetupToken(ctx)
	if err == nil {
		_, err = p.Setup(ctx, first, "admin", password)
	}
	if err != nil {
		t.Fatal(err)
	}
	signIn := func(name string) *people.Session {
		token, session, err := p.Login(ctx, name, password, "", "127.0.0.1", "e2e")
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
		return session
	}
	admin := signIn("admin")
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Approver} {
		if _, err := p.CreateAccount(ctx, admin, people.Password(password), string(role), password, role); err != nil {
			t.Fatal(err)
		}
		signIn(string(role))
	}
	if prepare != nil {
		prepare(ctx, s)
	}
	return tokens
}

// start starts the program on the data in dir and waits until it is ready.
func start(t testing.TB, dir string, port int, args ...string) *server {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, url: fmt.Sprintf("http://localhost:%d", port), output: new(output), done: make(chan struct{}), tokens: map[string]string{}}
	given := append([]string{
		"serve", "--data", dir, "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--public-url", s.url,
		"--allow-private", "--open-metrics", "--log-format", "json",
	}, args...)
	s.cmd = exec.Command(path, given...)
	s.cmd.Dir = dir
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(s.stop)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get(s.url + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s
			}
		}
		select {
		case <-s.done:
			t.Fatalf("the monitor ended:\n%s", s.output)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the monitor is not ready after a minute:\n%s", s.output)
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

var (
	serious = regexp.MustCompile(`(?m)^.*"level":"ERROR".*$|(?m)^.*(?i:content.security.policy).*$|(?m)^panic: .*$`)
	told    = regexp.MustCompile(`(?m)^.*"level":"(WARN|ERROR)".*$`)
)

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
		s.t.Error("the monitor did not end within 20 s")
	}
	text := s.output.String()
	if lines := serious.FindAllString(text, 5); lines != nil && !s.reported {
		s.t.Errorf("the monitor logged:\n%s", strings.Join(lines, "\n"))
	} else if s.t.Failed() {
		s.t.Logf("the monitor logged:\n%s", strings.Join(told.FindAllString(text, 20), "\n"))
	}
}

func (s *server) token(account string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.tokens[account]
	if !ok {
		s.t.Fatalf("%s is not signed in", account)
	}
	return token
}

// answer is what came back of a request without a browser.
type answer struct {
	status   int
	location string
	header   http.Header
	body     string
}

// send makes a request as an account, a key, or nobody. as is the name of an account, or
// begins with "Bearer ". A body that is a string is a form, anything else JSON.
func (s *server) send(as, method, path string, body any) answer {
	s.t.Helper()
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		reader, kind = strings.NewReader(b), "application/x-www-form-urlencoded"
	default:
		data, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		reader, kind = bytes.NewReader(data), "application/json"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if strings.HasPrefix(as, "Bearer ") {
		r.Header.Set("Authorization", as)
	} else if as != "" {
		r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: s.token(as)})
		r.Header.Set("Origin", s.url)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, 64<<20))
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{status: got.StatusCode, location: got.Header.Get("Location"), header: got.Header, body: string(text)}
}

// api uses the REST API, which has to do it.
func (s *server) api(as, method, path string, in, out any) {
	s.t.Helper()
	got := s.send(as, method, "/api/v1"+path, in)
	if got.status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(got.body), out); err != nil {
			s.t.Fatalf("%s %s: %v in %.300s", method, path, err, got.body)
		}
	}
}

// monitor is what tests look at of one.
type monitor struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Status struct {
		Availability struct {
			State string `json:"state"`
		} `json:"availability"`
		Surface struct {
			State string `json:"state"`
		} `json:"surface"`
		Posture struct {
			State string `json:"state"`
		} `json:"posture"`
		LastCheck *time.Time `json:"last_check"`
		Digest    string     `json:"digest"`
	} `json:"status"`
}

// add makes a monitor of a server through the API, and waits for its first check.
func (s *server) add(name, url string, more ...any) monitor {
	s.t.Helper()
	in := map[string]any{"name": name, "url": url, "interval": "1h", "failure_threshold": 1}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	var m monitor
	s.api("admin", http.MethodPost, "/monitors", in, &m)
	return s.check(m.ID)
}

// look is a monitor as it is now.
func (s *server) look(id int64) (m monitor) {
	s.t.Helper()
	s.api("admin", http.MethodGet, fmt.Sprintf("/monitors/%d", id), nil, &m)
	return m
}

// check has a monitor checked now and waits for what comes of it.
func (s *server) check(id int64) monitor {
	s.t.Helper()
	before := s.look(id).Status.LastCheck
	for deadline := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		// It may be that a check runs already.
		if got := s.send("admin", http.MethodPost, fmt.Sprintf("/api/v1/monitors/%d/run", id), nil); got.status == http.StatusAccepted {
			break
		} else if got.status != http.StatusConflict || time.Now().After(deadline) {
			s.t.Fatalf("run a check: %d %s", got.status, got.body)
		}
	}
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(30 * time.Millisecond) {
		m := s.look(id)
		if m.Status.LastCheck != nil && (before == nil || m.Status.LastCheck.After(*before)) {
			return m
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the monitor %d was not checked within %s", id, 2*patience)
		}
	}
}

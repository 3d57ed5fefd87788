package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/internal/engine"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/mcpserver"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/cspreport"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/settings"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/probe"
)

const (
	// stopTime is how long what is in flight has to end.
	stopTime     = 14 * time.Second
	requestsTime = 5 * time.Second
)

// monitor is one mcpvigil serve.
type monitor struct {
	*app
	o        *serveOptions
	log      *slog.Logger
	listener net.Listener
	db       *opened
	file     *servedFile
	people   *people.People
	alerts   *alert.Sender
	engine   *engine.Engine
	board    *board.Board
	handler  http.Handler
}

func (a *app) runServe(ctx context.Context, g *given, o *serveOptions) (int, error) {
	if err := o.check(g); err != nil {
		return 0, err
	}
	settleMemory(a.lookup)
	a.waiting.Store(true) // an end is graceful from here on
	defer a.waiting.Store(false)
	hangups := make(chan struct{}, 1)
	a.hangups.Store(&hangups)
	defer a.hangups.Store(nil)
	m := &monitor{app: a, o: o, log: a.logger(o.logFormat)}
	if o.demo {
		return m.withDemo(ctx, g, hangups)
	}
	return m.run(ctx, hangups)
}

// logger writes records to standard error.
func (a *app) logger(format string) *slog.Logger {
	if format == "text" || format == "" && terminal(a.stderr) {
		return slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(a.stderr, nil))
}

// turnsAfter is when one of the demo servers changes what it tells agents: late enough
// to be approved before, and soon enough to be seen.
const turnsAfter = time.Minute

// withDemo runs the monitor beside the demo servers, on data that nobody misses.
func (m *monitor) withDemo(ctx context.Context, g *given, hangups <-chan struct{}) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program to start it as a server: %w", err)
	}
	if !g.has("data") {
		if m.o.data, err = os.MkdirTemp("", "mcpvigil-demo-"); err != nil {
			return 0, fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer func() { _ = os.RemoveAll(m.o.data) }() // it is temporary in any case
	}
	m.o.openMetrics = true
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	honest := &demo.Server{Version: buildVersion()}
	turning := &demo.Server{Version: buildVersion(), Turns: time.Now().Add(turnsAfter)}
	var first, second error
	first = honest.Listen(serving, "127.0.0.1:0", func(url string) {
		defer stop()
		second = turning.Listen(serving, "127.0.0.1:0", func(turningURL string) {
			defer stop() // both
			m.file = &servedFile{text: fmt.Appendf(nil, demoTargets, url, turningURL, self)}
			code, err = m.run(ctx, hangups)
		})
	})
	return code, errors.Join(err, first, second)
}

const demoTargets = `version: v1
targets:
  - {name: demo over HTTP, type: mcp, endpoint: %q, monitor: {interval: 10s, tags: [demo]}}
  - {name: demo that changes, type: mcp, endpoint: %q, monitor: {interval: 10s, tags: [demo]}}
  - name: demo over stdio
    type: mcp
    endpoint: stdio://demo
    mcp: {transport: stdio, stdio: {command: %q, args: [` + demoServer + `, --stdio]}}
    monitor: {interval: 30s, tags: [demo]}
`

// run watches until ctx ends. To be asked to end while it starts is no error.
func (m *monitor) run(ctx context.Context, hangups <-chan struct{}) (int, error) {
	defer m.close()
	err := m.start(ctx)
	if err == nil {
		err = m.welcome(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return exitHealthy, nil
	case err != nil:
		return 0, err
	}
	return m.serve(ctx, hangups)
}

// start makes everything that serve needs. What it has made is closed by close.
func (m *monitor) start(ctx context.Context) error {
	var err error
	if m.listener, err = m.o.listening(ctx); err != nil {
		return err
	}
	if m.db, err = m.open(ctx, &m.o.databaseOptions); err != nil {
		return err
	}
	if m.file == nil {
		m.file = &servedFile{path: m.o.file()}
	}
	m.file.store, m.file.single, m.file.now = m.db.Store, m.o.url == "", time.Now
	m.file.changed() // before it is read
	if _, err := m.file.apply(ctx); err != nil {
		return err
	}
	m.people = people.New(m.db.People(), people.Options{PublicURL: m.o.publicURL, ProviderOnly: m.o.openid.noPasswords})
	m.alerts = alert.New(alert.Options{Policy: m.o.policy(), UserAgent: "mcpvigil/" + buildVersion(), PublicURL: m.o.publicURL})
	policy := m.o.policy()
	m.engine, err = engine.New(ctx, engine.Options{
		Store: m.db.Store, Alerts: m.alerts, FileTarget: m.file.target, Locations: m.o.locations,
		Client: probe.Client{Version: buildVersion()}, Policy: &policy, Logger: m.log, Workers: m.o.workers,
		PublicURL: m.o.publicURL, Retention: m.o.retention,
	})
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	return m.wire()
}

// wire makes the handler of all requests.
func (m *monitor) wire() error {
	operations := ops.New(ops.Deps{Store: m.db.Store, People: m.people, Engine: m.engine, TwoPersons: m.o.twoPersons})
	rest, err := api.New(api.Deps{Ops: operations, People: m.people, PublicURL: m.o.publicURL, Version: buildVersion(), Logger: m.log})
	if err != nil {
		return err
	}
	m.board = board.New(board.Options{Store: m.db.Store, Logger: m.log})
	provider, err := m.openID()
	if err != nil {
		return err
	}
	reports := cspreport.New(m.log, time.Now)
	pages, err := ui.New(ui.Deps{
		Ops: operations, People: m.people, Board: m.board, OpenID: provider, NoPasswordLogin: m.o.openid.noPasswords,
		PublicURL: m.o.publicURL, Version: buildVersion(), Logger: m.log, About: m.about(), Reports: reports,
	})
	if err != nil {
		return err
	}
	m.handler = server.New(server.Deps{
		Store: m.db.Store, Engine: m.engine, People: m.people, API: rest, Pages: pages, PolicyReports: reports.Count,
		MCP:         mcpserver.New(mcpserver.Deps{Ops: operations, Key: m.people.AuthenticateKey, Version: buildVersion(), Logger: m.log}),
		OpenMetrics: m.o.openMetrics, PublicURL: m.o.publicURL, TrustedProxies: m.o.proxies, Version: buildVersion(), Logger: m.log,
	})
	return nil
}

// about is what the pages say of how this process was started.
func (m *monitor) about() settings.About {
	return settings.About{Database: m.where(), Retention: m.o.retention, Locations: m.o.locations}
}

func (m *monitor) close() {
	if m.listener != nil {
		_ = m.listener.Close()
	}
	if m.alerts != nil {
		m.alerts.Close()
	}
	if m.db != nil {
		if err := m.db.Close(); err != nil {
			m.log.Error("the database could not be closed", "error", err)
		}
	}
}

// listening takes the address, and completes the public URL.
func (o *serveOptions) listening(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, hinted(fmt.Errorf("the address is in use: %s", o.listen), "end the program that listens there, or choose another with --listen HOST:PORT")
	case errors.Is(err, syscall.EACCES):
		return nil, hinted(fmt.Errorf("this user may not listen on %s", o.listen), "take a port of 1024 or more")
	case err != nil:
		return nil, hinted(fmt.Errorf("listen on %s: %w", plain.Line(o.listen, maxShown), err), "--listen takes an address of this machine, such as 127.0.0.1:8087 or :8087")
	}
	if o.publicURL == "" {
		port := 0
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			port = tcp.Port
		}
		o.publicURL = "http://localhost:" + strconv.Itoa(port)
	}
	return l, nil
}

// welcome says on one screen what is watched and where to look.
func (m *monitor) welcome(ctx context.Context) error {
	token, needed, err := m.people.SetupToken(ctx)
	if err != nil {
		return fmt.Errorf("look for the first account: %w", err)
	}
	w := m.stdout
	fmt.Fprintf(w, "mcpvigil %s watches %s\n\n", buildVersion(), m.watched())
	base := m.o.publicURL
	open := base
	if needed {
		open += "/setup?token=" + token
	}
	rows := [][2]string{
		{"Open", open},
		{"API", base + api.Prefix + "/openapi.json"},
		{"MCP", base + "/mcp"},
		{"Health", base + "/health"},
		{"Metrics", base + "/metrics"},
	}
	if !m.o.demo {
		rows = append(rows, [2]string{"Data", m.where()})
	}
	if m.db.keyPath != "" && !m.o.demo {
		kept := absolute(m.db.keyPath)
		if m.db.keyMade {
			kept += " (new: keep a copy apart from the data; without it, stored secrets are lost)"
		}
		rows = append(rows, [2]string{"Key", kept})
	}
	for _, r := range rows {
		fmt.Fprintf(w, "  %-9s%s\n", r[0], plain.Line(r[1], maxShown))
	}
	if needed {
		fmt.Fprintf(w, "\nThere is no account yet: the first address makes one, an administrator.\n")
	}
	if m.o.demo {
		fmt.Fprintf(w, "\nAfter a minute, one of the servers tells agents something else: see its review.\n")
	}
	if terminal(w) {
		fmt.Fprintf(w, "\nCtrl-C ends it.\n")
	}
	fmt.Fprintln(w)
	return w.err
}

func (m *monitor) watched() string {
	c := m.file.current.Load()
	if c == nil {
		return "what is made on its pages or through its API; there is no " + serveConfig
	}
	if m.o.demo {
		return counted(len(c.Monitors), "demo server")
	}
	return counted(len(c.Monitors), "server") + " of " + plain.Line(m.file.path, maxShown)
}

func (m *monitor) where() string {
	if m.o.url != "" {
		return weburl.RedactText(m.o.url)
	}
	return absolute(m.o.path())
}

// absolute is a path that means the same elsewhere, where that can be known.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// serve answers and checks until ctx ends or one of both fails.
func (m *monitor) serve(ctx context.Context, hangups <-chan struct{}) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if host, _ := splitListen(m.o.listen); !weburl.Loopback(host) && strings.HasPrefix(m.o.publicURL, "http:") {
		m.log.WarnContext(ctx, "passwords and keys are sent in the clear to this address: put a proxy with TLS in front, and name it with --public-url", "listen", m.o.listen)
	}
	web := &http.Server{
		Handler: m.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:    slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 2)
	go func() { ended <- m.engine.Run(ctx) }()
	go func() { ended <- ignoreClosed(web.Serve(m.listener)) }()
	go m.board.Run(ctx) // ends before requests have to: what is sent live goes on until then
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		m.file.follow(ctx, hangups, m.log)
	}()
	m.log.InfoContext(ctx, "watching", "listen", m.listener.Addr().String(), "locations", m.o.locations, "database", m.db.Dialect())
	var err error
	running := 2
	select {
	case <-ctx.Done():
	case err = <-ended:
		running--
		if err == nil && ctx.Err() == nil {
			err = errors.New("the monitor ended by itself")
		}
	}
	cancel()
	return m.stop(web, ended, running, followed, err)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop lets requests and checks end, within limits, and returns what ended the monitor.
func (m *monitor) stop(web *http.Server, ended <-chan error, running int, followed <-chan struct{}, cause error) (int, error) {
	limit, end := context.WithTimeout(context.Background(), stopTime)
	defer end()
	ctx, cancel := context.WithTimeout(limit, requestsTime)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		_ = web.Close()
	}
	for ; running > 0; running-- {
		select {
		case err := <-ended:
			if cause == nil && err != nil && !errors.Is(err, context.Canceled) {
				cause = err
			}
		case <-limit.Done():
			m.log.Warn("checks in flight did not end in time and are run again at the next start")
			running = 1
		}
	}
	for _, done := range []<-chan struct{}{followed, m.board.Done()} {
		select {
		case <-done:
		case <-limit.Done():
		}
	}
	if cause != nil {
		m.fail(fmt.Errorf("watch: %w", cause))
		return exitUnhealthy, nil
	}
	m.log.Info("stopped")
	return exitHealthy, nil
}

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/credential"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// loginOptions are the flags of login.
type loginOptions struct {
	timeout   time.Duration
	noBrowser bool
}

func (a *app) newLoginCommand() *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login [flags] [FILE] TARGET",
		Short: "Log in at a server in a browser, for checks to come",
		Long: `Log in at a target whose mcp.oauth has the grant authorization_code: print the
address of its authorization server, open a browser there if this machine has one,
and wait for the answer. It comes to a port of 127.0.0.1; where the browser runs on
another machine, paste the address that it ends at, and press Enter. The tokens go
into the target's token_file and nowhere else, and checks renew them from then on.
Without FILE, ./mcpvigil.yaml is read.

EXIT STATUS
  0  logged in, and the tokens are in the file
  2  the login was denied, cancelled or not finished in time, or is set up wrongly:
     the configuration, the port of the callback, the token file
  4  the authorization server could not be asked`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
			names, _ := completeTargets(cmd, args, part)
			if len(args) > 0 {
				return names, cobra.ShellCompDirectiveNoFileComp
			}
			return names, cobra.ShellCompDirectiveDefault
		},
	}
	grouped(cmd.Flags(), groupOther, func() {
		cmd.Flags().Var(span{&o.timeout}, "timeout", "time to log in (default 5m)")
		cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "only print the address")
	})
	cmd.RunE = a.runE(func(ctx context.Context, _ *given, args []string) (int, error) { return a.runLogin(ctx, &o, args) })
	return cmd
}

func (a *app) runLogin(ctx context.Context, o *loginOptions, args []string) (int, error) {
	t, err := loginTarget(args)
	if err != nil {
		return 0, err
	}
	cfg, err := loginConfig(ctx, t)
	if err != nil {
		return 0, err
	}
	cfg.Timeout = o.timeout
	a.waiting.Store(true) // a code that is being exchanged is not dropped
	defer a.waiting.Store(false)
	login, err := access.StartLogin(ctx, cfg)
	if err != nil {
		return a.loginFailed(err)
	}
	defer login.Close()
	a.invite(login, o)
	result, err := a.await(ctx, login)
	if err != nil {
		return a.loginFailed(err)
	}
	a.loggedIn(t, result)
	return exitHealthy, nil
}

// loginTarget finds the target that the arguments name.
func loginTarget(args []string) (*target.Target, error) {
	var file, name string
	switch len(args) {
	case 1:
		name = args[0]
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return nil, usageErrorf("no target was named", name).hint("give its name after the file: mcpvigil login %s TARGET", plain.Line(name, maxShown))
		}
	case 2:
		file, name = args[0], args[1]
	default:
		return nil, usageErrorf(fmt.Sprintf("login takes a file and a target, not %s", counted(len(args), "argument")), "")
	}
	if file == "" {
		for _, path := range defaultFiles() {
			if _, err := os.Stat(path); err == nil {
				file = path
				break
			}
		}
	}
	if file == "" {
		return nil, usageErrorf("no file was given, and there is no mcpvigil.yaml here", "")
	}
	if clientFile(file) {
		return nil, hinted(fmt.Errorf("not a configuration of mcpvigil: %s", file), "write the target into mcpvigil.yaml, with mcp.oauth")
	}
	f, err := config.Load(file)
	if err != nil {
		return nil, explainFile(file, err)
	}
	t, err := config.Select(f, name)
	if err != nil {
		return nil, err
	}
	return t, logsIn(t)
}

// logsIn reports why a person cannot log in at t.
func logsIn(t *target.Target) error {
	switch {
	case t.OAuth == nil:
		return hinted(fmt.Errorf("the target %s has no login", t.Label()), "give it mcp.oauth with grant: authorization_code")
	case t.OAuth.Grant != target.AuthorizationCode:
		return hinted(fmt.Errorf("the grant %s of %s needs no login", t.OAuth.Grant, t.Label()), "run the check; for a login of a person write grant: authorization_code")
	}
	if p := t.Validate(); p != nil {
		return hinted(errors.New(p.Text), "%s", p.Hint)
	}
	return nil
}

// loginConfig is how to log in at t: by the network, the trust and the secrets
// that its checks have.
func loginConfig(ctx context.Context, t *target.Target) (access.LoginConfig, error) {
	endpoint, err := url.Parse(t.Endpoint)
	if err != nil {
		return access.LoginConfig{}, errors.New("the endpoint is not a URL") // what it is may hold a secret
	}
	network, _, problem := credential.Network(t.TLS)
	if problem != nil {
		return access.LoginConfig{}, hinted(errors.New(problem.Text), "%s", problem.Hint)
	}
	redact := plain.NewRedactor()
	grant, problem := credential.Grant(ctx, t.OAuth, redact)
	if problem != nil {
		return access.LoginConfig{}, hinted(errors.New(problem.Text), "%s", problem.Hint)
	}
	agent := fmt.Sprintf("mcpvigil/%s (+https://github.com/mcpvigil/mcpvigil)", buildVersion())
	return access.LoginConfig{
		RedirectPort: t.OAuth.RedirectPort,
		SourceConfig: access.SourceConfig{
			Grant: grant, Endpoint: endpoint,
			HTTP:    access.HTTP{Transport: credential.NewTransport(endpoint, network), UserAgent: agent, ProtocolVersion: wire.Rev20260728, Redact: redact},
			Refusal: refusal(t, wire.HTTPConfig{URL: endpoint, UserAgent: agent, Net: network}, redact),
		},
	}, nil
}

// refusal asks t without a credential, as the first thing that a client does.
func refusal(t *target.Target, peer wire.HTTPConfig, redact *plain.Redactor) func(context.Context) (int, []string) {
	var p wire.Peer = peer
	if t.Kind() == target.SSE {
		p = wire.SSEConfig(peer)
	}
	return func(ctx context.Context) (int, []string) {
		ctx, cancel := context.WithTimeout(ctx, probe.DefaultCheckTimeout)
		defer cancel()
		status, challenges, _ := wire.AskAnonymously(ctx, p, wire.Config{
			Client: wire.Implementation{Name: "mcpvigil", Version: buildVersion()},
			Limits: wire.Limits{ResponseBytes: probe.DefaultResponseBytes, Pages: probe.DefaultPages, Entries: probe.DefaultEntries},
			Budget: probe.DefaultCheckTimeout, Redact: redact, Log: wire.NewLog(redact),
		})
		return status, challenges
	}
}

// invite says where to go. The address is what the command was asked for; what
// to do with it is talk.
func (a *app) invite(login *access.Login, o *loginOptions) {
	address := login.URL()
	opened := !o.noBrowser && terminal(a.stdout) && a.openBrowser(address)
	if opened {
		a.warn("a browser was opened; if none appears, go to the address below")
	} else {
		a.warn("to log in, open this address in a browser:")
	}
	fmt.Fprintln(a.stdout, plain.Line(address, maxAddress))
	a.warn("waiting for the answer at %s", login.RedirectURI())
	a.warn("if the browser is on another machine, paste the address that it ends at here, and press Enter")
}

const maxAddress = 16 << 10

// await waits for the browser, a pasted address, or the end of ctx.
func (a *app) await(ctx context.Context, login *access.Login) (access.LoginResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		result access.LoginResult
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := login.Wait(ctx)
		done <- outcome{result, err}
	}()
	pasted := lines(ctx, a.stdin)
	for {
		select {
		case got := <-done:
			return got.result, got.err
		case line, open := <-pasted:
			if !open {
				pasted = nil // standard input has ended; the browser may still answer
				continue
			}
			err := login.Paste(line)
			if err == nil {
				continue
			}
			if final(err) {
				cancel()
				<-done
				return access.LoginResult{}, err
			}
			a.fail(explainAccess(err))
		}
	}
}

// final tells a pasted answer that no other can follow.
func final(err error) bool {
	switch access.ReasonOf(err) {
	case access.ReasonLoginDenied, access.ReasonLoginRefused, access.ReasonLoginIssuer:
		return true
	}
	return false
}

// lines hands on what is typed. Nothing can end a read of a terminal, so its
// goroutine ends with its input, with the first line after ctx, or with the
// process.
func lines(ctx context.Context, r io.Reader) <-chan string {
	out := make(chan string)
	if r == nil {
		return nil
	}
	go func() {
		defer close(out)
		in := bufio.NewScanner(r)
		in.Buffer(nil, 8*maxAddress)
		for in.Scan() {
			if strings.TrimSpace(in.Text()) == "" {
				continue
			}
			select {
			case out <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// openBrowser starts the browser of the desktop, if this process has one.
func (a *app) openBrowser(address string) bool {
	argv := browser(runtime.GOOS, func(name string) bool { v, _ := a.lookup(name); return v != "" })
	if u, err := url.Parse(address); argv == nil || err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return false
	}
	// It outlives the login, so no context ends it.
	cmd := exec.Command(path, append(argv[1:], address)...) //nolint:noctx // see above
	if cmd.Start() != nil {
		return false
	}
	return cmd.Process.Release() == nil
}

// browser is the program that opens an address on a desktop, or nil where there
// is none. set tells whether a variable is.
func browser(system string, set func(string) bool) []string {
	switch {
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case set("SSH_CONNECTION") && !set("DISPLAY"):
		return nil // the desktop is that of another person
	case system == "darwin":
		return []string{"open"}
	case set("DISPLAY"), set("WAYLAND_DISPLAY"):
		return []string{"xdg-open"}
	}
	return nil
}

// loginFailed is the exit code for err, which is told here if it is no mistake
// of the user's.
func (a *app) loginFailed(err error) (int, error) {
	if e := (*access.Error)(nil); errors.As(err, &e) && e.Unknown {
		a.fail(explainAccess(err))
		return exitUnknown, nil
	}
	return 0, explainAccess(err)
}

// explainAccess gives an error of internal/access its hint.
func explainAccess(err error) error {
	e := (*access.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	out := &userError{err: errors.New(e.Text)} // its cause is not safe to show
	if e.Hint != "" {
		out.hints = []string{e.Hint}
	}
	return out
}

func (a *app) loggedIn(t *target.Target, r access.LoginResult) {
	name := plain.Line(t.Label(), maxShown)
	until := r.Expires.UTC().Format("2006-01-02 15:04 MST")
	then := "then log in again, since the server gave no refresh token"
	if r.Renewable {
		then = "then renewed by checks"
	}
	fmt.Fprintf(a.stdout, "logged in: %s, until %s, %s; the file is %s\n", name, until, then, plain.Line(r.TokenFile, maxShown))
}

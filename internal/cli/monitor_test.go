package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/config"
)

// monitorCommands are those of scripts that run a monitor.
func monitorCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// until URL|FILE REGEXP waits until what is there matches.
		"until": func(ts *testscript.TestScript, _ bool, args []string) {
			want, last := regexp.MustCompile(args[1]), ""
			for range 900 {
				if last = content(ts, args[0]); want.MatchString(last) {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			ts.Fatalf("%s never holds %s:\n%s", args[0], args[1], last)
		},
		// apikey VARIABLE URL FILE makes the first account with the token that FILE
		// shows, and an API key.
		"apikey": func(ts *testscript.TestScript, _ bool, args []string) {
			token := regexp.MustCompile(`/setup\?token=([A-Za-z0-9_-]+)`).FindStringSubmatch(ts.ReadFile(args[2]))
			if token == nil {
				ts.Fatalf("no token is shown")
			}
			jar, err := cookiejar.New(nil)
			ts.Check(err)
			client := &http.Client{Jar: jar}
			const password = "correct horse battery staple"
			post(ts, client, args[1]+"/setup", map[string]string{"token": token[1], "name": "ann", "password": password})
			post(ts, client, args[1]+"/session", map[string]string{"name": "ann", "password": password})
			answer := post(ts, client, args[1]+"/keys", map[string]string{"name": "script", "role": "editor", "password": password})
			key := regexp.MustCompile(`mvk_[A-Za-z0-9_-]+`).FindString(answer)
			if key == "" {
				ts.Fatalf("no key: %s", answer)
			}
			ts.Setenv(args[0], key)
		},
	}
}

func content(ts *testscript.TestScript, place string) string {
	if !strings.Contains(place, "://") {
		data, _ := os.ReadFile(ts.MkAbs(place))
		return string(data)
	}
	answer, err := http.Get(place)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func post(ts *testscript.TestScript, client *http.Client, url string, body any) string {
	data, err := json.Marshal(body)
	ts.Check(err)
	answer, err := client.Post(url, "application/json", bytes.NewReader(data))
	ts.Check(err)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= 300 {
		ts.Fatalf("%s: %d %s", url, answer.StatusCode, text)
	}
	return string(text)
}

// TestChannelTypes: the types that a file may name are those that are delivered to.
func TestChannelTypes(t *testing.T) {
	var types []string
	for _, typ := range alert.Types() {
		types = append(types, typ.Name)
	}
	want := slices.Sorted(slices.Values(types))
	if got := slices.Sorted(slices.Values(config.ChannelTypes())); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestServeFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--listen nonsense":                          "--listen is not an address",
		"--listen 127.0.0.1:99999":                   "--listen is not an address",
		"--location eu":                              "--location is for a PostgreSQL database",
		"--location _x":                              "not the name of a location",
		"--public-url ftp://x":                       "--public-url is not an address",
		"--trusted-proxy 0.0.0.0/0":                  "--trusted-proxy is everybody",
		"--trusted-proxy proxy.example.com":          "not an address or a network",
		"--public-url https://x/path":                "--public-url is not an address",
		"--allow-address 10.0.0":                     "not an address or a network",
		"--keep-results 5":                           "not a time of an hour or more",
		"--keep-results 2s":                          "not a time of an hour or more",
		"--keep-events 1x":                           "not a time of an hour or more",
		"--log-format xml":                           "not one of text, json",
		"--workers 0":                                "not a whole number from 1",
		"--demo --config x.yaml":                     "exclude each other",
		"--data=":                                    "--data is empty",
		"--oidc-client-id a":                         "--oidc-issuer is missing",
		"--no-password-login":                        "--oidc-issuer is missing",
		"--oidc-issuer https://x":                    "--oidc-client-id is missing",
		"--oidc-issuer https://x --oidc-client-id a": "nobody of the OpenID provider has a role",
		"--oidc-role ops=root":                       "not GROUP=ROLE",
		"--oidc-role =admin":                         "not GROUP=ROLE",
		"--database=":                                "--database is empty",
		"--database mysql://u:hunter2@x/y":           "the database URL cannot be read",
		"--database postgres://u:hunter2@:x/y":       "the database URL cannot be",
		"extra":                                      "extra",
	} {
		t.Chdir(t.TempDir())
		code, stdout, stderr := runMain(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if code != exitMisconfigured || !strings.Contains(stderr, want) || !strings.Contains(stderr, "hint: ") && !strings.Contains(stderr, "database URL") || stdout != "" || strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestPeriods(t *testing.T) {
	for text, want := range map[string]string{"36h": "36h0m0s", "30d": "720h0m0s", "forever": "forever"} {
		var d time.Duration
		if err := (period{&d}).Set(text); err != nil || (period{&d}).String() != want {
			t.Errorf("%s: %v %v", text, d, err)
		}
	}
}

// TestHangup: SIGHUP is for a command that asks for it, once however often it comes.
func TestHangup(t *testing.T) {
	a := &app{}
	if a.hungUp(sighup()) {
		t.Error("nobody reads files again")
	}
	c := make(chan struct{}, 1)
	a.hangups.Store(&c)
	for range 2 {
		if !a.hungUp(sighup()) {
			t.Error("it ends the command")
		}
	}
	if len(c) != 1 || a.hungUp(os.Interrupt) {
		t.Errorf("the channel holds %d", len(c))
	}
}

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var listening = regexp.MustCompile(`^listening (\d+)$`)

// newProvider runs the OpenID provider of test/authserver until the test ends, and
// returns its issuer.
func newProvider(t testing.TB, settings map[string]any) string {
	t.Helper()
	dir := filepath.Join("..", "authserver")
	node, err := filepath.Abs("../../.tools/bin/node22")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{node, filepath.Join(dir, "node_modules", "oidc-provider")} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s is missing: run make test-deps", file)
		}
	}
	line, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "server.mjs")
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe() // it ends with this process, whatever happens
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(stdin, "%s\n", line); err != nil {
		t.Fatal(err)
	}
	port, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var said []string
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
			}
			said = append(said, lines.Text())
		}
		ended <- strings.Join(said, "\n")
	}()
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		if said := <-ended; t.Failed() {
			t.Logf("the provider said:\n%s", said)
		}
		_ = cmd.Wait()
	})
	select {
	case n := <-port:
		return "http://127.0.0.1:" + n
	case said := <-ended:
		ended <- ""
		t.Fatalf("the provider ended before it listened:\n%s", said)
	case <-time.After(time.Minute):
		t.Fatal("the provider does not listen after a minute")
	}
	return ""
}

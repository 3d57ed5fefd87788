package access

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// child is what another process of a test does; its arguments are variables.
func child(mode string) int {
	file := tokenFile{path: os.Getenv("CHILD_FILE"), hint: "hint"}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch mode {
	case "token":
		endpoint, err := url.Parse(os.Getenv("CHILD_ENDPOINT"))
		if err != nil {
			return 2
		}
		issuer := strings.TrimSuffix(endpoint.String(), "/mcp")
		s, err := NewSource(SourceConfig{
			Grant:    Grant{Kind: AuthorizationCode, Issuer: issuer, ClientID: "c", TokenFile: file.path},
			Endpoint: endpoint,
		})
		if err != nil {
			fmt.Println(err)
			return 2
		}
		token, err := s.Token(ctx)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Print(token.Reveal())
	case "write":
		for i := 0; ; i++ {
			if problem := write(ctx, file, sample(strings.Repeat(string(rune('a'+i%26)), 3000))); problem != nil {
				fmt.Println(problem)
				return 1
			}
		}
	case "load":
		if _, problem := file.load(); problem != nil {
			fmt.Print(problem.Text)
		}
	case "save":
		if problem := write(ctx, file, sample("a")); problem != nil {
			fmt.Print(problem.Text)
		}
	default:
		return 2
	}
	return 0
}

func write(ctx context.Context, f tokenFile, s *saved) *Error {
	h, problem := f.hold(ctx)
	if problem != nil {
		return problem
	}
	defer h.release()
	return h.save(s)
}

// command prepares a child.
func command(t *testing.T, mode, file string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, childVariable+"="+mode, "CHILD_FILE="+file)...)
	return cmd
}

// sample is a saved token.
func sample(access string) *saved {
	return &saved{
		access: access, refresh: access, expires: time.Unix(1_900_000_000, 0).UTC(),
		issuer: "https://as.example", resource: endpoint, clientID: "c", scopes: []string{"read"},
	}
}

package deploy

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnit: the unit says what it should, and systemd takes it where it is there.
func TestUnit(t *testing.T) {
	path := filepath.Join(top, "deploy/systemd/mcpvigil.service")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	settings, section := map[string]string{}, ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line
		case !assigned || section == "" || strings.TrimSpace(name) != name:
			t.Errorf("line %d is no setting: %s", n, line)
		default:
			settings[section+name] = value
		}
	}
	for name, want := range map[string]string{
		"[Service]DynamicUser": "yes", "[Service]ProtectSystem": "strict", "[Service]NoNewPrivileges": "yes", "[Service]CapabilityBoundingSet": "",
		"[Service]StateDirectory": "mcpvigil", "[Install]WantedBy": "multi-user.target", "[Service]ExecReload": "/bin/kill -HUP $MAINPID",
	} {
		if got, ok := settings[name]; !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if run := settings["[Service]ExecStart"]; !strings.HasPrefix(run, "/usr/local/bin/mcpvigil serve --data /var/lib/mcpvigil ") {
		t.Errorf("it runs %s", run)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd is not here")
		return
	}
	// It also wants the program to be there.
	unit := filepath.Join(t.TempDir(), "mcpvigil.service")
	data = bytes.ReplaceAll(data, []byte("/usr/local/bin/mcpvigil"), []byte("/bin/true"))
	if err := os.WriteFile(unit, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

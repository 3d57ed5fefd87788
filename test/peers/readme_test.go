package peers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// row is one line of README.md's table of measurements.
type row struct {
	discover, revision, replies, session string
	counts                               [4]string // tools, resources, templates, prompts
}

// readTable reads the measurements that README.md claims, by name of the peer.
func readTable(t *testing.T) map[string]row {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| peer | answer to `server/discover` | revision | replies | session | tools | resources | templates | prompts |"
	_, table, ok := strings.Cut(string(data), head+"\n")
	if !ok {
		t.Fatalf("README.md has no table that begins with %s", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]row{}
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 9 || rows[cells[0]].revision != "" {
			t.Fatalf("README.md: %q is no row, or is there twice", line)
		}
		rows[cells[0]] = row{cells[1], cells[2], cells[3], cells[4], [4]string(cells[5:9])}
	}
	return rows
}

// shown is a count as the table has it: a dash for what is not offered.
func shown(count *int) string {
	if count == nil {
		return "-"
	}
	return fmt.Sprint(*count)
}

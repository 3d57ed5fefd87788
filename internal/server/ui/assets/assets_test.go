package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVendored: the vendored files are those that were taken, byte for byte.
func TestVendored(t *testing.T) {
	sums, err := os.ReadFile("lib/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = sum
	}
	names, err := filepath.Glob("lib/*.[cj]s*")
	if err != nil || len(names) != len(known) {
		t.Fatalf("%d files, %d sums: %v", len(names), len(known), err)
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]); got != known[filepath.Base(name)] {
			t.Errorf("%s has the sum %s, want %s", name, got, known[filepath.Base(name)])
		}
	}
}

package alert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDocs: the tables and examples of the manual are those of the code.
func TestDocs(t *testing.T) {
	const path = "../../docs/channels.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for name, text := range map[string]string{"channels": channelTables(), "body": exampleBody(t), "signed": exampleSignature(t)} {
		between := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- /` + name + ` -->)`)
		if !between.MatchString(want) {
			t.Fatalf("%s has no place for %s", path, name)
		}
		want = between.ReplaceAllStringFunc(want, func(s string) string {
			m := between.FindStringSubmatch(s)
			return m[1] + text + m[2]
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("%s is stale (go test ./internal/alert -run Docs -update): -want +got\n%s", path, diff)
	}
}

func channelTables() string {
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace
	var b strings.Builder
	for _, k := range Types() {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| setting | required | secret | what it is | example |\n|---|---|---|---|---|\n", k.Name, k.Doc)
		for _, f := range k.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", f.Name, yes(f.Required), yes(f.Secret), cell(f.Doc), strings.ReplaceAll(f.Example, "|", `\|`))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// exampleBody is what a receiver of the test got for the example.
func exampleBody(t *testing.T) string {
	rc := newReceiver(t, nil)
	if _, err := newSender(t, Options{}).Send(t.Context(), fileChannel("webhook", map[string]string{"url": rc.URL}), exampleMessage()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, rc.last(t).Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return "```json\n" + b.String() + "\n```\n"
}

// exampleSignature is a request that a reader can try a verification on.
func exampleSignature(t *testing.T) string {
	body := `{"type":"incident.test"}`
	at := time.Unix(1773480414, 0)
	header := signature(signing, "test/hook/1773480413000", at, []byte(body))
	r := received{Body: []byte(body), Header: http.Header{
		"Webhook-Id": {"test/hook/1773480413000"}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {header},
	}}
	if err := verify(signing, r, at); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("```text\nsecret             %s\nwebhook-id         %s\nwebhook-timestamp  %d\nwebhook-signature  %s\nbody               %s\n```\n",
		signing, r.Header.Get("webhook-id"), at.Unix(), header, body)
}

package probe

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/reasons.md")

const reasonsHeader = `# Reasons

Every step that is not healthy, and every note, carries one of these codes. They are
stable: a code is never given another meaning within a major version. The verdict
"note" changes no status. The error code is that of mcp-healthcheck.

| reason | verdict | error code | what it means | what to do |
|---|---|---|---|---|
`

// The table in the documentation is printed from the one in the code.
func TestReasonsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(reasonsHeader)
	for _, r := range Reasons() {
		verdict, code := string(r.Status), "`"+r.Code+"`"
		if r.Code == "" {
			verdict, code = "note", ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Reason, verdict, code, r.Text, r.Hint)
	}
	const path = "../docs/reasons.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("docs/reasons.md is stale (go test ./probe -run Reasons -update): -want +got\n%s", diff)
	}
}

func TestReasonsAreComplete(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-zA-Z0-9]+)*$`)
	for _, r := range Reasons() {
		if !kebab.MatchString(string(r.Reason)) || r.Text == "" || r.Hint == "" || r.Status == "" {
			t.Errorf("%s: name %t, text %q, hint %q, status %q", r.Reason, kebab.MatchString(string(r.Reason)), r.Text, r.Hint, r.Status)
		}
		if (r.Code == "") != (r.Status == StatusHealthy) {
			t.Errorf("%s: a note, and nothing else, has no error code", r.Reason)
		}
	}
}

// Every reason that the layers below can give is in the table.
func TestReasonsOfTheLayersAreKnown(t *testing.T) {
	found := 0
	for _, dir := range []string{"../internal/wire", "../internal/netguard", "../internal/access", "../target", "../internal/config"} {
		for reason, where := range reasonLiterals(t, dir) {
			found++
			if infoOf(Reason(reason)).Text == "" {
				t.Errorf("%s: the reason %q is not in the table", where, reason)
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d reasons were found in the code: does this test still see them?", found)
	}
}

// Every reason in the table stands somewhere in the code that can give it.
func TestReasonsAreGiven(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"*.go", "../internal/wire/*.go", "../internal/netguard/*.go", "../internal/access/*.go", "../target/*.go", "../internal/config/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || name == "reasons.go" {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
	}
	for _, r := range Reasons() {
		if !given(code.String(), string(r.Reason)) {
			t.Errorf("nothing gives the reason %q", r.Reason)
		}
	}
}

// given reports whether a reason's literal, a constant of this package, or a
// part that the wire completes stands in the code.
func given(code, reason string) bool {
	for _, suffix := range []string{"-not-array", "-entry-invalid"} {
		if strings.HasSuffix(reason, suffix) {
			return true
		}
	}
	if stem, ok := strings.CutPrefix(reason, "duplicate-"); ok && stem != "member" {
		return true
	}
	if strings.Contains(code, strconv.Quote(reason)) {
		return true
	}
	for name, value := range ownReasons {
		if string(value) == reason && strings.Contains(code, name) {
			return true
		}
	}
	return false
}

var ownReasons = map[string]Reason{
	"reasonInternal": reasonInternal, "reasonUnknownPin": reasonUnknownPin, "reasonUnreadableSecret": reasonUnreadableSecret, "reasonSlow": reasonSlow,
	"reasonTooFew": reasonTooFew, "reasonTooMany": reasonTooMany, "reasonRequiredMissing": reasonRequiredMissing, "reasonToolSchema": reasonToolSchema,
	"reasonCapabilityMismatch": reasonCapabilityMismatch, "reasonOldRevision": reasonOldRevision, "reasonAuthNotAdvertised": reasonAuthNotAdvertised,
	"reasonCertificateExpiring": reasonCertificateExpiring, "reasonUnsafeTool": reasonUnsafeTool, "reasonInvalidCall": reasonInvalidCall,
	"reasonCallInterrupted": reasonCallInterrupted, "reasonContentInvalid": reasonContentInvalid, "reasonToolError": reasonToolError,
	"reasonTLSFiles": reasonTLSFiles, "reasonTokenExpired": reasonTokenExpired, "reasonTokenExpiring": reasonTokenExpiring,
	"reasonWrongAudience": reasonWrongAudience, "reasonNotProven": reasonNotProven,
	"reasonOutputSchema": reasonOutputSchema, "reasonSchemaLimit": reasonSchemaLimit, "reasonCustomCheck": reasonCustomCheck, "reasonDependency": reasonDependency,
}

// prefixes are constants that the wire completes: "tools-" + "not-array".
var prefixes = map[string]bool{"not-array": true, "entry-invalid": true}

// reasonLiterals returns the string literals of a package that are given as a
// reason: constants and fields called Reason, and the first argument of Note,
// failf and problem.
func reasonLiterals(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	take := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && !prefixes[s] && s != "" && !strings.HasSuffix(s, "-") {
			out[s] = fset.Position(lit.Pos()).String()
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			inspectReason(n, take)
			return true
		})
	}
	return out
}

func inspectReason(n ast.Node, take func(ast.Expr)) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) && strings.HasPrefix(strings.ToLower(name.Name), "reason") {
				take(n.Values[i])
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Reason" {
			take(n.Value)
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if len(n.Args) > 1 && (name == "Note" || name == "note" || name == "failf" || name == "problem") {
			take(n.Args[0])
		}
	}
}

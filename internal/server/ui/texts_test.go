package ui_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

// said is a text of a page, with how many things are put into it; -1: that is not known.
type said struct {
	text, at string
	things   int
}

// texts are all texts that pages say, and every string that stands in their code.
type texts struct {
	said     []said
	literals map[string]bool
	fset     *token.FileSet
}

// readTexts reads the code below some folders, as it was generated from templates too.
// What other layers call things is looked up by the pages, and is no text that they say.
func readTexts(t *testing.T, folders ...string) *texts {
	t.Helper()
	x := &texts{literals: map[string]bool{}, fset: token.NewFileSet()}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(x.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, x.see)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x *texts) see(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, ok := literal(n); ok {
			x.literals[text] = true
		}
	case *ast.BinaryExpr:
		if text, ok := literal(n); ok {
			x.literals[text] = true
		}
	case *ast.CallExpr:
		x.call(n)
	}
	return true
}

// call notes the texts of lang.T(ctx, …), lang.N(ctx, n, …) and q.T(…).
func (x *texts) call(n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	of, _ := f.X.(*ast.Ident)
	if of == nil {
		return
	}
	switch {
	case of.Name == "lang" && f.Sel.Name == "T" && len(n.Args) >= 2:
		x.say(n, n.Args[1], len(n.Args)-2)
	case of.Name == "lang" && f.Sel.Name == "N" && len(n.Args) >= 4:
		x.say(n, n.Args[2], len(n.Args)-3)
		x.say(n, n.Args[3], len(n.Args)-3)
	case of.Name == "q" && f.Sel.Name == "T" && len(n.Args) >= 1:
		x.say(n, n.Args[0], len(n.Args)-1)
	}
}

func (x *texts) say(n *ast.CallExpr, e ast.Expr, things int) {
	if n.Ellipsis.IsValid() {
		things = -1
	}
	if text, ok := literal(e); ok {
		x.said = append(x.said, said{text: text, at: x.fset.Position(e.Pos()).String(), things: things})
	}
}

// literal is the string of an expression of literals.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, also := literal(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "", false
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// verbs are what a text takes: each thing by its number and its verb, in order.
func verbs(text string) []string {
	var out []string
	next := 1
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		if m[2] == "%" {
			continue
		}
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		if one := strconv.Itoa(next) + m[2]; !slices.Contains(out, one) {
			out = append(out, one)
		}
		next++
	}
	slices.Sort(out)
	return out
}

// german are the catalogues, and the file of each text.
func german(t *testing.T) (texts, files map[string]string) {
	t.Helper()
	texts, files = map[string]string{}, map[string]string{}
	paths, err := filepath.Glob("lang/catalog/de/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no catalogue: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		part := map[string]string{}
		if err := json.Unmarshal(data, &part); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for english, own := range part {
			if before, there := texts[english]; there && before != own {
				t.Errorf("%q is %q in %s and %q in %s", english, before, files[english], own, path)
			}
			texts[english], files[english] = own, path
		}
	}
	return texts, files
}

// TestTexts: every text of the pages has German, which takes the same things, and none of
// the German is of no use.
func TestTexts(t *testing.T) {
	de, files := german(t)
	pages := readTexts(t, ".")
	if len(pages.said) < 100 {
		t.Fatalf("only %d texts were found", len(pages.said))
	}
	for _, s := range pages.said {
		if de[s.text] == "" {
			t.Errorf("%s: %q has no German", s.at, s.text)
		}
		if takes := verbs(s.text); s.things >= 0 && len(takes) != s.things && strings.Contains(s.text+strings.Repeat("%", s.things), "%") {
			t.Errorf("%s: %q takes %d things and is given %d", s.at, s.text, len(takes), s.things)
		}
	}
	for _, kind := range alert.Types() {
		docs := []string{kind.Doc}
		for _, f := range kind.Fields {
			docs = append(docs, f.Doc)
		}
		for _, doc := range docs {
			if de[doc] == "" {
				t.Errorf("channels of type %s: %q has no German", kind.Name, doc)
			}
		}
	}
	all := readTexts(t, ".", "../ops", "../openid", "../../alert", "../../watch", "../../people", "../../../probe", "../../../lint", "../../../surface", "../../../baseline")
	for english, own := range de {
		// What is not there is put into a text, by the one place where all lookups end.
		what, put := strings.CutPrefix(english, "there is no such ")
		if !all.literals[english] && !(put && all.literals[what]) {
			t.Errorf("%s: nothing says %q", files[english], english)
		}
		if a, b := verbs(english), verbs(own); !slices.Equal(a, b) {
			t.Errorf("%s: %q takes %v, its German %v", files[english], english, a, b)
		}
	}
}

// refusals are the constant texts of refusals: of refuse(code, hint, text), of Text and
// Hint in literals of Error and Problem, and of the errors of package people that package
// ops shows as they are.
type refusals struct {
	texts []string
	shown map[string]bool // names of such errors
}

func (r *refusals) see(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "refuse" && len(n.Args) > 2 {
			r.add(n.Args[1])
			r.add(n.Args[2])
		}
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Error" {
			if of, ok := f.X.(*ast.SelectorExpr); ok {
				r.shown[of.Sel.Name] = true
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Text" || key.Name == "Hint") {
			r.add(n.Value)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if call, ok := at(n.Values, i).(*ast.CallExpr); ok && r.shown[name.Name] && len(call.Args) == 1 {
				r.add(call.Args[0])
			}
		}
	}
	return true
}

func at(list []ast.Expr, i int) ast.Expr {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (r *refusals) add(e ast.Expr) {
	if text, ok := literal(e); ok && text != "" && len(verbs(text)) == 0 {
		r.texts = append(r.texts, text)
	}
}

// TestRefusals: what is refused is said in German too, where it is always the same.
func TestRefusals(t *testing.T) {
	de, _ := german(t)
	r := refusals{shown: map[string]bool{}}
	for _, folder := range []string{"../ops", "../../people"} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, r.see)
		}
	}
	if len(r.texts) < 80 {
		t.Fatalf("only %d texts were found", len(r.texts))
	}
	for _, what := range []string{"monitor", "incident", "surface", "channel", "policy", "window", "status page", "proposal"} {
		r.texts = append(r.texts, "there is no such "+what)
	}
	for _, text := range r.texts {
		if de[text] == "" {
			t.Errorf("%q has no German", text)
		}
	}
	page := uitest.New(t).Get("viewer", "/nothing-of-the-kind", "Accept-Language", "de")
	if !strings.Contains(page.Body, de["there is nothing at this address"]) {
		t.Errorf("a page does not say it: %s", page.Body)
	}
}

func TestVerbs(t *testing.T) {
	for text, want := range map[string]string{
		"none, 100 %%": "", "%d of %s": "1d 2s", "%[2]s of %[1]d": "1d 2s", "%.1f %%": "1f", "%q %[1]q": "1q",
	} {
		if got := strings.Join(verbs(text), " "); got != want {
			t.Errorf("%q takes %q, want %q", text, got, want)
		}
	}
}

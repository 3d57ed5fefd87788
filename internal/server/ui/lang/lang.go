// Package lang says the texts of the pages in the language of who reads them.
//
// A text is known by its English form, as it stands in the templates, with %s and %d
// for what is put into it. What a catalogue does not have is shown in English.
package lang

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

//go:embed catalog/*/*.json
var catalogs embed.FS

// Cookie holds the language that a person chose.
const Cookie = "mcpvigil_language"

// Language is one that the pages can be read in.
type Language struct {
	// Tag is that of BCP 47, such as de; Name is what it calls itself.
	Tag, Name string
	texts     map[string]string
}

// Languages are all languages, and how one is chosen.
type Languages struct {
	all     []*Language
	matcher language.Matcher
}

// names are what languages call themselves; the first is the one of the templates.
var names = [][2]string{{"en", "English"}, {"de", "Deutsch"}}

// Load reads the catalogues.
func Load() (*Languages, error) {
	l := &Languages{}
	var tags []language.Tag
	for _, name := range names {
		one := &Language{Tag: name[0], Name: name[1]}
		if name != names[0] {
			if err := one.read(); err != nil {
				return nil, fmt.Errorf("read the language %s: %w", name[0], err)
			}
		}
		l.all = append(l.all, one)
		tags = append(tags, language.MustParse(name[0]))
	}
	l.matcher = language.NewMatcher(tags)
	return l, nil
}

// read joins the catalogues of the language, one for each area of the pages.
func (l *Language) read() error {
	files, err := fs.Glob(catalogs, path.Join("catalog", l.Tag, "*.json"))
	if err != nil {
		return err
	}
	l.texts = map[string]string{}
	for _, file := range files {
		text, err := catalogs.ReadFile(file)
		if err != nil {
			return err
		}
		part := map[string]string{}
		if err := json.Unmarshal(text, &part); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(l.texts, part)
	}
	return nil
}

// All are the languages there are.
func (l *Languages) All() []*Language { return slices.Clone(l.all) }

// Of is the language for a request: the one that was chosen, or the best of those that
// the browser names.
func (l *Languages) Of(r *http.Request) *Language {
	if cookie, err := r.Cookie(Cookie); err == nil {
		if i := slices.IndexFunc(l.all, func(one *Language) bool { return one.Tag == cookie.Value }); i >= 0 {
			return l.all[i]
		}
	}
	_, i := language.MatchStrings(l.matcher, r.Header.Get("Accept-Language"))
	return l.all[i]
}

// Texts are the English texts that the language says in its own words.
func (l *Language) Texts() []string {
	var out []string
	for english := range l.texts {
		out = append(out, english)
	}
	slices.Sort(out)
	return out
}

type key struct{}

// With has T speak the language.
func With(ctx context.Context, l *Language) context.Context { return context.WithValue(ctx, key{}, l) }

// From is the language of a context, or nil for English.
func From(ctx context.Context) *Language {
	l, _ := ctx.Value(key{}).(*Language)
	return l
}

// T is a text in the language of the context.
func T(ctx context.Context, english string, args ...any) string {
	text := english
	if l := From(ctx); l != nil {
		if own := l.texts[english]; own != "" {
			text = own
		}
	}
	if len(args) == 0 && !strings.Contains(text, "%") {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Told is a text that another layer has made, in the language of the context where there
// is one for it. Nothing is put into it.
func Told(ctx context.Context, text string) string {
	if l := From(ctx); l != nil {
		if own := l.texts[text]; own != "" {
			return own
		}
	}
	return text
}

// N is one or many, whichever n things take; each takes n as its first %d.
func N(ctx context.Context, n int, one, many string, args ...any) string {
	text := many
	if n == 1 {
		text = one
	}
	return T(ctx, text, append([]any{n}, args...)...)
}

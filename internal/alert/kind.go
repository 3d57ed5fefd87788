package alert

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Limits of a setting, in bytes.
const (
	maxSetting = 4 << 10
	maxLong    = 64 << 10
)

// Type is a type of channels.
type Type struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Fields []Field `json:"fields"`
	// AdminOnly: only an administrator may make one.
	AdminOnly bool `json:"admin_only,omitempty"`
}

// Field is one setting of a type.
type Field struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Example  string `json:"example,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Secret: it is never shown again.
	Secret bool `json:"secret,omitempty"`
	// Long: it may have several lines.
	Long bool `json:"long,omitempty"`

	// check gives what is wrong with a value, without quoting it, and what to do.
	check func(value string) (text, hint string)
}

// kind is a type with what it does.
type kind struct {
	Type
	// check judges what no single field shows; nil: nothing.
	check func(settings) []watch.Problem
	// place says where it goes, without secrets.
	place func(settings) string
	send  func(context.Context, *delivery) (detail string, err error)
}

// settings of a channel. Space around a value is no part of it.
type settings map[string]string

func (s settings) get(name string) string { return strings.TrimSpace(s[name]) }

func (s settings) or(name, missing string) string {
	if v := s.get(name); v != "" {
		return v
	}
	return missing
}

// delivery is one attempt to send one message.
type delivery struct {
	*Message
	settings settings
	client   *http.Client
	policy   *netguard.Policy
	sender   *Sender
	secrets  *plain.Redactor
}

func kinds() []kind {
	return []kind{
		webhookKind(), emailKind(), slackKind(), teamsKind(), discordKind(),
		pagerdutyKind(), opsgenieKind(), alertmanagerKind(), ntfyKind(), shoutrrrKind(),
	}
}

func kindOf(name string) (kind, bool) {
	all := kinds()
	at := slices.IndexFunc(all, func(k kind) bool { return k.Name == name })
	if at < 0 {
		return kind{}, false
	}
	return all[at], true
}

// Types lists the types of channels.
func Types() []Type {
	var types []Type
	for _, k := range kinds() {
		types = append(types, k.Type)
	}
	return types
}

// AdminOnly reports whether only an administrator may make channels of this type.
func AdminOnly(name string) bool {
	k, ok := kindOf(name)
	return ok && k.AdminOnly
}

// Shown says where a channel goes, without its secrets.
func Shown(name string, given map[string]string) string {
	k, ok := kindOf(name)
	if !ok {
		return ""
	}
	return plain.Line(secretsOf(&k, given).String(k.place(given)), maxTitle)
}

// Validate gives what is wrong with the settings of a channel, in the order of its
// fields. No problem quotes a value.
func Validate(name string, given map[string]string) []watch.Problem {
	k, ok := kindOf(name)
	if !ok {
		names := make([]string, 0, len(kinds()))
		for _, known := range kinds() {
			names = append(names, known.Name)
		}
		return []watch.Problem{{Field: "type", Text: "there is no such type of channels", Hint: "use one of " + strings.Join(names, ", ")}}
	}
	var problems []watch.Problem
	for i := range k.Fields {
		problems = append(problems, k.Fields[i].problems(given)...)
	}
	problems = append(problems, k.unknown(given)...)
	if len(problems) == 0 && k.check != nil {
		problems = k.check(given)
	}
	return problems
}

func (k *kind) unknown(given settings) []watch.Problem {
	names, problems := []string{}, []watch.Problem(nil)
	for _, f := range k.Fields {
		names = append(names, f.Name)
	}
	for name := range given {
		if !slices.Contains(names, name) {
			problems = append(problems, watch.Problem{
				Field: plain.Line(name, maxName), Text: "a channel of type " + k.Name + " has no such setting",
				Hint: "it has " + strings.Join(names, ", "),
			})
		}
	}
	slices.SortFunc(problems, func(a, b watch.Problem) int { return strings.Compare(a.Field, b.Field) })
	return problems
}

func (f *Field) problems(given settings) []watch.Problem {
	value, limit := given.get(f.Name), maxSetting
	if f.Long {
		limit = maxLong
	}
	problem := watch.Problem{Field: f.Name}
	switch {
	case value == "" && f.Required:
		problem.Text, problem.Hint = "is missing", "for example "+f.Example
	case value == "":
		return nil
	case len(value) > limit:
		problem.Text = fmt.Sprintf("is longer than %d bytes", limit)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && (!f.Long || r != '\n' && r != '\t' && r != '\r') }):
		problem.Text, problem.Hint = "has control characters", "it is one line of text"
		if f.Long {
			problem.Hint = "only line ends and tabs may be in it"
		}
	case f.check != nil:
		problem.Text, problem.Hint = f.check(value)
	}
	if problem.Text == "" {
		return nil
	}
	return []watch.Problem{problem}
}

// webURL judges a URL.
func webURL(value string) (text, hint string) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "is not an http or https URL", "write it like https://alerts.example.com/path"
	case u.Hostname() == "":
		return "has no host", "write it like https://alerts.example.com/path"
	case u.Fragment != "":
		return "has a fragment (#…), which is never sent", "leave it out"
	}
	return "", ""
}

// oneOf judges a choice.
func oneOf(choices ...string) func(string) (text, hint string) {
	return func(value string) (string, string) {
		if slices.Contains(choices, value) {
			return "", ""
		}
		return "is not one of its values", "use " + strings.Join(choices, ", ")
	}
}

// host is the host of a URL, with the port that is written.
func host(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// hostOf is the place of a type whose only public part is the host of its url.
func hostOf(missing string) func(settings) string {
	return func(s settings) string { return host(s.or("url", missing)) }
}

// secretsOf knows all forms in which the secrets of a channel can turn up.
func secretsOf(k *kind, given settings) *plain.Redactor {
	r := plain.NewRedactor()
	for i := range k.Fields {
		if k.Fields[i].Secret {
			addSecret(r, given.get(k.Fields[i].Name))
		}
	}
	if user, password := given.get("username"), given.get("password"); password != "" {
		r.Add(user + ":" + password)
	}
	return r
}

// addSecret makes value known, and the parts of it that are used on their own.
func addSecret(r *plain.Redactor, value string) {
	r.Add(value)
	for _, part := range strings.FieldsFunc(value, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		r.Add(part)
		if key, err := signingKey(part); err == nil {
			r.Add(strings.TrimPrefix(part, secretPrefix))
			r.Add(string(key))
		}
	}
	for line := range strings.Lines(value) {
		if _, header, ok := strings.Cut(line, ":"); ok {
			r.Add(header)
		}
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		addURL(r, u)
	}
}

// minSegment is the shortest part of a path that counts as secret by itself: shorter
// ones are words of the receiver's API.
const minSegment = 6

func addURL(r *plain.Redactor, u *url.URL) {
	if uri := u.RequestURI(); len(uri) >= minSegment {
		r.Add(uri)
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) >= minSegment {
			r.Add(segment)
		}
	}
	for _, values := range u.Query() {
		for _, value := range values {
			r.Add(value)
		}
	}
	r.Add(u.RawQuery)
	if u.User != nil {
		password, _ := u.User.Password()
		r.Add(password)
		r.Add(u.User.Username())
		r.Add(u.User.Username() + ":" + password)
		r.Add(u.User.String())
	}
}

package statuspages

import (
	"context"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// maxSnippets are how many monitors have their badges shown in the settings.
const maxSnippets = 20

// editPage is what the settings of a page show.
type editPage struct {
	fresh, writes bool
	stored        watch.StatusPage
	form          fields
	refused       *ops.Error
	snippets      []snippet
	more          int
}

// fields are those of the form, as they are written in it.
type fields struct {
	slug, title, text, groups, tags, monitors, names string
	surface, badges, listed                          bool
}

// snippet is how to put a badge elsewhere.
type snippet struct{ name, path, markdown, html string }

func (p editPage) action() string {
	if p.fresh {
		return settingsPath
	}
	return settingsPath + "/" + p.stored.Slug
}

func (p editPage) passwordHelp(ctx context.Context) string {
	if p.stored.Protected {
		return lang.T(ctx, "It has one. Leave this blank to keep it.")
	}
	return lang.T(ctx, "At least 12 characters. Without one, everybody sees the page.")
}

func (p publicPage) pastIncidents() bool {
	return slices.ContainsFunc(p.Incidents, func(i ops.PublicIncident) bool { return !i.Until.IsZero() })
}

func wrong(problem string) templ.Attributes {
	if problem == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": "password-problem"}
}

func (a *area) list(q *shell.Request) error {
	pages, err := a.ops.StatusPages(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("Status pages"), Section: "settings", Body: listed(pages.Items, q.Actor.Can(people.Write))})
}

func (a *area) fresh(q *shell.Request) error {
	return show(q, editPage{fresh: true, writes: true})
}

func show(q *shell.Request, p editPage) error {
	page := shell.Page{Title: q.T("Status pages"), Section: "settings", Body: editing(p)}
	if p.refused != nil {
		page.Status = shell.Status(p.refused)
	}
	return q.Show(page)
}

func (a *area) edit(q *shell.Request) error {
	stored, err := a.ops.StatusPage(q.Context(), q.Actor, q.PathValue("slug"))
	if err != nil {
		return err
	}
	p := editPage{writes: q.Actor.Can(people.Write), stored: stored, form: fieldsOf(&stored)}
	if stored.Badges {
		if err := a.addSnippets(q, &p); err != nil {
			return err
		}
	}
	return show(q, p)
}

func fieldsOf(s *watch.StatusPage) fields {
	lines := func(list []string) string { return strings.Join(list, "\n") }
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		names = append(names, name+" = "+s.Names[name])
	}
	return fields{
		slug: s.Slug, title: s.Title, text: s.Text, groups: lines(s.Groups), tags: lines(s.Tags), monitors: lines(s.Monitors), names: lines(names),
		surface: s.Surface, badges: s.Badges, listed: s.Listed,
	}
}

func sent(q *shell.Request) fields {
	return fields{
		slug: q.Value("slug"), title: q.Value("title"), text: q.Value("text"), groups: q.PostFormValue("groups"), tags: q.PostFormValue("tags"),
		monitors: q.PostFormValue("monitors"), names: q.PostFormValue("names"),
		surface: q.Value("surface") != "", badges: q.Value("badges") != "", listed: q.Value("listed") != "",
	}
}

// input is what a form asks for, or what is wrong with it.
func (f *fields) input(q *shell.Request) (ops.StatusPageInput, *ops.Error) {
	in := ops.StatusPageInput{
		Title: f.title, Text: strings.ReplaceAll(f.text, "\r\n", "\n"), Groups: shell.LinesOf(f.groups), Tags: shell.LinesOf(f.tags), Monitors: shell.LinesOf(f.monitors),
		Surface: f.surface, Badges: f.badges, Listed: f.listed, Names: map[string]string{},
	}
	for _, line := range shell.LinesOf(f.names) {
		at := strings.LastIndex(line, "=")
		if at < 0 {
			return in, &ops.Error{Code: ops.Invalid, Text: q.T("this cannot be saved as it is"), Problems: []watch.Problem{
				{Field: "names", Text: q.T("a line has no equals sign"), Hint: q.T("write name = public name")},
			}}
		}
		in.Names[strings.TrimSpace(line[:at])] = strings.TrimSpace(line[at+1:])
	}
	if password := q.PostFormValue("password"); password != "" {
		in.Password = &password
	} else if q.Value("open") != "" {
		in.Password = new(string)
	}
	return in, nil
}

func (a *area) create(q *shell.Request) error {
	f := sent(q)
	return a.put(q, f.slug, editPage{fresh: true, writes: true, form: f})
}

func (a *area) save(q *shell.Request) error {
	slug := q.PathValue("slug")
	stored, err := a.ops.StatusPage(q.Context(), q.Actor, slug)
	if err != nil {
		return err
	}
	f := sent(q)
	f.slug = slug
	return a.put(q, slug, editPage{writes: true, stored: stored, form: f})
}

func (a *area) put(q *shell.Request, slug string, p editPage) error {
	in, refused := p.form.input(q)
	if refused == nil {
		_, _, err := a.ops.PutStatusPage(q.Context(), q.Actor, slug, in, p.fresh)
		if err == nil {
			a.pages.drop(slug)
			return q.Go(settingsPath+"/"+slug, "saved")
		}
		if refused = shell.Refusal(err); refused == nil {
			return err
		}
	}
	p.refused = refused
	return show(q, p)
}

func (a *area) remove(q *shell.Request) error {
	slug := q.PathValue("slug")
	if err := a.ops.DeleteStatusPage(q.Context(), q.Actor, slug); err != nil {
		return err
	}
	a.pages.drop(slug)
	return q.Go(settingsPath, "deleted")
}

// addSnippets adds how to put the badges of a page elsewhere.
func (a *area) addSnippets(q *shell.Request, p *editPage) error {
	page, err := a.pages.page(q.Context(), p.stored.Slug)
	if err != nil {
		return err
	}
	base := q.PublicURL()
	add := func(name, path string) {
		link := base + "/status/" + page.Slug
		p.snippets = append(p.snippets, snippet{
			name: name, path: path,
			markdown: fmt.Sprintf("[![%s](%s)](%s)", markdown(name), base+path, link),
			html:     fmt.Sprintf(`<a href="%s"><img src="%s" alt="%s" height="20"></a>`, link, base+path, html.EscapeString(name)),
		})
	}
	add(page.Title, "/badge/"+page.Slug+"/status.svg")
	for i := range page.Monitors[:min(len(page.Monitors), maxSnippets)] {
		m := &page.Monitors[i]
		add(m.Name, fmt.Sprintf("/badge/%s/%d/status.svg", page.Slug, m.ID))
	}
	p.more = max(0, len(page.Monitors)-maxSnippets)
	return nil
}

// markdown keeps what means something in Markdown from meaning it.
func markdown(text string) string {
	var out strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

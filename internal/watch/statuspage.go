package watch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Limits of status pages.
const (
	MaxSlug         = 60
	MaxPageNames    = 10_000
	maxPageSelected = 1000
	maxPageText     = 2000
)

// StatusPage is what everybody may see of some monitors: how available they are, under
// names that a person gave.
type StatusPage struct {
	// Slug is its part of the address.
	Slug  string `json:"slug"`
	Title string `json:"title"`
	// Text stands below the title.
	Text string `json:"text,omitempty"`
	// Monitors, Tags and Groups say which monitors it shows: any of them.
	Monitors []string `json:"monitors,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	// Names are what monitors are called on it, by their own names. Others are called by
	// their own.
	Names map[string]string `json:"names,omitempty"`
	// Surface has it say whether what a server tells agents is approved.
	Surface bool `json:"surface,omitempty"`
	// Badges lets everybody load badges of it, whether it has a password or not.
	Badges bool `json:"badges,omitempty"`
	// Listed lets search engines list it.
	Listed bool `json:"listed,omitempty"`
	// Protected: it is shown to who knows its password.
	Protected bool      `json:"protected"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

var slugs = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Slug reports whether a text can be one.
func Slug(text string) bool { return len(text) <= MaxSlug && slugs.MatchString(text) && text != "new" }

// Validate says what is wrong with a page.
func (s *StatusPage) Validate() []Problem {
	var p problems
	if !Slug(s.Slug) {
		p.add("slug", fmt.Sprintf("give at most %d small letters, digits and single hyphens, such as payments", MaxSlug), "%s is none", shownValue(s.Slug))
	}
	p.name("title", s.Title)
	if utf8.RuneCountInString(s.Text) > maxPageText || plain.Text(s.Text, len(s.Text)) != s.Text {
		p.add("text", fmt.Sprintf("give at most %d visible characters", maxPageText), "cannot be shown as it is")
	}
	if len(s.Monitors)+len(s.Tags)+len(s.Groups) == 0 {
		p.add("groups", "name groups, tags or monitors", "selects no monitor")
	}
	p.list("monitors", s.Monitors, maxPageSelected, p.name)
	p.list("tags", s.Tags, maxPageSelected, p.name)
	p.list("groups", s.Groups, maxPageSelected, p.name)
	if len(s.Names) > MaxPageNames {
		p.add("names", fmt.Sprintf("give at most %d", MaxPageNames), "has %d entries", len(s.Names))
		return p
	}
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		p.name("names["+plain.Line(name, shownName)+"]", s.Names[name])
	}
	return p
}

// Shows reports whether a monitor is on the page.
func (s *StatusPage) Shows(m *Monitor) bool {
	d := &m.Definition
	return slices.Contains(s.Monitors, d.Name) || d.Group != "" && slices.Contains(s.Groups, d.Group) ||
		slices.ContainsFunc(d.Tags, func(tag string) bool { return slices.Contains(s.Tags, tag) })
}

// NameOf is what a monitor is called on the page.
func (s *StatusPage) NameOf(m *Monitor) string {
	if name := s.Names[m.Definition.Name]; name != "" {
		return name
	}
	return m.Definition.Name
}

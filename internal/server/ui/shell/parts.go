package shell

import (
	"net/http"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
)

// Link is one to a page of this server.
type Link struct{ Path, Text string }

func (f Field) id() string { return "f-" + f.Name }

func (f Field) kind() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

func (f Field) completion() string {
	if f.AutoComplete == "" {
		return "off"
	}
	return f.AutoComplete
}

// described ties a field to its help and its problem, for who does not see them.
func (f Field) described(wrong bool) templ.Attributes {
	by := ""
	if f.Help != "" {
		by = f.id() + "-help"
	}
	a := templ.Attributes{}
	if wrong {
		by += " " + f.id() + "-problem"
		a["aria-invalid"] = "true"
	}
	if by != "" {
		a["aria-describedby"] = by
	}
	return a
}

// stateName is a state as a page says it.
func stateName(state string) string {
	if name, ok := stateNames[state]; ok {
		return name
	}
	return state
}

var stateNames = map[string]string{
	"up": "Up", "degraded": "Degraded", "down": "Down", "misconfigured": "Misconfigured", "unknown": "Unknown",
	"approved": "Approved", "changed": "Changed", "inconsistent": "Inconsistent",
	"clean": "Clean", "flagged": "Flagged", "blind": "Blind", "paused": "Paused",
}

// doneTexts are what Go can say that was done.
var doneTexts = map[string]string{
	"saved": "Saved.", "created": "Created.", "deleted": "Deleted.", "accepted": "Accepted. What was chosen is approved now.",
	"proposed": "Noted. A second person has to accept the same.", "paused": "Paused.", "resumed": "Resumed.",
	"running": "A check runs now.", "acknowledged": "Acknowledged. Nobody else is told.", "sent": "Sent. The receiver took it.",
	"signed-out": "You are signed out.", "revoked": "Ended.",
	"rejected":  "Noted. It is not approved, and goes on failing.",
	"commented": "Noted.", "assigned": "Assigned.", "snoozed": "Snoozed. It ends by itself when it gets worse.", "awake": "Snoozed no more.",
}

// doneText is what was done before the browser was sent to this page. A link on another
// site, or in a message, can have nobody believe that something was.
func (q *Request) doneText() string {
	if site := q.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return ""
	}
	if text, ok := doneTexts[q.URL.Query().Get("done")]; ok {
		return lang.T(q.Context(), text)
	}
	return ""
}

// ThemeCookie holds the theme that a person chose.
const ThemeCookie = "mcpvigil_theme"

func (q *Request) theme() string {
	if c, err := q.Cookie(ThemeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return "auto"
}

// Preferences takes the language and the theme that a person chose.
func Preferences(q *Request) error {
	for name, value := range map[string]string{lang.Cookie: q.Value("language"), ThemeCookie: q.Value("theme")} {
		if len(value) > 20 {
			continue
		}
		http.SetCookie(q.w, &http.Cookie{
			Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, Secure: q.shell.secure, SameSite: http.SameSiteLaxMode, HttpOnly: true,
		})
	}
	return q.Go(Local(q.Value("next")), "")
}

// Current marks a link as the one to what is shown, for who hears the page too.
func Current(on bool) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": "true"}
}

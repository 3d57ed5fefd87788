package e2e_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestNoticed: what goes wrong in a browser is noticed. A page that notices nothing would
// let all other tests pass.
func TestNoticed(t *testing.T) {
	s := newServer(t, nil)
	p := s.open(t, "viewer")
	p.visit("/")
	if wrong := p.wrong(); len(wrong) > 0 {
		t.Fatalf("before anything was done: %q", wrong)
	}
	for _, script := range []string{
		`console.error("e2e said this")`,
		`setTimeout(() => { throw new Error("e2e threw this") })`,
		`fetch("/api/v1/monitors/999999")`,
		`document.body.insertAdjacentHTML("beforeend", "<p style='color: red' onclick='alert(1)'>x</p><img src='http://evil.example/x.png'>")`,
		`document.head.append(Object.assign(document.createElement("script"), {textContent: "window.e2eInline = 1"}))`,
		`setTimeout(() => alert("e2e asks this"))`,
	} {
		if _, err := evaluate[any](p, `(`+script+`, 0)`); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`^console.error: .*e2e said this`, `^exception: .*e2e threw this`, `^answer: 404 .*999999`, `^policy: style-src`, `^policy: img-src`, `^policy: script-src`,
		`^dialog: alert "e2e asks this"`,
	} {
		re := regexp.MustCompile(want)
		p.wait("notice "+want, func() (bool, string) {
			all := p.wrong()
			for _, text := range all {
				if re.MatchString(text) {
					return true, ""
				}
			}
			return false, strings.Join(all, "\n")
		})
	}
	if ask[bool](p, `window.e2eInline === 1`) {
		t.Error("the policy lets inline scripts run")
	}
	ask[bool](p, `(document.querySelector("main").insertAdjacentHTML("beforeend", "<button></button><input>"), true)`)
	var found []string
	for _, v := range p.violations(t) {
		found = append(found, v.Impact+" "+v.ID)
	}
	for _, want := range []string{"critical button-name", "critical label"} {
		if !strings.Contains(strings.Join(found, ","), want) {
			t.Errorf("axe-core found %q, and not %s", found, want)
		}
	}
	p.expect(`.`)
	s.reported = true
}

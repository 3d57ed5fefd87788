package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// element is something on the page as assistive technology sees it.
type element struct {
	role, name string
	id         cdp.BackendNodeID
}

// fields are the roles of what takes text or a choice.
var fields = []string{"textbox", "searchbox", "spinbutton", "combobox", "listbox", "Date", "DateTime", "InputTime"}

// elements are all of these roles below the first match of a selector, or on the page.
func (p *page) elements(roles []string, within ...string) ([]element, error) {
	root := "document"
	if len(within) > 0 && within[0] != "" {
		root = "document.querySelector(" + quote(within[0]) + ")"
	}
	got, err := try(p, runtime.Evaluate, runtime.EvaluateParams{Expression: root, ObjectGroup: "e2e"})
	if err != nil {
		return nil, err
	}
	if got.Result.ObjectID == "" {
		return nil, fmt.Errorf("there is no %s", root)
	}
	var out []element
	for _, role := range roles {
		tree, err := try(p, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: got.Result.ObjectID, Role: role})
		if err != nil {
			return nil, err
		}
		for _, n := range tree.Nodes {
			if !n.Ignored {
				out = append(out, element{role: role, name: axText(n.Name), id: n.BackendDOMNodeID})
			}
		}
	}
	return out, nil
}

func axText(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	_ = json.Unmarshal(v.Value, &s)
	return strings.Join(strings.Fields(s), " ")
}

// pick is the element of that name: exactly, or else the only one that has it in its name.
func pick(all []element, name string) (element, error) {
	if i := slices.IndexFunc(all, func(e element) bool { return e.name == name }); i >= 0 {
		return all[i], nil
	}
	var some []element
	var names []string
	for _, e := range all {
		if strings.Contains(e.name, name) {
			some = append(some, e)
		}
		names = append(names, fmt.Sprintf("%s %q", e.role, e.name))
	}
	if len(some) == 1 {
		return some[0], nil
	}
	if len(names) > 60 {
		names = append(names[:60], "…")
	}
	return element{}, fmt.Errorf("%d have %q in their names; there are %s", len(some), name, strings.Join(names, ", "))
}

// find waits for an element and returns a handle of it.
func (p *page) find(roles []string, name string, within ...string) runtime.RemoteObjectID {
	p.t.Helper()
	var object runtime.RemoteObjectID
	p.wait(fmt.Sprintf("find %s %q", strings.Join(roles, "/"), name), func() (bool, string) {
		all, err := p.elements(roles, within...)
		if err != nil {
			return false, err.Error()
		}
		e, err := pick(all, name)
		if err != nil {
			return false, err.Error()
		}
		got, err := try(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: e.id, ObjectGroup: "e2e"})
		if err != nil {
			return false, err.Error()
		}
		object = got.Object.ObjectID
		return true, ""
	})
	return object
}

// has tells whether there is such an element now.
func (p *page) has(role, name string, within ...string) bool {
	p.t.Helper()
	all, err := p.elements([]string{role}, within...)
	if err != nil {
		return false
	}
	_, err = pick(all, name)
	return err == nil
}

// at finds by a selector what has no name of its own.
func (p *page) at(selector string) runtime.RemoteObjectID {
	p.t.Helper()
	var object runtime.RemoteObjectID
	p.wait("find "+selector, func() (bool, string) {
		got, err := try(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.querySelector(" + quote(selector) + ")", ObjectGroup: "e2e"})
		if err != nil {
			return false, err.Error()
		}
		object = got.Result.ObjectID
		return object != "", "there is none"
	})
	return object
}

// on calls a function on an element.
func on[T any](p *page, object runtime.RemoteObjectID, function string) (out T, err error) {
	yes := true
	got, err := try(p, runtime.CallFunctionOn, runtime.CallFunctionOnParams{ObjectID: object, FunctionDeclaration: function, ReturnByValue: &yes, AwaitPromise: &yes})
	switch {
	case err != nil:
		return out, err
	case got.ExceptionDetails != nil:
		return out, &chromedp.ExceptionError{ExceptionDetails: got.ExceptionDetails}
	case len(got.Result.Value) == 0:
		return out, nil
	}
	return out, json.Unmarshal(got.Result.Value, &out)
}

type spot struct {
	X, Y     float64
	Hit      bool
	Disabled bool
	Above    string
}

// point scrolls to an element and waits until a click would hit it.
func (p *page) point(object runtime.RemoteObjectID, what string) spot {
	p.t.Helper()
	var s spot
	p.wait("point at "+what, func() (bool, string) {
		var err error
		s, err = on[spot](p, object, `async function() {
			this.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
			await new Promise((done) => setTimeout(done, 5));
			const r = this.getClientRects()[0];
			if (!r) return {Above: "it has no size"};
			const X = r.x + r.width / 2, Y = r.y + r.height / 2, at = document.elementFromPoint(X, Y);
			const label = at?.closest("label");
			const Hit = at !== null && (this === at || this.contains(at) || label?.control === this);
			return {X, Y, Hit, Disabled: this.matches(":disabled"), Above: at?.outerHTML.slice(0, 200) ?? "nothing"};
		}`)
		if err != nil {
			return false, err.Error()
		}
		return s.Hit && !s.Disabled, fmt.Sprintf("%+v", s)
	})
	return s
}

func (p *page) press(object runtime.RemoteObjectID, what string) {
	p.t.Helper()
	s := p.point(object, what)
	if err := chromedp.Do(p.ctx, chromedp.MouseEvent(chromedp.MouseMoved, s.X, s.Y), chromedp.MouseClickXY(s.X, s.Y)); err != nil {
		p.t.Fatalf("click %s: %v", what, err)
	}
}

// click clicks what has a role and a name.
func (p *page) click(role, name string, within ...string) {
	p.t.Helper()
	p.press(p.find([]string{role}, name, within...), role+" "+name)
}

// follow clicks and waits for the page that comes.
func (p *page) follow(role, name string, within ...string) {
	p.t.Helper()
	p.mark()
	p.click(role, name, within...)
	p.arrived("the page after " + role + " " + name)
}

// unfold opens what is folded below a summary.
func (p *page) unfold(summary string) {
	p.t.Helper()
	p.until("find "+summary, `(() => {
		const found = [...document.querySelectorAll("main summary")].find((s) => s.innerText.includes(`+quote(summary)+`));
		if (found && !found.parentElement.open) found.click();
		return found?.parentElement.open;
	})()`)
}

// fill replaces what a field holds, by typing.
func (p *page) fill(label, text string, within ...string) {
	p.t.Helper()
	object := p.find(fields, label, within...)
	p.press(object, label)
	p.replace(object, text)
}

func (p *page) replace(object runtime.RemoteObjectID, text string) {
	p.t.Helper()
	if _, err := on[bool](p, object, `function() { this.focus(); this.select?.(); return true; }`); err != nil {
		p.t.Fatal(err)
	}
	if text == "" {
		p.keys(kb.Backspace)
		return
	}
	p.write(text)
}

// write types where the focus is; long texts at once.
func (p *page) write(text string) {
	p.t.Helper()
	if len(text) > 120 || strings.ContainsRune(text, '\n') {
		call(p, input.InsertText, input.InsertTextParams{Text: text})
		return
	}
	p.keys(text)
}

// keys presses keys.
func (p *page) keys(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...))); err != nil {
		p.t.Fatalf("press %q: %v", keys, err)
	}
}

// choose takes an option of a select by its text or its value.
func (p *page) choose(label, option string, within ...string) {
	p.t.Helper()
	object := p.find([]string{"combobox", "listbox"}, label, within...)
	done, err := on[bool](p, object, `function() {
		const o = [...this.options].find((o) => o.label.trim() === `+quote(option)+` || o.value === `+quote(option)+`);
		if (!o) return false;
		this.focus();
		this.value = o.value;
		this.dispatchEvent(new Event("input", {bubbles: true}));
		this.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	}`)
	if err != nil || !done {
		p.t.Fatalf("%s has no option %q: %v", label, option, err)
	}
}

// drop drops files on what a selector finds, as from a file manager.
func (p *page) drop(selector string, files ...string) {
	p.t.Helper()
	for i := range files {
		full, err := filepath.Abs(files[i])
		if err != nil {
			p.t.Fatal(err)
		}
		files[i] = full
	}
	s := p.point(p.at(selector), selector)
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		call(p, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: s.X, Y: s.Y, Data: data})
	}
}

// focused is what has the focus.
func (p *page) focused() element {
	p.t.Helper()
	got := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement", ObjectGroup: "e2e"})
	no := false
	tree, err := try(p, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: got.Result.ObjectID, FetchRelatives: &no})
	if err != nil || len(tree.Nodes) == 0 {
		return element{}
	}
	return element{role: axText(tree.Nodes[0].Role), name: axText(tree.Nodes[0].Name), id: tree.Nodes[0].BackendDOMNodeID}
}

// tab goes on with the Tab key until something of a role and a name has the focus, which
// has to be visible then.
func (p *page) tab(role, name string) {
	p.t.Helper()
	var seen []string
	for range 400 {
		p.keys(kb.Tab)
		e := p.focused()
		seen = append(seen, e.role+" "+e.name)
		if (e.role == role || role == "field" && slices.Contains(fields, e.role)) && (e.name == name || strings.Contains(e.name, name)) {
			visible := ask[bool](p, `(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none" })()`)
			if !visible {
				p.t.Errorf("%s %q has the focus, and that is not to be seen", role, name)
			}
			return
		}
	}
	if len(seen) > 80 {
		seen = seen[:80]
	}
	p.t.Fatalf("the Tab key never gets to %s %q; it went to %s", role, name, strings.Join(seen, ", "))
}

// enter presses the key and waits for the page that comes.
func (p *page) enter(key string) {
	p.t.Helper()
	p.mark()
	p.keys(key)
	p.arrived("the page after a key")
}

// authenticator gives the tab a passkey device that says yes.
func (p *page) authenticator() {
	p.t.Helper()
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
}

// settle waits until the page asks for nothing and moves nothing.
func (p *page) settle() {
	p.t.Helper()
	time.Sleep(50 * time.Millisecond)
	p.until("settle", `!document.querySelector(".htmx-request")`)
	time.Sleep(200 * time.Millisecond) // what faded out comes back
}

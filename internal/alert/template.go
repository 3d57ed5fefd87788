package alert

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// Limits of one run of a template.
const (
	maxOutput  = 256 << 10
	maxMade    = 16 * maxOutput // of all values that functions give
	maxTime    = time.Second
	maxNesting = 2 // ranges in ranges
)

// allowed are the functions that a template may call.
const allowed = "and, or, not, eq, ne, lt, le, gt, ge, len, index, slice, json, upper, lower, date"

var errTooLong = errors.New("the template took too long")

// limits are those of one run. Whatever can take time or grow asks them: output and
// functions; ranges go over the message alone.
type limits struct {
	end  time.Time
	left int // bytes of output
	made int // bytes that functions gave
	out  strings.Builder
}

func (l *limits) Write(p []byte) (int, error) {
	if time.Now().After(l.end) {
		return 0, errTooLong
	}
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("the template gives more than %d bytes", maxOutput)
	}
	return l.out.Write(p)
}

// value bounds what a function gives.
func (l *limits) value(s string, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case time.Now().After(l.end):
		return "", errTooLong
	case len(s) > maxOutput:
		return "", fmt.Errorf("a value has more than %d bytes", maxOutput)
	}
	if l.made += len(s); l.made > maxMade {
		return "", fmt.Errorf("its values have more than %d bytes", maxMade)
	}
	return s, nil
}

// functions are all that a template may call, beside comparisons, index, len and slice.
func (l *limits) functions() template.FuncMap {
	return template.FuncMap{
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return l.value(string(b), err)
		},
		"upper": func(s string) (string, error) { return l.value(strings.ToUpper(s), nil) },
		"lower": func(s string) (string, error) { return l.value(strings.ToLower(s), nil) },
		"date": func(layout, at string) (string, error) {
			if at == "" {
				return "", nil
			}
			t, err := time.Parse(time.RFC3339, at)
			if err != nil {
				return "", errors.New("date takes a layout and a time of the message")
			}
			return l.value(t.UTC().Format(layout), nil)
		},
	}
}

// expand runs the template in text over a payload, by the names of its JSON.
func expand(text string, p *payload) (string, error) {
	l := &limits{end: time.Now().Add(maxTime), left: maxOutput}
	t, err := template.New("template").Option("missingkey=error").Funcs(l.functions()).Parse(text)
	if err != nil {
		return "", plainError(err)
	}
	if len(t.Templates()) > 1 || t.Tree == nil {
		return "", errors.New("define, block and template cannot be used")
	}
	if err := inspect(t.Root, 0); err != nil {
		return "", err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	var data map[string]any
	if err := json.Unmarshal(b, &data); err != nil {
		return "", err
	}
	if err := t.Execute(l, data); err != nil {
		return "", plainError(err)
	}
	return l.out.String(), nil
}

// plainError drops what text/template says before the cause: it quotes the template.
func plainError(err error) error {
	if e, ok := errors.AsType[template.ExecError](err); ok {
		if cause := errors.Unwrap(e.Err); cause != nil {
			return cause
		}
	}
	text := strings.TrimPrefix(err.Error(), "template: template:")
	line, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return errors.New("it cannot be read as a template")
	}
	line, _, _ = strings.Cut(line, ":")
	if _, after, found := strings.Cut(rest, ">: "); found {
		rest = after
	}
	return fmt.Errorf("line %s: %s", line, rest)
}

// inspect refuses what could run for long or grow without a limit.
func inspect(node parse.Node, depth int) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, child := range n.Nodes {
			if err := inspect(child, depth); err != nil {
				return err
			}
		}
	case *parse.TemplateNode:
		return errors.New("define, block and template cannot be used")
	case *parse.ActionNode:
		return inspect(n.Pipe, depth)
	case *parse.IfNode:
		return inspectBranch(&n.BranchNode, depth)
	case *parse.WithNode:
		return inspectBranch(&n.BranchNode, depth)
	case *parse.RangeNode:
		if !overMessage(n.Pipe) {
			return errors.New("range works on members of the message only, such as .data.incident.items")
		}
		if depth == maxNesting {
			return fmt.Errorf("more than %d ranges are inside of each other", maxNesting)
		}
		return inspectBranch(&n.BranchNode, depth+1)
	case *parse.PipeNode:
		return inspectPipe(n, depth)
	case *parse.IdentifierNode:
		if !slices.Contains(strings.Split(allowed, ", "), n.Ident) {
			return fmt.Errorf("function %s cannot be used; there are %s", n.Ident, allowed)
		}
	}
	return nil
}

func inspectBranch(n *parse.BranchNode, depth int) error {
	for _, part := range []parse.Node{n.Pipe, n.List, n.ElseList} {
		if err := inspect(part, depth); err != nil {
			return err
		}
	}
	return nil
}

func inspectPipe(n *parse.PipeNode, depth int) error {
	if n == nil {
		return nil
	}
	for _, command := range n.Cmds {
		for _, arg := range command.Args {
			if chain, ok := arg.(*parse.ChainNode); ok {
				arg = chain.Node
			}
			if err := inspect(arg, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// overMessage reports whether a range goes over a member of the message: it is bounded,
// and, since the numbers of the message are no integers, cannot be a count.
func overMessage(p *parse.PipeNode) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	switch arg := p.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		return true
	case *parse.VariableNode:
		return arg.Ident[0] == "$" && len(arg.Ident) > 1
	}
	return false
}

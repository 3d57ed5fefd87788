package probe

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// maxBlocks bounds the content blocks of a result that are looked at.
const maxBlocks = 10_000

// call makes the one functional call, when it was asked for and is safe.
func (r *run) call(ctx context.Context) {
	c := r.t.Call
	if c == nil || r.t.Checks != nil && !r.t.Judges(target.Functional) {
		return
	}
	if !r.ready(ctx, StepCall) {
		return
	}
	r.begin(StepCall)
	switch listed := r.report.Result(StepTools); {
	case r.skips(StepTools):
		r.fail(StepCall, failure{reason: reasonInvalidCall, text: "the functional call needs the list of tools, which is left out", hint: "do not skip tools"})
		return
	case listed != nil && !listed.Skipped && r.listings[wire.Tools] == nil && r.session.Declares("tools"):
		r.skip(StepCall, "not run, because "+StepTools+" failed", false)
		return
	}
	tool, refused := r.callable(c)
	if refused != nil {
		r.fail(StepCall, *refused)
		return
	}
	arguments := c.Arguments
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	name, _ := json.Marshal(c.Tool)
	params := fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, name, arguments)
	var bad *failure
	d, err := r.step(ctx, target.Functional, func(ctx context.Context) error {
		result, err := r.session.Call(ctx, "tools/call", params)
		if err == nil {
			bad = judgeResult(ctx, tool, result)
		}
		return err
	})
	switch {
	case err != nil:
		f := callFailure(err)
		if f.dimension() == target.Authentication {
			r.explainRefusal(&f)
		}
		r.failAfter(StepCall, f, d)
		return
	case bad != nil:
		r.failAfter(StepCall, *bad, d)
		return
	}
	r.pass(StepCall, fmt.Sprintf("%s answered with a complete, valid result", quoted(c.Tool)), d, map[string]any{"tool": plain.Line(c.Tool, maxNameText)})
}

// callable returns the tool, or why it must not be called.
func (r *run) callable(c *target.Call) (rawjson.Value, *failure) {
	none := rawjson.Value{}
	if v, _, err := rawjson.Parse(c.Arguments); len(bytes.TrimSpace(c.Arguments)) > 0 && (err != nil || v.Kind() != rawjson.Object) {
		return none, &failure{reason: reasonInvalidCall, text: "the arguments of the functional call are not a JSON object", hint: "write them as an object, such as {\"query\":\"health\"}"}
	}
	var item *wire.Item
	if l := r.listings[wire.Tools]; l != nil {
		item = l.Find(c.Tool)
	}
	if item == nil {
		return none, &failure{reason: reasonRequiredMissing, text: fmt.Sprintf("the tool %s of the functional call is not listed", quoted(c.Tool))}
	}
	tool, _, err := rawjson.Parse(item.Raw)
	if err != nil { // it was parsed when it was listed
		return none, &failure{reason: reasonInternal, text: "the tool cannot be read again"}
	}
	hints := tool.Get("annotations")
	readOnly, _ := hints.Get("readOnlyHint").Bool()
	destructive, declared := hints.Get("destructiveHint").Bool()
	if !readOnly || destructive || !declared {
		return none, &failure{reason: reasonUnsafeTool, text: fmt.Sprintf("the tool %s is not declared with readOnlyHint true and destructiveHint false, and was not called", quoted(c.Tool))}
	}
	return tool, nil
}

// callFailure judges a call that brought no result. Whether an interrupted one
// was carried out nobody knows, and it is not repeated.
func callFailure(err error) failure {
	f := failureOf(err)
	var e *wire.Error
	if !errors.As(err, &e) || e.RPC != nil || e.HTTPStatus != 0 || f.code == CodeAborted {
		return f
	}
	switch f.reason {
	case Reason(wire.ReasonInputRequired), Reason(wire.ReasonResponseTooLarge), Reason(wire.ReasonResultType), Reason(wire.ReasonMalformedJSON), Reason(wire.ReasonMalformedMessage), Reason(wire.ReasonIDMismatch), reasonInvalidCall:
		return f
	}
	f.reason, f.text = reasonCallInterrupted, "the call was interrupted, and is not repeated: "+f.text
	f.hint = ""
	return f
}

// judgeResult validates a CallToolResult. Its content is not compared with
// anything and does not go into the report.
func judgeResult(ctx context.Context, tool rawjson.Value, result json.RawMessage) *failure {
	v, _, err := rawjson.Parse(result)
	if err != nil {
		return &failure{reason: reasonContentInvalid, text: "the result of the call cannot be read"}
	}
	content := v.Get("content")
	if content.Kind() != rawjson.Array {
		return &failure{reason: reasonContentInvalid, text: "the result of the call has no content array"}
	}
	for i, block := range content.Elems()[:min(content.Len(), maxBlocks)] {
		if what := badBlock(block); what != "" {
			return &failure{reason: reasonContentInvalid, text: fmt.Sprintf("content block %d of the result %s", i, what)}
		}
	}
	if failed, _ := v.Get("isError").Bool(); failed {
		return &failure{reason: reasonToolError, text: "the tool reported an error (isError)"}
	}
	return breaksSchema(ctx, tool.Get("outputSchema"), v.Get("structuredContent"))
}

// badBlock says what is wrong with a content block, or "" (schema of
// ContentBlock, 2025-11-25).
func badBlock(v rawjson.Value) string {
	need := func(names ...string) string {
		for _, name := range names {
			if _, ok := v.Get(name).Text(); !ok {
				return fmt.Sprintf("has no string %q", name)
			}
		}
		return ""
	}
	kind, ok := v.Get("type").Text()
	switch {
	case v.Kind() != rawjson.Object:
		return "is not an object"
	case !ok:
		return "has no type"
	}
	switch kind {
	case "text":
		return need("text")
	case "image", "audio":
		if bad := need("data", "mimeType"); bad != "" {
			return bad
		}
		data, _ := v.Get("data").Text()
		if _, err := base64.StdEncoding.DecodeString(data); err != nil {
			return "has data that is not base64"
		}
		return ""
	case "resource_link":
		return need("uri", "name")
	case "resource":
		return badResource(v.Get("resource"))
	default:
		return fmt.Sprintf("has the unknown type \"%s\"", plain.Line(kind, maxText))
	}
}

func badResource(v rawjson.Value) string {
	_, uri := v.Get("uri").Text()
	_, text := v.Get("text").Text()
	_, blob := v.Get("blob").Text()
	switch {
	case !uri:
		return "holds a resource without a uri"
	case text == blob:
		return "holds a resource that must have either text or blob"
	}
	if m := v.Get("mimeType"); m.Exists() && m.Kind() != rawjson.String && !m.IsNull() {
		return "holds a resource whose mimeType is not a string"
	}
	return ""
}

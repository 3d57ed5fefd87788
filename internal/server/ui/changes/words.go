package changes

import (
	"context"
	"slices"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// KindText is what an item is.
func KindText(ctx context.Context, kind surface.Kind) string {
	switch kind {
	case surface.Server:
		return lang.T(ctx, "Server")
	case surface.Protocol:
		return lang.T(ctx, "Protocol revision")
	case surface.Capabilities:
		return lang.T(ctx, "Capabilities")
	case surface.Instructions:
		return lang.T(ctx, "Instructions")
	case surface.Auth:
		return lang.T(ctx, "Login metadata")
	case surface.Tool:
		return lang.T(ctx, "Tool")
	case surface.Resource:
		return lang.T(ctx, "Resource")
	case surface.ResourceTemplate:
		return lang.T(ctx, "Resource template")
	case surface.Prompt:
		return lang.T(ctx, "Prompt")
	default:
		return string(kind)
	}
}

// KindCount says how many there are of a kind, as in 14 tools.
func KindCount(ctx context.Context, kind surface.Kind, n int) string {
	switch kind {
	case surface.Tool:
		return lang.N(ctx, n, "%d tool", "%d tools")
	case surface.Resource:
		return lang.N(ctx, n, "%d resource", "%d resources")
	case surface.ResourceTemplate:
		return lang.N(ctx, n, "%d resource template", "%d resource templates")
	case surface.Prompt:
		return lang.N(ctx, n, "%d prompt", "%d prompts")
	default:
		return KindText(ctx, kind)
	}
}

// EffectText says what a change does.
func EffectText(ctx context.Context, effect surface.Effect) string {
	switch effect {
	case surface.Fail:
		return lang.T(ctx, "Fails")
	case surface.Event:
		return lang.T(ctx, "Recorded")
	case surface.Silent:
		return lang.T(ctx, "Means the same")
	default:
		return ""
	}
}

// effectHint explains it.
func effectHint(ctx context.Context, effect surface.Effect) string {
	switch effect {
	case surface.Fail:
		return lang.T(ctx, "It fails the check until a person accepts it.")
	case surface.Event:
		return lang.T(ctx, "It is on the timeline and fails nothing.")
	default:
		return lang.T(ctx, "No client and no model can tell the difference.")
	}
}

func severityText(ctx context.Context, s lint.Severity) string {
	if s == lint.Block {
		return lang.T(ctx, "Blocks")
	}
	return lang.T(ctx, "Note")
}

// fieldText is the name of a member that is known.
func fieldText(ctx context.Context, name string) string {
	switch name {
	case "name":
		return lang.T(ctx, "Name")
	case "title":
		return lang.T(ctx, "Title")
	case "description":
		return lang.T(ctx, "Description")
	case "uri":
		return lang.T(ctx, "Address (URI)")
	case "uriTemplate":
		return lang.T(ctx, "Template of addresses")
	case "version":
		return lang.T(ctx, "Version")
	case "inputSchema":
		return lang.T(ctx, "What it takes (inputSchema)")
	case "outputSchema":
		return lang.T(ctx, "What it returns (outputSchema)")
	case "annotations":
		return lang.T(ctx, "Annotations")
	default:
		return lang.T(ctx, "Arguments")
	}
}

// whatText says what happened at a place of a schema.
func whatText(ctx context.Context, what diff.What) string {
	switch what {
	case diff.PropertyAdded:
		return lang.T(ctx, "Property added")
	case diff.PropertyRemoved:
		return lang.T(ctx, "Property removed")
	case diff.Required:
		return lang.T(ctx, "Now required")
	case diff.NotRequired:
		return lang.T(ctx, "No longer required")
	case diff.TypeChanged:
		return lang.T(ctx, "Type changed")
	case diff.ValueAdded:
		return lang.T(ctx, "Value added")
	case diff.ValueRemoved:
		return lang.T(ctx, "Value removed")
	case diff.TextChanged:
		return lang.T(ctx, "Text changed")
	case diff.KeywordAdded:
		return lang.T(ctx, "Keyword added")
	case diff.KeywordRemoved:
		return lang.T(ctx, "Keyword removed")
	case diff.Repeated:
		return lang.T(ctx, "The same name twice: readers differ in which counts")
	case diff.KeywordChanged:
		return lang.T(ctx, "Keyword changed")
	default:
		return string(what)
	}
}

// saysText says in words what an annotation of a tool that came or went says.
func saysText(ctx context.Context, h diff.Hint) string {
	yes := h.Before && h.SaidBefore || h.After && h.SaidAfter
	switch {
	case h.Name == "readOnlyHint" && yes:
		return lang.T(ctx, "Says that it only reads")
	case h.Name == "readOnlyHint":
		return lang.T(ctx, "Says that it may change things")
	case h.Name == "destructiveHint" && yes:
		return lang.T(ctx, "Says that it may destroy")
	case h.Name == "destructiveHint":
		return lang.T(ctx, "Says that it destroys nothing")
	case h.Name == "idempotentHint" && yes:
		return lang.T(ctx, "Says that it may be repeated without further effect")
	case h.Name == "idempotentHint":
		return lang.T(ctx, "Says that to repeat it has an effect")
	case yes:
		return lang.T(ctx, "Says that it reaches outside")
	default:
		return lang.T(ctx, "Says that it does not reach outside")
	}
}

// hintText says in words what became of an annotation.
func hintText(ctx context.Context, h diff.Hint) string {
	if h.Before == h.After {
		return lang.T(ctx, "Said in another way, means the same as before")
	}
	switch h.Name {
	case "readOnlyHint":
		if h.After {
			return lang.T(ctx, "Now says that it only reads")
		}
		return lang.T(ctx, "No longer says that it only reads: it may change things")
	case "destructiveHint":
		if h.After {
			return lang.T(ctx, "Now says that it may destroy")
		}
		return lang.T(ctx, "Now says that it destroys nothing")
	case "idempotentHint":
		if h.After {
			return lang.T(ctx, "Now says that it may be repeated without further effect")
		}
		return lang.T(ctx, "No longer says that it may be repeated without further effect")
	default:
		if h.After {
			return lang.T(ctx, "Now says that it reaches outside")
		}
		return lang.T(ctx, "Now says that it does not reach outside")
	}
}

// classText explains a class of changes.
func classText(ctx context.Context, class surface.Class) string {
	for _, info := range surface.Classes() {
		if info.Class == class {
			return lang.T(ctx, info.Text)
		}
	}
	return string(class)
}

func yesNo(value bool) string {
	if value {
		return "true"
	}
	return "false"
}

// differs tells whether a text changed at all.
func differs(runs []Run) bool {
	for _, r := range runs {
		if r.Op != diff.Same {
			return true
		}
	}
	return false
}

// unmarked are runs of a text that came or went as a whole: that is said once.
func unmarked(runs []Run) []Run {
	out := make([]Run, 0, len(runs))
	for _, r := range runs {
		r.Op = diff.Same
		out = append(out, r)
	}
	return out
}

// plainChange tells whether before and after of a change are shown beside it: those of
// properties are in the outline.
func plainChange(s SchemaChange) bool {
	return s.What != diff.PropertyAdded && s.What != diff.PropertyRemoved && s.What != diff.Repeated
}

// blank tells whether nothing of a text stands on a side.
func blank(runs []Run, s side) bool {
	return !slices.ContainsFunc(runs, func(r Run) bool { return s.shows(r) && (r.Text != "" || r.Folded > 0) })
}

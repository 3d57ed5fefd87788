package changes

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
)

// RuleText is what a rule of the lint finds, in a few words.
func RuleText(ctx context.Context, rule string) string {
	switch rule {
	case "hidden_tag":
		return lang.T(ctx, "Invisible text in tag characters")
	case "hidden_format":
		return lang.T(ctx, "Invisible characters")
	case "bidi":
		return lang.T(ctx, "Text is shown in another order")
	case "variation_run":
		return lang.T(ctx, "Bytes hidden in variation selectors")
	case "control_char":
		return lang.T(ctx, "Control characters")
	case "whitespace_pad":
		return lang.T(ctx, "Text pushed out of sight")
	case "name_charset":
		return lang.T(ctx, "Unusual characters in a name")
	case "confusable_name":
		return lang.T(ctx, "A name that looks like another")
	case "duplicate_name":
		return lang.T(ctx, "The same name twice")
	case "md_image":
		return lang.T(ctx, "An image that tells its host")
	case "suspicious_host":
		return lang.T(ctx, "An address that hides where it leads")
	case "icon":
		return lang.T(ctx, "An icon that can tell or run something")
	case "hidden_markup":
		return lang.T(ctx, "Text that a page does not show")
	case "header_invalid":
		return lang.T(ctx, "A header that makes clients leave the tool out")
	case "header_sensitive":
		return lang.T(ctx, "A secret sent as a header")
	case "remote_ref":
		return lang.T(ctx, "A schema that is loaded from elsewhere")
	case "oversized":
		return lang.T(ctx, "Very long")
	case "duplicate_member":
		return lang.T(ctx, "A member that is there twice")
	case "bad_unicode":
		return lang.T(ctx, "Not valid Unicode")
	case "credential_echo":
		return lang.T(ctx, "A credential is repeated")
	case "unreadable":
		return lang.T(ctx, "Cannot be read")
	default:
		return saidText(ctx, rule)
	}
}

// saidText is RuleText of the rules about what a text says.
func saidText(ctx context.Context, rule string) string {
	switch rule {
	case "encoded_blob":
		return lang.T(ctx, "Text in another encoding")
	case "rot13":
		return lang.T(ctx, "Text in ROT13")
	case "instruction_marker":
		return lang.T(ctx, "Passes text off as instructions")
	case "override":
		return lang.T(ctx, "Takes back instructions")
	case "concealment":
		return lang.T(ctx, "Keeps something from the user")
	case "safety_bypass":
		return lang.T(ctx, "Puts safety rules out of force")
	case "auto_approval":
		return lang.T(ctx, "Acts without consent")
	case "capture":
		return lang.T(ctx, "Collects what it needs not")
	case "coercion":
		return lang.T(ctx, "Puts pressure on the model")
	case "preference":
		return lang.T(ctx, "Pushes itself before other tools")
	case "preread":
		return lang.T(ctx, "Wants something read first")
	case "sensitive_path":
		return lang.T(ctx, "A file with secrets")
	case "cross_tool":
		return lang.T(ctx, "Steers another tool")
	case "exfil":
		return lang.T(ctx, "Sends data away")
	case "magic_param":
		return lang.T(ctx, "Asks for the conversation")
	case "param_name_instruction":
		return lang.T(ctx, "A parameter that gives orders")
	case "too_many_findings":
		return lang.T(ctx, "More findings than are shown")
	default:
		return rule
	}
}

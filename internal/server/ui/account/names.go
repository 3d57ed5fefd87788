package account

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// Roles are the roles from the one that may least on.
func Roles() []people.Role {
	return []people.Role{people.Viewer, people.Editor, people.Approver, people.Admin}
}

// RoleName is a role as people read it.
func RoleName(ctx context.Context, r people.Role) string {
	switch r {
	case people.Viewer:
		return lang.T(ctx, "Viewer")
	case people.Editor:
		return lang.T(ctx, "Editor")
	case people.Approver:
		return lang.T(ctx, "Approver")
	case people.Admin:
		return lang.T(ctx, "Administrator")
	}
	return string(r)
}

// RoleMeaning is what a role may do.
func RoleMeaning(ctx context.Context, r people.Role) string {
	switch r {
	case people.Viewer:
		return lang.T(ctx, "sees everything but secrets")
	case people.Editor:
		return lang.T(ctx, "also makes, changes and runs monitors, and acknowledges incidents")
	case people.Approver:
		return lang.T(ctx, "also accepts what servers tell agents")
	case people.Admin:
		return lang.T(ctx, "also looks after people, keys, channels and settings")
	}
	return ""
}

func deviceName(ctx context.Context, browser, system string) string {
	switch {
	case browser == "" && system == "":
		return lang.T(ctx, "Another program")
	case browser == "":
		return system
	case system == "":
		return browser
	}
	return lang.T(ctx, "%s on %s", browser, system)
}

// of are the problems of a form, when it is the one that was refused.
func (v profile) of(form string) shell.Problems {
	if v.form == form {
		return v.problems
	}
	return nil
}

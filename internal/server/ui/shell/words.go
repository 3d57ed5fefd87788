package shell

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// MonitorPath is an address below that of a monitor, such as /review; empty: its page.
func MonitorPath(id int64, below string) string {
	return "/monitors/" + strconv.FormatInt(id, 10) + below
}

// IncidentPath is the address of an incident.
func IncidentPath(id int64) string { return "/incidents/" + strconv.FormatInt(id, 10) }

// AxisName is what an axis is called.
func AxisName(ctx context.Context, a watch.Axis) string {
	switch a {
	case watch.Availability:
		return lang.T(ctx, "Availability")
	case watch.Surface:
		return lang.T(ctx, "Surface")
	case watch.Posture:
		return lang.T(ctx, "Posture")
	case watch.System:
		return lang.T(ctx, "The watch itself")
	}
	return string(a)
}

// Duration is one in the form that fields take, without zeros at its end: 10m, 1h30m.
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Lasted is how long an incident was open.
func Lasted(i *watch.Incident) string {
	return Duration(i.ResolvedAt.Sub(i.OpenedAt).Round(time.Second))
}

// Percent says a share, which is never rounded to look better than it is.
func Percent(ratio *float64) string {
	switch {
	case ratio == nil:
		return "–"
	case *ratio >= 1:
		return "100 %"
	}
	return fmt.Sprintf("%.2f %%", math.Floor(*ratio*10_000+1e-9)/100)
}

// Digest is enough of one for a person to tell it from others.
func Digest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}

// Size is a number of bytes as people say it.
func Size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 || f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64) + " " + units[i]
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// AsksProof tells whether a refusal, which may be nil, is about who asks: then the form is
// shown again, with what a person shows that with.
func AsksProof(e *ops.Error) bool {
	return e != nil && slices.Contains([]ops.Code{ops.ProofRequired, ops.FactorRequired, ops.CodeRequired, ops.WrongPassword}, e.Code)
}

// LinesOf are the lines of a text that are not blank; they may have commas in them.
func LinesOf(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/mcpvigil/mcpvigil/target"
)

// Defaults of a check. Budgets in [Options] and then in the target override them.
const (
	DefaultTimeout        = 30 * time.Second
	DefaultCheckTimeout   = 10 * time.Second
	DefaultStartupTimeout = 60 * time.Second
	DefaultResponseBytes  = 4 << 20
	DefaultPages          = 100
	DefaultEntries        = 10_000
)

// StartupWithinTimeout lets, as [Options.StartupTimeout], the start-up of a
// stdio server count against the overall timeout, which then is a promise about
// wall-clock time.
const StartupWithinTimeout time.Duration = -1

// Options change how a check runs. The zero value is the default check.
// Options may be shared by checks that run at the same time.
type Options struct {
	// Timeout bounds the whole check and CheckTimeout each step; the start-up
	// of a stdio server has its own StartupTimeout outside of both, or counts
	// against Timeout when that is [StartupWithinTimeout]. Zero values: the
	// target's budgets, then the defaults.
	Timeout, CheckTimeout, StartupTimeout time.Duration
	// Skip leaves out steps: any of "tools", "resources", "prompts".
	Skip []string
	// Client is sent to the server as who is asking.
	Client Client
	// Expect is laid over the target's expectations: values that are set here
	// win, required items are added. Like Skip and Custom it is for the targets
	// that are named, not for what they depend on.
	Expect target.Expectations
	// Secrets are shared with other checks, so that none shows those of another.
	// Nil: the check knows its own.
	Secrets *Secrets
	// Custom checks run after the standard ones, in this order.
	Custom []Custom
	// Revisions also tries every known revision, each with its own opening, and
	// fills [Report.Revisions]. It opens one more connection or process each, in
	// what is left of Timeout.
	Revisions bool
	// Diagnose also looks at what a check leaves alone: the GET stream of a
	// Streamable HTTP server, whether an unknown revision is echoed, and
	// whether an endpoint that refuses POST speaks the old HTTP+SSE transport.
	Diagnose bool
	// AuthMetadata also looks for the metadata of the login (RFC 9728, RFC 8414)
	// as a client without a credential finds it, and fills Inventory.Auth: for
	// [Report.Snapshot], not for the verdict. It costs, in what is left of Timeout,
	// one more opening when the target has a credential, and the requests of the
	// discovery chain when the server asks for a login.
	AuthMetadata bool
	// Resolver replaces the system's resolver. Nil: the system's.
	Resolver Resolver
	// AllowAddress, when not nil, is asked about every address before the check
	// connects to it, for whatever: the endpoint, redirects, metadata, tokens. An error
	// keeps it from that; of a name it is asked about every address, and the allowed
	// ones are tried. The proxy variables are ignored then, as a proxy would connect to
	// where nobody asked. It is called from several goroutines.
	AllowAddress func(netip.Addr) error
	// Limits bound what is read from a server. Zero values: the target's, then
	// the defaults.
	Limits target.Limits
	// Progress, when not nil, is called before each step starts, from the
	// goroutine of the check.
	Progress func(step string)
}

// Client is the client identity a check presents.
type Client struct {
	// Name and Version go into clientInfo. Empty: mcpvigil and its version.
	Name, Version string
	// UserAgent is the HTTP User-Agent. Empty: derived from Name and Version,
	// with a link that explains the traffic.
	UserAgent string
}

// Resolver looks up addresses; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Custom is a check of the caller's own. Run gets the connected session and
// returns what it found. An error, or a panic, is a failed check with code
// [CodeCustomCheck].
type Custom struct {
	// Name of the step. It should differ from those of the standard steps and of
	// other custom checks, or [Report.Result] finds only the first.
	Name string
	// Required makes a failure unhealthy instead of degraded.
	Required bool
	// Run is bounded by the step's timeout through ctx. One that ignores ctx is
	// left behind on its goroutine when the time is up.
	Run func(ctx context.Context, s *Session) (CustomResult, error)
}

// CustomResult is the outcome of a custom check.
type CustomResult struct {
	Passed  bool
	Message string
	// Details go into the report as JSON makes them.
	Details map[string]any
}

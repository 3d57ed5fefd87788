package config

import (
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// The types below define the format. Their tags mean:
//
//	yaml     the key; without a name, the members of the embedded struct
//	is       required; unique (no two equal items); blank (may be empty);
//	         expand (${NAME} is replaced); private (never shown in an excerpt)
//	min max  bounds of a number, a duration or the length of a list
//	pattern  a regular expression that the whole string matches
//	form     what pattern says, for people
//	default  what holds when the key is left out (documentation only)
//	example  a value as it would be written
//	doc      one sentence for people, used in the JSON Schema and the manual

type fileConfig struct {
	object
	Version     version             `yaml:"version" is:"required" doc:"Version of this format."`
	Concurrency *int                `yaml:"concurrency" min:"1" max:"64" default:"16" doc:"How many targets are checked at a time."`
	Defaults    *defaultsConfig     `yaml:"defaults" doc:"Values for targets that do not set their own."`
	Targets     []*targetConfig     `yaml:"targets" is:"required" min:"1" max:"10000" doc:"The servers to check."`
	Channels    []*channelConfig    `yaml:"channels" max:"1000" doc:"Where mcpvigil serve sends notifications."`
	Escalations []*escalationConfig `yaml:"escalations" max:"1000" doc:"Who is told of an incident, and when."`
	Windows     []*windowConfig     `yaml:"windows" max:"10000" doc:"Planned times of mcpvigil serve in which nobody is told."`
	Lockfile    string              `yaml:"lockfile" is:"expand" example:"mcpvigil.lock" doc:"What was approved in git: mcpvigil serve takes the baselines in this lockfile as approved by its commit, and reads it again when it changes. A relative path starts at the directory of this file."`
}

func (fileConfig) about() (name, title string) { return "the file", "mcpvigil configuration" }

type defaultsConfig struct {
	object
	Interval duration `yaml:"interval" min:"10s" max:"168h" default:"10m" example:"1m" doc:"How often mcpvigil serve checks a target."`
	Timeout  duration `yaml:"timeout" min:"1ms" max:"1h" example:"20s" doc:"Bounds a whole check, without the start-up of a stdio server."`
}

func (defaultsConfig) about() (name, title string) { return "defaults", "Defaults" }

// targetFields are shared by targets and inline dependencies.
type targetFields struct {
	Name            string            `yaml:"name" is:"required" example:"search" doc:"What reports call the target."`
	Type            targetType        `yaml:"type" is:"required" doc:"Kind of target. Only mcp is checked."`
	Endpoint        string            `yaml:"endpoint" is:"required expand private" example:"https://mcp.example.com/mcp" doc:"The server's MCP URL, exactly; for a stdio server a label such as stdio://files."`
	ID              string            `yaml:"id" pattern:"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}" form:"up to 64 letters, digits, dots, dashes and underscores, the first a letter or digit" example:"search" doc:"Identity in this file, for ref and for selecting the target. Unique."`
	Checks          []dimension       `yaml:"checks" is:"unique" doc:"What to judge. Left out: everything but functional and dependency. An empty list judges nothing, and the result is unknown."`
	Thresholds      *thresholds       `yaml:"thresholds" doc:"Values that degrade the result when they are passed."`
	Dependencies    []*dependency     `yaml:"dependencies" max:"10000" doc:"Targets that this one stands on."`
	Timeout         duration          `yaml:"timeout" min:"1ms" max:"1h" example:"20s" doc:"Bounds the whole check, without the start-up of a stdio server."`
	TimeoutMS       *int              `yaml:"timeout_ms" min:"1" max:"300000" default:"10000" doc:"Bounds each step, in milliseconds. In a file called agenthealth.yaml the default is 5000."`
	CheckTimeoutsMS map[dimension]int `yaml:"check_timeouts_ms" min:"1" max:"300000" example:"{reachability: 2000}" doc:"Bounds single steps, by dimension, in place of timeout_ms."`
	Retries         *int              `yaml:"retries" min:"0" max:"3" default:"0" doc:"How often a server that could not be reached is tried again."`
	RetryDelayMS    *int              `yaml:"retry_delay_ms" min:"0" max:"60000" default:"100" doc:"Pause before each further try, in milliseconds."`
	BudgetMS        *int              `yaml:"budget_ms" min:"1" max:"60000" doc:"Bounds the whole check in milliseconds; timeout in agenthealth's words."`
	Limits          *limitsConfig     `yaml:"limits" doc:"How much is read from the server at most. Over a limit a result is unknown."`
	Auth            *authConfig       `yaml:"auth" doc:"The credential. Always a reference, never the value."`
	TLS             *tlsConfig        `yaml:"tls" doc:"How an https endpoint and its authorization server are trusted, and how the check proves itself to them."`
	AllowPlaintext  *bool             `yaml:"allow_plaintext_credentials" default:"false" doc:"Lets the credential go to a plain http endpoint on another machine."`
	MCP             *mcpConfig        `yaml:"mcp" doc:"What only concerns MCP."`
}

// refused names keys of other tools and inline secrets, with what to do.
func (targetFields) refused() map[string]string {
	const other = "it belongs to another type of target; mcpvigil checks targets of type mcp only"
	return map[string]string{
		"http": other, "a2a": other, "agent": other,
		"url":         `the address is called "endpoint" here`,
		"headers":     `write them under "auth", as headers: [{name: X-API-Key, value_env: VARIABLE}]`,
		"bearer":      `refer to the token with auth: {bearer_env: VARIABLE} or {bearer_file: PATH}`,
		"token":       `refer to the token with auth: {bearer_env: VARIABLE} or {bearer_file: PATH}`,
		"command":     `write it under mcp.stdio`,
		"transport":   `write it under "mcp"`,
		"interval":    `write it under "monitor"`,
		"tags":        `write it under "monitor"`,
		"check_every": `write monitor: {interval: 1m}`,
	}
}

type targetConfig struct {
	object
	targetFields
	Monitor *monitorConfig `yaml:"monitor" doc:"How the target is watched over time by mcpvigil serve. Left out: with the defaults."`
}

func (targetConfig) about() (name, title string) { return "a target", "Target" }

type dependency struct {
	object
	Ref          string       `yaml:"ref" pattern:"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}" form:"up to 64 letters, digits, dots, dashes and underscores, the first a letter or digit" example:"search" doc:"The id of a target anywhere in this file, in place of an inline definition."`
	Critical     *bool        `yaml:"critical" default:"true" doc:"Whether its failure fails the target above; otherwise it degrades it."`
	Relationship relationship `yaml:"relationship" doc:"What the dependency is to the target above."`
	targetFields
}

func (dependency) about() (name, title string) { return "a dependency", "Dependency" }

// alone says that ref stands for the whole definition.
func (dependency) alone() (key string, with []string) {
	return "ref", []string{"critical", "relationship"}
}

type thresholds struct {
	object
	LatencyMS    *float64 `yaml:"latency_ms" min:"0" example:"800" doc:"Longest time to the first byte of the first answer, in milliseconds."`
	MaxLatencyMS *float64 `yaml:"max_latency_ms" min:"0" example:"2000" doc:"Longest time any single step may take, in milliseconds."`
	MinTools     *int     `yaml:"min_tools" min:"0" max:"10000" doc:"Fewest tools the server should list."`
	MaxTools     *int     `yaml:"max_tools" min:"0" max:"10000" doc:"Most tools the server should list."`
	MinResources *int     `yaml:"min_resources" min:"0" max:"10000" doc:"Fewest resources the server should list."`
	MinPrompts   *int     `yaml:"min_prompts" min:"0" max:"10000" doc:"Fewest prompts the server should list."`
	MinTokenDays *int     `yaml:"min_token_days" min:"0" max:"3650" example:"14" doc:"Fewest days that the credential should last, where it tells: a bearer token with an end in it, or a client certificate. What mcp.oauth gets is renewed by checks and not judged."`
}

func (thresholds) about() (name, title string) { return "thresholds", "Thresholds" }

type limitsConfig struct {
	object
	ResponseBytes *int `yaml:"response_bytes" min:"1" max:"1073741824" default:"4194304" example:"8388608" doc:"Largest answer, in bytes, after decoding; for a stdio server the longest line."`
	Pages         *int `yaml:"pages" min:"1" max:"100000" default:"100" doc:"Most pages of one list."`
	Entries       *int `yaml:"entries" min:"1" max:"1000000" default:"10000" doc:"Most entries of one list."`
}

func (limitsConfig) about() (name, title string) { return "limits", "Limits" }

type authConfig struct {
	object
	Mode          authMode        `yaml:"mode" doc:"none: send no credential. header: send what stands beside it, as without mode. oauth: judge whether a new client could find out where to log in, without logging in; an intact discovery chain is healthy, and nothing is listed."`
	BearerEnv     variable        `yaml:"bearer_env" is:"private" example:"SEARCH_TOKEN" doc:"Environment variable that holds a bearer token."`
	BearerFile    string          `yaml:"bearer_file" is:"expand private" example:"/run/secrets/search" doc:"File that holds a bearer token."`
	BearerCommand []string        `yaml:"bearer_command" is:"expand private" min:"1" max:"1000" example:"[vault, kv, get, -field=token, secret/search]" doc:"Program that prints a bearer token within ten seconds, and its arguments. No shell is involved."`
	Header        *headerConfig   `yaml:"header" is:"private" doc:"One request header."`
	Headers       []*headerConfig `yaml:"headers" is:"private" min:"1" max:"10" doc:"Several request headers."`
}

func (authConfig) about() (name, title string) { return "auth", "Credential" }

func (authConfig) exactlyOne() []string {
	return []string{"bearer_env", "bearer_file", "bearer_command", "header", "headers"}
}

// instead: these modes take the place of a credential.
func (authConfig) instead() (key string, values []string) {
	return "mode", []string{"none", "oauth"}
}

func (authConfig) refused() map[string]string {
	const ref = "a secret is never written into this file; "
	return map[string]string{
		"bearer":  ref + "write bearer_env: VARIABLE, bearer_file: PATH or bearer_command: [PROGRAM]",
		"token":   ref + "write bearer_env: VARIABLE, bearer_file: PATH or bearer_command: [PROGRAM]",
		"api_key": ref + "write header: {name: X-API-Key, value_env: VARIABLE}",
		"basic":   ref + `write header: {name: Authorization, prefix: "Basic ", value_env: VARIABLE}`,
		"oauth":   "write it under mcp.oauth",
	}
}

type headerConfig struct {
	object
	Name         string   `yaml:"name" is:"required" pattern:"[A-Za-z0-9!#$%&'*+.^_|~-]+" form:"letters, digits and dashes" example:"X-API-Key" doc:"Name of the header."`
	ValueEnv     variable `yaml:"value_env" is:"private" example:"SEARCH_KEY" doc:"Environment variable that holds the value."`
	ValueFile    string   `yaml:"value_file" is:"expand private" example:"/run/secrets/key" doc:"File that holds the value."`
	ValueCommand []string `yaml:"value_command" is:"expand private" min:"1" max:"1000" example:"[pass, show, search]" doc:"Program that prints the value within ten seconds, and its arguments. No shell is involved."`
	Prefix       string   `yaml:"prefix" is:"blank private" example:"'Bearer '" doc:"Text in front of the value."`
}

func (headerConfig) about() (name, title string) { return "a header", "Header" }

func (headerConfig) exactlyOne() []string {
	return []string{"value_env", "value_file", "value_command"}
}

func (headerConfig) refused() map[string]string {
	const ref = "a secret is never written into this file; write value_env: VARIABLE or value_file: PATH"
	return map[string]string{"value": ref, "secret": ref, "token": ref}
}

type mcpConfig struct {
	object
	Transport         transport         `yaml:"transport" default:"http" doc:"How messages travel. streamable-http is another name of http."`
	ProtocolVersion   revision          `yaml:"protocol_version" doc:"Pins one revision. Left out: negotiated."`
	Reachability      reachability      `yaml:"reachability" doc:"head judges reachability by a HEAD request of its own instead of by the first exchange."`
	RequiredTools     []string          `yaml:"required_tools" is:"unique" max:"10000" example:"[search]" doc:"Tools that must be listed, by name."`
	RequiredResources []string          `yaml:"required_resources" is:"unique" max:"10000" example:"['health://ready']" doc:"Resources that must be listed, by URI."`
	RequiredPrompts   []string          `yaml:"required_prompts" is:"unique" max:"10000" example:"[summary]" doc:"Prompts that must be listed, by name."`
	Functional        *functionalConfig `yaml:"functional" doc:"The one tool call that the functional check makes."`
	Stdio             *stdioConfig      `yaml:"stdio" doc:"The program of a stdio server."`
	OAuth             *oauthConfig      `yaml:"oauth" doc:"How to get a token from an authorization server. Excludes auth."`
}

func (mcpConfig) about() (name, title string) { return "mcp", "MCP" }

type functionalConfig struct {
	object
	Tool          string    `yaml:"tool" is:"required" example:"search" doc:"Name of the tool. The server must declare it read-only and not destructive."`
	Safe          *bool     `yaml:"safe" is:"required" doc:"Must be true: your word that the call harms nothing."`
	ArgumentsJSON *string   `yaml:"arguments_json" is:"blank private" example:"'{\"query\": \"health\"}'" doc:"Arguments as a JSON object in a string of at most 64 KiB."`
	Arguments     *freeform `yaml:"arguments" is:"private" example:"{query: health}" doc:"Arguments as a mapping, in place of arguments_json."`
}

func (functionalConfig) about() (name, title string) { return "functional", "Functional call" }

type stdioConfig struct {
	object
	Command        string              `yaml:"command" is:"required expand" example:"npx" doc:"Program: a name on PATH or a path. No shell is involved."`
	Args           []string            `yaml:"args" is:"blank expand private" max:"1000" example:"[-y, '@modelcontextprotocol/server-filesystem', /srv]" doc:"Its arguments. Reports show them as they are written here."`
	Directory      string              `yaml:"directory" is:"expand" example:"/srv/app" doc:"Working directory. It must exist."`
	Env            map[string]variable `yaml:"env" is:"private" max:"1000" example:"{API_TOKEN: FILES_TOKEN}" doc:"Variables of the program, each with the name of the variable here that holds its value."`
	StartupTimeout duration            `yaml:"startup_timeout" min:"1ms" max:"1h" default:"60s" doc:"Time from the start to the first message, outside of the other limits."`
	StdinGrace     duration            `yaml:"stdin_grace" min:"1ms" max:"5m" default:"2s" doc:"Time to end after its input is closed."`
	TermGrace      duration            `yaml:"term_grace" min:"1ms" max:"5m" default:"3s" doc:"Time to end after SIGTERM."`
}

func (stdioConfig) about() (name, title string) { return "stdio", "Program" }

type oauthConfig struct {
	object
	Issuer            string     `yaml:"issuer" is:"required expand" example:"https://auth.example.com" doc:"The one authorization server that is trusted, as its metadata spells it: https, or http on this machine."`
	ClientID          string     `yaml:"client_id" is:"expand private" example:"mcpvigil" doc:"The registered client."`
	ClientMetadataURL string     `yaml:"client_metadata_url" is:"expand" example:"https://example.com/mcpvigil.json" doc:"URL of a client ID metadata document, for a server that takes these in place of a registered client."`
	Grant             grant      `yaml:"grant" is:"required" doc:"How a token is got: by the client itself, with a refresh token, or by what a person allowed with mcpvigil login."`
	ClientSecretEnv   variable   `yaml:"client_secret_env" is:"private" example:"MCP_CLIENT_SECRET" doc:"Environment variable that holds the client's secret."`
	ClientSecretFile  string     `yaml:"client_secret_file" is:"expand private" example:"/run/secrets/client" doc:"File that holds the client's secret."`
	PrivateKeyEnv     variable   `yaml:"private_key_env" is:"private" example:"MCP_CLIENT_KEY" doc:"Environment variable that holds the client's private key in PEM form, which signs assertions (private_key_jwt) in place of a secret."`
	PrivateKeyFile    string     `yaml:"private_key_file" is:"expand private" example:"/run/secrets/client.pem" doc:"File that holds the client's private key in PEM form."`
	KeyID             string     `yaml:"key_id" example:"key-1" doc:"Name of the private key (kid), where the server knows several."`
	ClientAuth        clientAuth `yaml:"client_auth" doc:"How the client secret is sent, where the authorization server wants one way of this client. Left out: as its metadata says."`
	Algorithm         algorithm  `yaml:"algorithm" doc:"Algorithm of the private key. Left out: by the kind of key."`
	RefreshTokenEnv   variable   `yaml:"refresh_token_env" is:"private" example:"MCP_REFRESH_TOKEN" doc:"Environment variable that holds the refresh token to begin with."`
	RefreshTokenFile  string     `yaml:"refresh_token_file" is:"expand private" example:"/run/secrets/refresh" doc:"File that holds the refresh token to begin with. It is never written to; the ones that follow are kept in token_file."`
	TokenFile         string     `yaml:"token_file" is:"expand private" example:".credentials/user.json" doc:"File that keeps tokens between checks, readable by this user alone. A relative path starts at the directory of this file."`
	Scopes            []string   `yaml:"scopes" is:"unique" max:"1000" pattern:"[!#-\\[\\]-~]+" form:"printable ASCII without spaces, quotes and backslashes" example:"[read]" doc:"Scopes to ask for, in place of those that the server names."`
	Resource          string     `yaml:"resource" is:"expand" example:"https://mcp.example.com/mcp" doc:"Resource identifier to ask a token for (RFC 8707), in place of the one in the server's metadata."`
	RedirectPort      *int       `yaml:"redirect_port" min:"0" max:"65535" default:"0" doc:"Port of the login's callback, http://127.0.0.1:PORT/callback, for a server that takes only a registered one. 0: any."`
}

func (oauthConfig) about() (name, title string) { return "oauth", "OAuth" }

func (oauthConfig) atLeastOne() []string { return []string{"client_id", "client_metadata_url"} }

func (oauthConfig) refused() map[string]string {
	const ref = "a secret is never written into this file; "
	return map[string]string{
		"client_secret": ref + "write client_secret_env: VARIABLE or client_secret_file: PATH",
		"refresh_token": ref + "write refresh_token_env: VARIABLE or refresh_token_file: PATH",
		"private_key":   ref + "write private_key_env: VARIABLE or private_key_file: PATH",
	}
}

type tlsConfig struct {
	object
	CAFile     string `yaml:"ca_file" is:"expand" example:"/etc/ssl/private-ca.pem" doc:"PEM certificates of the authorities to trust, in place of the system's."`
	CertFile   string `yaml:"cert_file" is:"expand" example:"/run/secrets/tls.crt" doc:"PEM certificate of the client, with its chain, for mutual TLS."`
	KeyFile    string `yaml:"key_file" is:"expand" example:"/run/secrets/tls.key" doc:"PEM key of the client's certificate."`
	ServerName string `yaml:"server_name" is:"expand" example:"mcp.internal.example" doc:"Name to verify in the server's certificate, in place of the endpoint's host."`
}

func (tlsConfig) about() (name, title string) { return "tls", "TLS" }

type monitorConfig struct {
	object
	Interval          duration                   `yaml:"interval" min:"10s" max:"168h" default:"10m" example:"1m" doc:"How often to check."`
	FailureThreshold  *int                       `yaml:"failure_threshold" min:"1" max:"100" default:"2" doc:"How many failures in a row make it down."`
	RecoveryThreshold *int                       `yaml:"recovery_threshold" min:"1" max:"100" default:"1" doc:"How many successes in a row make it up again."`
	DriftPolicy       driftPolicy                `yaml:"drift_policy" default:"alert" doc:"What changes do, also in mcpvigil verify: alert fails on a changed surface, record only writes it down, seed follows AlertKick's table."`
	DriftEffects      map[driftClass]driftEffect `yaml:"drift_effects" example:"{tool-text: fail, server-version: silent}" doc:"What the changes of single classes do, over drift_policy. docs/surface.md has the classes."`
	Group             string                     `yaml:"group" pattern:"[^,\\s](?:[^,]{0,62}[^,\\s])?" form:"up to 64 characters without commas" example:"payments" doc:"The one group that it is shown in."`
	Tags              []string                   `yaml:"tags" is:"unique" max:"50" pattern:"[^,\\s](?:[^,]{0,62}[^,\\s])?" form:"up to 64 characters without commas" example:"[prod, search]" doc:"Words to find monitors by, and to name them in windows."`
	Locations         []string                   `yaml:"locations" is:"unique" min:"1" max:"50" pattern:"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}" form:"up to 64 letters, digits, dots, dashes and underscores, the first a letter or digit" default:"[local]" doc:"Where checks run: each is a mcpvigil serve --location of this name."`
	Escalation        string                     `yaml:"escalation" example:"on-call" doc:"Whom a failure reaches, by the name of one of escalations. Left out: the one called default, if there is one."`
	Paused            *bool                      `yaml:"paused" default:"false" doc:"Stops the checks and keeps the history."`
}

func (monitorConfig) about() (name, title string) { return "monitor", "Monitor" }

func (monitorConfig) note() string {
	return "For `mcpvigil serve`, which watches every target of the file. `mcpvigil verify` goes by drift_policy and drift_effects, too."
}

func (monitorConfig) refused() map[string]string {
	return map[string]string{
		"timeout":        `write it beside "monitor", as timeout of the target`,
		"max_tools":      `write thresholds: {max_tools: 40} beside "monitor"`,
		"expected_tools": `write mcp: {required_tools: [search]} beside "monitor"`,
		"name":           `the name of the target is that of its monitor`,
	}
}

type channelConfig struct {
	object
	Name     string      `yaml:"name" is:"required" pattern:"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}" form:"up to 64 letters, digits, dots, dashes and underscores, the first a letter or digit" example:"team" doc:"What escalations call the channel. Unique."`
	Type     channelType `yaml:"type" is:"required" doc:"Kind of receiver. docs/channels.md has the settings of each."`
	Settings *freeform   `yaml:"settings" is:"private" example:"{url_env: SLACK_URL}" doc:"Settings of the type, as strings. A secret is a reference: the name of the setting with _env, _file or _command behind it."`
}

func (channelConfig) about() (name, title string) { return "a channel", "Channel" }

type escalationConfig struct {
	object
	Name   string            `yaml:"name" is:"required" pattern:"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}" form:"up to 64 letters, digits, dots, dashes and underscores, the first a letter or digit" example:"on-call" doc:"What monitors call the policy. Unique. The one called default is that of monitors without an escalation."`
	On     []pagingState     `yaml:"on" is:"unique" min:"1" default:"[down, changed, inconsistent, flagged, blind]" doc:"The states that reach anybody."`
	Steps  []*escalationStep `yaml:"steps" is:"required" min:"1" max:"20" doc:"What happens one after the other, until somebody acknowledges."`
	Repeat *int              `yaml:"repeat" min:"0" max:"100" default:"0" doc:"How often the steps start over."`
}

func (escalationConfig) about() (name, title string) { return "an escalation", "Escalation" }

type escalationStep struct {
	object
	Delay    duration `yaml:"delay" min:"0s" max:"168h" default:"0s" example:"15m" doc:"How long to wait after the step before."`
	Channels []string `yaml:"channels" is:"required unique" min:"1" max:"50" example:"[team]" doc:"The channels to tell, by name."`
}

func (escalationStep) about() (name, title string) { return "a step", "Step of an escalation" }

type windowConfig struct {
	object
	Name     string     `yaml:"name" is:"required" example:"nightly backup" doc:"What the window is called. Unique."`
	Kind     windowKind `yaml:"kind" is:"required" doc:"maintenance leaves its time out of uptime and tells nobody of availability; expected-change tells nobody of changes of the surface. Neither approves anything."`
	Monitors []string   `yaml:"monitors" is:"unique" max:"10000" example:"[search]" doc:"The monitors that it concerns, by name. Without monitors, tags and groups it concerns all; with several of them, those of any."`
	Tags     []string   `yaml:"tags" is:"unique" max:"50" example:"[prod]" doc:"The monitors that have one of these tags."`
	Groups   []string   `yaml:"groups" is:"unique" max:"50" example:"[payments]" doc:"The monitors of these groups."`
	Start    moment     `yaml:"start" example:"'2026-12-24T18:00:00+01:00'" doc:"Start of a single window, with its offset from UTC."`
	End      moment     `yaml:"end" example:"'2026-12-25T06:00:00+01:00'" doc:"End of a single window."`
	Days     []weekday  `yaml:"days" is:"unique" min:"1" doc:"Days of a weekly window."`
	From     string     `yaml:"from" pattern:"([01][0-9]|2[0-3]):[0-5][0-9]" form:"a time of day such as '09:30', in quotes" example:"'09:30'" doc:"Start of a weekly window, in its zone."`
	For      duration   `yaml:"for" min:"1m" max:"168h" example:"2h" doc:"Length of a weekly window."`
	Zone     string     `yaml:"zone" default:"UTC" example:"Europe/Berlin" doc:"Time zone of a weekly window."`
}

func (windowConfig) about() (name, title string) { return "a window", "Window" }

func (windowConfig) note() string {
	return "A single window has `start` and `end`, a weekly one `days`, `from` and `for`."
}

// Vocabularies. Where another package has the list, it is asked for it.
type (
	version      string
	targetType   string
	dimension    string
	relationship string
	transport    string
	revision     string
	reachability string
	grant        string
	driftPolicy  string
	driftClass   string
	driftEffect  string
	authMode     string
	algorithm    string
	clientAuth   string
	channelType  string
	pagingState  string
	windowKind   string
	weekday      string
	moment       string // RFC 3339
)

// ChannelTypes are the types that a channel may have. Package alert, which stands
// above this one, sends to them.
func ChannelTypes() []string {
	return []string{"webhook", "email", "slack", "teams", "discord", "pagerduty", "opsgenie", "alertmanager", "ntfy", "shoutrrr"}
}

func (channelType) choices() []string { return ChannelTypes() }

func (pagingState) choices() []string {
	return []string{watch.Degraded, watch.Down, watch.Misconfigured, watch.Changed, watch.Inconsistent, watch.Flagged, watch.Blind}
}

func (windowKind) choices() []string {
	return texts([]watch.WindowKind{watch.Maintenance, watch.ExpectedChange})
}

func (weekday) choices() []string {
	return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
}

func (version) choices() []string      { return []string{"v1"} }
func (targetType) choices() []string   { return []string{"mcp"} }
func (reachability) choices() []string { return []string{"head"} }
func (authMode) choices() []string     { return []string{"none", "header", "oauth"} }
func (clientAuth) choices() []string   { return []string{"client_secret_basic", "client_secret_post"} }
func (algorithm) choices() []string    { return []string{"RS256", "PS256", "ES256", "EdDSA"} }
func (driftPolicy) choices() []string  { return texts(surface.Policies()) }
func (driftEffect) choices() []string  { return texts(surface.Effects()) }

func (driftClass) choices() []string {
	var names []string
	for _, c := range surface.Classes() {
		names = append(names, string(c.Class))
	}
	return names
}

func (dimension) choices() []string    { return texts(target.Dimensions()) }
func (relationship) choices() []string { return texts(target.Relationships()) }
func (transport) choices() []string {
	return []string{string(target.HTTP), string(target.SSE), string(target.Stdio), "streamable-http"}
}

func (revision) choices() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
}

func (grant) choices() []string {
	return texts([]target.GrantKind{target.ClientCredentials, target.RefreshToken, target.AuthorizationCode})
}

// explain says more than the list of choices can.
func (targetType) explain(string) string { return "mcpvigil checks targets of type mcp only" }

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

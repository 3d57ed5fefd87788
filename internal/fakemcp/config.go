package fakemcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Era says which openings a server knows.
type Era int

// The eras.
const (
	Legacy Era = iota // initialize only
	Modern            // server/discover only: 2026-07-28
	Dual              // both
)

const (
	modernRevision = "2026-07-28"
	newestLegacy   = "2025-11-25"
)

var legacyRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", newestLegacy}

// Config is what a well-behaved server is and offers. The zero value is a
// legacy server with sessions and two tools, search and fetch.
type Config struct {
	Era Era
	// Revision is the one legacy revision that initialize settles on. Empty:
	// the requested one when it is known, else 2025-11-25.
	Revision string
	// Name and Version identify the server. Empty: "fake" and "1.0.0".
	Name, Version string
	Instructions  string
	// Capabilities is the raw object. Empty: what follows from the lists.
	Capabilities string
	// The lists hold raw JSON entries; [Tools] and its kin write them. A nil
	// list is not declared. All nil: two tools.
	Tools, Resources, Templates, Prompts []string
	// PageSize splits the lists into pages. Zero: one page.
	PageSize int
	// CallResult is the raw result of tools/call, without the members that
	// only modern results have. Empty: one text block.
	CallResult string
	// Callable lets the client send tools/call, resources/read and
	// prompts/get, which is otherwise a violation.
	Callable bool

	// SSE answers requests over HTTP with an event stream instead of JSON.
	SSE bool
	// Stateless issues no session id.
	Stateless bool
	// Path is the path of the endpoint. Empty: /mcp, or /sse for [NewSSE].
	Path string
	// TLS serves https with the given certificate.
	TLS TLS
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "fake"
	}
	if c.Version == "" {
		c.Version = "1.0.0"
	}
	if c.Tools == nil && c.Resources == nil && c.Templates == nil && c.Prompts == nil && c.Capabilities == "" {
		c.Tools = Tools("search", "fetch")
	}
	if c.CallResult == "" {
		c.CallResult = `{"content":[{"type":"text","text":"ok"}]}`
	}
	if c.Capabilities == "" {
		c.Capabilities = c.derivedCapabilities()
	}
	return c
}

func (c Config) derivedCapabilities() string {
	var members []string
	if c.Tools != nil {
		members = append(members, `"tools":{}`)
	}
	if c.Resources != nil || c.Templates != nil {
		members = append(members, `"resources":{}`)
	}
	if c.Prompts != nil {
		members = append(members, `"prompts":{}`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Tool writes a tool entry. Members, such as `"title":"T"`, are added; one that
// is called inputSchema replaces the plain schema.
func Tool(name string, members ...string) string {
	entry := `{"name":` + quote(name) + `,"description":"The tool ` + strconv.Itoa(len(name)) + `."`
	if !slices.ContainsFunc(members, func(m string) bool { return strings.HasPrefix(m, `"inputSchema"`) }) {
		entry += `,"inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}`
	}
	return join(entry, members)
}

// SafeTool writes a tool that is declared read-only and not destructive.
func SafeTool(name string, members ...string) string {
	return Tool(name, append(members, `"annotations":{"readOnlyHint":true,"destructiveHint":false}`)...)
}

// Tools writes one plain entry for each name.
func Tools(names ...string) []string { return each(names, func(n string) string { return Tool(n) }) }

// ManyTools writes n entries, tool-0 and so on.
func ManyTools(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = Tool(fmt.Sprintf("tool-%d", i))
	}
	return list
}

// Resources writes one entry for each URI.
func Resources(uris ...string) []string {
	return each(uris, func(u string) string { return `{"uri":` + quote(u) + `,"name":` + quote(u) + `}` })
}

// Templates writes one entry for each URI template.
func Templates(uris ...string) []string {
	return each(uris, func(u string) string { return `{"uriTemplate":` + quote(u) + `,"name":` + quote(u) + `}` })
}

// Prompts writes one entry for each name.
func Prompts(names ...string) []string {
	return each(names, func(n string) string { return `{"name":` + quote(n) + `}` })
}

func each(names []string, entry func(string) string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = entry(n)
	}
	return list
}

func join(entry string, members []string) string {
	return strings.Join(append([]string{entry}, members...), ",") + "}"
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// rpcError is a JSON-RPC error and the HTTP status it travels with.
type rpcError struct {
	status  int
	code    int
	message string
	data    string // raw, or empty
}

func (e *rpcError) object() string {
	o := `{"code":` + strconv.Itoa(e.code) + `,"message":` + quote(e.message)
	if e.data != "" {
		o += `,"data":` + e.data
	}
	return o + "}"
}

// message is what the fakes read of a JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

type params struct {
	ProtocolVersion string `json:"protocolVersion"`
	Name            string `json:"name"`
	URI             string `json:"uri"`
	Cursor          string `json:"cursor"`
	Client          client `json:"clientInfo"`
	Meta            meta   `json:"_meta"`
}

type client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type meta struct {
	Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	Client       client          `json:"io.modelcontextprotocol/clientInfo"`
}

func (m *message) params() params {
	var p params
	_ = json.Unmarshal(m.Params, &p) // strictness reports what is malformed
	return p
}

func (m *message) modern() bool {
	return m.Method == "server/discover" || m.params().Meta.Version != ""
}

// answer is what the well-behaved server says to a request: a raw result, or
// an error.
func (c *Config) answer(m *message) (string, *rpcError) {
	p := m.params()
	if m.modern() {
		if e := c.refuseModern(p); e != nil {
			return "", e
		}
	} else if c.Era == Modern {
		return "", &rpcError{400, -32022, "Unsupported protocol version", c.supported(p.ProtocolVersion)}
	}
	switch m.Method {
	case "server/discover":
		return c.discover(), nil
	case "initialize":
		return c.initialize(p.ProtocolVersion), nil
	case "ping":
		if !m.modern() {
			return "{}", nil
		}
	case "tools/call":
		if c.Tools != nil {
			return c.complete(c.CallResult, m.modern(), false), nil
		}
	}
	if list, key := c.inventory(m.Method); list != nil {
		return c.page(list, key, p.Cursor, m.modern())
	}
	status := 200
	if m.modern() {
		status = 404
	}
	return "", &rpcError{status, -32601, "Method not found", ""}
}

func (c *Config) refuseModern(p params) *rpcError {
	switch {
	case c.Era == Legacy:
		// What the TypeScript SDK of the legacy revisions says to the probe.
		return &rpcError{400, -32000, "Bad Request: Server not initialized", ""}
	case p.Meta.Version != modernRevision:
		return &rpcError{400, -32022, "Unsupported protocol version", c.supported(p.Meta.Version)}
	case p.Meta.Capabilities == nil:
		return &rpcError{400, -32602, "Missing _meta io.modelcontextprotocol/clientCapabilities", ""}
	}
	return nil
}

func (c *Config) supported(requested string) string {
	return `{"supported":` + c.versions() + `,"requested":` + quote(requested) + `}`
}

func (c *Config) versions() string {
	switch {
	case c.Era == Modern:
		return `["` + modernRevision + `"]`
	case c.Era == Dual && c.Revision != "":
		return `["` + modernRevision + `","` + c.Revision + `"]`
	case c.Era == Dual:
		return `["` + modernRevision + `","` + newestLegacy + `","2025-06-18","2025-03-26"]`
	default:
		return `["` + newestLegacy + `"]`
	}
}

func (c *Config) info() string {
	return `{"name":` + quote(c.Name) + `,"version":` + quote(c.Version) + `}`
}

func (c *Config) instructions() string {
	if c.Instructions == "" {
		return ""
	}
	return `,"instructions":` + quote(c.Instructions)
}

func (c *Config) discover() string {
	return c.complete(`{"supportedVersions":`+c.versions()+`,"capabilities":`+c.Capabilities+c.instructions()+
		`,"_meta":{"io.modelcontextprotocol/serverInfo":`+c.info()+`}}`, true, true)
}

func (c *Config) initialize(requested string) string {
	version := c.Revision
	if version == "" {
		version = newestLegacy
		if slices.Contains(legacyRevisions, requested) {
			version = requested
		}
	}
	return `{"protocolVersion":` + quote(version) + `,"capabilities":` + c.Capabilities + c.instructions() + `,"serverInfo":` + c.info() + `}`
}

// inventory gives the list that a method lists and its member name, or nil.
func (c *Config) inventory(method string) ([]string, string) {
	switch method {
	case "tools/list":
		return c.Tools, "tools"
	case "resources/list":
		if c.Resources == nil && c.Templates != nil {
			return []string{}, "resources"
		}
		return c.Resources, "resources"
	case "resources/templates/list":
		if c.Templates == nil && c.Resources != nil {
			return []string{}, "resourceTemplates"
		}
		return c.Templates, "resourceTemplates"
	case "prompts/list":
		return c.Prompts, "prompts"
	}
	return nil, ""
}

func (c *Config) page(list []string, key, cursor string, modern bool) (string, *rpcError) {
	start, end := 0, len(list)
	if cursor != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(cursor, "from-"))
		if err != nil || n < 0 || n > len(list) {
			return "", &rpcError{200, -32602, "Invalid cursor", ""}
		}
		start = n
	}
	next := ""
	if c.PageSize > 0 && start+c.PageSize < end {
		end = start + c.PageSize
		next = `,"nextCursor":"from-` + strconv.Itoa(end) + `"`
	}
	result := `{"` + key + `":[` + strings.Join(list[start:end], ",") + `]` + next + `}`
	return c.complete(result, modern, true), nil
}

// complete adds the members that modern results must have. cached results also
// have a lifetime.
func (c *Config) complete(result string, modern, cached bool) string {
	if !modern {
		return result
	}
	extra := `"resultType":"complete"`
	if cached {
		extra += `,"ttlMs":60000,"cacheScope":"public"`
	}
	if result == "{}" {
		return "{" + extra + "}"
	}
	return "{" + extra + "," + strings.TrimPrefix(result, "{")
}

// response wraps a raw result, errorResponse an error object.
func response(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func errorResponse(id string, e *rpcError) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":` + e.object() + `}`
}

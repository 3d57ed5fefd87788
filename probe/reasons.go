package probe

import (
	"sort"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// Reasons that this package gives beside those of the layers below.
const (
	reasonInternal            Reason = "internal"
	reasonUnknownPin          Reason = "unknown-pin"
	reasonUnreadableSecret    Reason = "unreadable-secret"
	reasonSlow                Reason = "slow"
	reasonTooFew              Reason = "too-few"
	reasonTooMany             Reason = "too-many"
	reasonRequiredMissing     Reason = "required-missing"
	reasonToolSchema          Reason = "tool-schema"
	reasonCapabilityMismatch  Reason = "capability-mismatch"
	reasonOldRevision         Reason = "old-revision"
	reasonAuthNotAdvertised   Reason = "auth-not-advertised"
	reasonCertificateExpiring Reason = "certificate-expiring"
	reasonTLSFiles            Reason = "tls-files"
	reasonTokenExpired        Reason = "token-expired"
	reasonTokenExpiring       Reason = "token-expiring"
	reasonWrongAudience       Reason = "wrong-audience"
	reasonNotProven           Reason = "credential-not-proven"
	reasonUnsafeTool          Reason = "unsafe-tool"
	reasonInvalidCall         Reason = "invalid-call"
	reasonCallInterrupted     Reason = "call-interrupted"
	reasonContentInvalid      Reason = "content-invalid"
	reasonToolError           Reason = "tool-error"
	reasonOutputSchema        Reason = "output-schema"
	reasonSchemaLimit         Reason = "output-schema-limit"
	reasonCustomCheck         Reason = "custom-check"
	reasonDependency          Reason = "dependency"
)

// ReasonInfo explains one reason code.
type ReasonInfo struct {
	Reason Reason
	// Status is the verdict that goes with the reason. That of a note is
	// healthy: it changes nothing.
	Status Status
	// Code is mcp-healthcheck's error code, or empty for a note.
	Code string
	// Text explains the reason in one line; Hint is what to do when the case
	// has no better advice of its own.
	Text, Hint string

	// dimension is the step an opening that failed with it belongs to.
	dimension target.Dimension
}

// Reasons returns every reason code a report can carry, sorted.
func Reasons() []ReasonInfo {
	out := make([]ReasonInfo, 0, len(reasons))
	for reason, info := range reasons {
		info.Reason = reason
		out = append(out, info)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Reason < out[j].Reason })
	return out
}

func infoOf(reason Reason) ReasonInfo { return reasons[reason] }

func defaultHint(reason Reason) string { return reasons[reason].Hint }

// note is the entry of a reason that changes no verdict.
func note(text, hint string) ReasonInfo {
	return ReasonInfo{Status: StatusHealthy, Text: text, Hint: hint}
}

// entry builders, one a dimension.
func local(text, hint string) ReasonInfo {
	return ReasonInfo{Status: StatusMisconfigured, Code: CodeUnknown, Text: text, Hint: hint, dimension: target.Configuration}
}

func reach(status Status, code, text, hint string) ReasonInfo {
	return ReasonInfo{Status: status, Code: code, Text: text, Hint: hint, dimension: target.Reachability}
}

func login(text, hint string) ReasonInfo {
	return ReasonInfo{Status: StatusMisconfigured, Code: CodeHandshake, Text: text, Hint: hint, dimension: target.Authentication}
}

// away is a login whose authorization server, or the way to it, failed: nothing
// was learnt about the credential.
func away(text, hint string) ReasonInfo {
	return ReasonInfo{Status: StatusUnknown, Code: CodeHandshake, Text: text, Hint: hint, dimension: target.Authentication}
}

func opening(status Status, text, hint string) ReasonInfo {
	return ReasonInfo{Status: status, Code: CodeHandshake, Text: text, Hint: hint, dimension: target.Protocol}
}

func listing(status Status, text, hint string) ReasonInfo {
	return ReasonInfo{Status: status, Code: CodeProtocol, Text: text, Hint: hint, dimension: target.Protocol}
}

func asked(status Status, code, text, hint string) ReasonInfo {
	return ReasonInfo{Status: status, Code: code, Text: text, Hint: hint, dimension: target.Functional}
}

// reasons is the one table of reasons and verdicts (docs/reasons.md is printed
// from it).
var reasons = map[Reason]ReasonInfo{
	// Configuration.
	"invalid-target":                local("the target contradicts itself", "mend the target as the message says"),
	"invalid-endpoint":              local("the endpoint is no usable URL", "give the server's MCP URL, such as https://mcp.example.com/mcp"),
	"invalid-header":                local("a header has no usable name", "write NAME:VALUE"),
	"plaintext-credential":          local("a credential would travel over plain http", "use https"),
	"missing-variable":              local("an environment variable the target refers to is not set", "set it before the check"),
	reasonTLSFiles:                  local("the files of certificates and keys cannot be used", "give PEM files that this user may read"),
	"invalid-entry":                 local("an entry of a client configuration is not usable", "mend the entry in that file"),
	reasonUnreadableSecret:          local("the value of a credential cannot be read", "see that it is set and readable"),
	reasonUnknownPin:                local("the pinned protocol version is not known", "pin a revision that exists"),
	reasonInvalidCall:               local("the functional call is set up wrongly", "mend it as the message says"),
	wire.ReasonBadDirectory:         {Status: StatusMisconfigured, Code: CodeSpawn, Text: "the working directory of a stdio server does not exist", Hint: "give an existing directory", dimension: target.Reachability},
	reasonInternal:                  {Status: StatusUnknown, Code: CodeUnknown, Text: "the check itself failed; this is a fault of mcpvigil", Hint: "please report it with the command that led to it", dimension: target.Configuration},
	wire.ReasonCommandNotFound:      {Status: StatusMisconfigured, Code: CodeSpawn, Text: "the program of a stdio server was not found", Hint: "install it, or give its full path", dimension: target.Reachability},
	wire.ReasonCommandNotExecutable: {Status: StatusMisconfigured, Code: CodeSpawn, Text: "the program of a stdio server cannot be executed", Hint: "make it executable (chmod +x), or name its interpreter", dimension: target.Reachability},

	// Reachability.
	"dns-not-found":           reach(StatusUnhealthy, CodeTransport, "the host name does not exist", "check the spelling of the host, and its DNS record"),
	"dns-failure":             reach(StatusUnknown, CodeTransport, "the resolver could not be asked", "check the DNS resolver of this machine"),
	"connection-refused":      reach(StatusUnhealthy, CodeTransport, "nothing listens on the port", "start the server, or correct host and port"),
	"connection-reset":        reach(StatusUnhealthy, CodeTransport, "the connection was reset", "look into the server's log at this time"),
	"connection-closed":       reach(StatusUnhealthy, CodeTransport, "the connection was closed without an answer", "look into the server's log at this time"),
	"connect-timeout":         reach(StatusUnhealthy, CodeTransport, "no connection came about in time", "check the address, and firewalls that drop packets"),
	"network-error":           reach(StatusUnhealthy, CodeTransport, "the network failed in another way", "see the message"),
	"host-unreachable":        reach(StatusUnhealthy, CodeTransport, "there is no way to the host", "check the address and the route to it"),
	"network-unreachable":     reach(StatusUnknown, CodeTransport, "this machine has no network to that address", "check the network of the machine that runs the check"),
	"address-not-allowed":     reach(StatusMisconfigured, CodeTransport, "the policy on addresses does not allow a connection", "name a public address, or let the policy allow this one: mcpvigil serve --allow-private, or --allow-address NETWORK"),
	"descriptor-limit":        reach(StatusUnknown, CodeTransport, "this machine has no free file descriptors", "raise the limit (ulimit -n), or lower the concurrency"),
	"tls-untrusted":           reach(StatusUnhealthy, CodeTransport, "the certificate is not trusted", "serve the full chain of a valid certificate for this host name"),
	"tls-handshake":           reach(StatusUnhealthy, CodeTransport, "the TLS handshake failed", "check that the port speaks TLS 1.2 or later"),
	"http-malformed":          reach(StatusUnhealthy, CodeTransport, "the port does not speak HTTP", "check the port"),
	wire.ReasonProxyError:     reach(StatusUnknown, CodeTransport, "the proxy did not carry the request", "mend the proxy, or name the host in NO_PROXY"),
	wire.ReasonTimeout:        reach(StatusUnhealthy, CodeTransport, "nothing came before the time ran out", "look whether the server hangs; raise the timeout if it may be that slow"),
	wire.ReasonAborted:        reach(StatusUnhealthy, CodeAborted, "the check was cancelled", "run it again"),
	wire.ReasonProcessExited:  reach(StatusUnhealthy, CodeTransport, "the process of a stdio server ended", "run the command by hand and read what it says"),
	wire.ReasonSpawnFailed:    reach(StatusMisconfigured, CodeSpawn, "the process of a stdio server could not be started", "run the command by hand"),
	wire.ReasonProcessLimit:   reach(StatusUnknown, CodeSpawn, "this machine cannot start another process", "raise the limits of processes, memory and descriptors"),
	wire.ReasonStartupTimeout: reach(StatusUnknown, CodeTransport, "a stdio server was silent for its whole start-up budget", "give it more time, or the variables it waits for"),

	// Authentication.
	wire.ReasonAuthRequired:      login("the server wants a credential", "hand one over: --bearer-env NAME, or auth in the configuration"),
	wire.ReasonTokenRejected:     login("the server refused the credential", "renew the credential, or hand over the right one"),
	wire.ReasonForbidden:         login("the credential may not do this", "give the account behind the credential access to this server"),
	wire.ReasonInsufficientScope: login("the token lacks a scope", "get a token with the scopes that the server names"),

	reasonTokenExpired:               login("the token has ended", "renew the token"),
	reasonWrongAudience:              login("the token is for another resource", "ask for a token with the resource of this server (RFC 8707)"),
	access.ReasonGrantInvalid:        login("the OAuth configuration cannot work", "mend it as the message says"),
	access.ReasonTokenRefused:        login("the authorization server refused to give a token", "check client id and secret, or log in again"),
	access.ReasonTokenResponse:       login("the answer of the token endpoint is not what RFC 6749 says", "look into the authorization server's log"),
	access.ReasonInvalidTarget:       login("the authorization server gives no token for this resource", "register the resource with the authorization server"),
	access.ReasonLoginRequired:       login("nobody has logged in yet, or the login has ended", "run the login command"),
	access.ReasonTokenFile:           login("the token file cannot be used", "run the login command, which makes it anew"),
	access.ReasonTokenFileBinding:    login("the token file belongs to another issuer, resource or client", "run the login command for this target"),
	access.ReasonLoginDenied:         login("the login was denied", "try again, and allow it"),
	access.ReasonLoginRefused:        login("the authorization server refused the login", "check client id, redirect URI and scopes"),
	access.ReasonLoginState:          login("the callback does not belong to this login", "start the login anew"),
	access.ReasonLoginIssuer:         login("the callback names another issuer", "do not go on: somebody may be mixing up servers"),
	access.ReasonLoginResponse:       login("the callback is not what RFC 6749 says", "start the login anew"),
	access.ReasonLoginTimeout:        login("nobody logged in in time", "start the login anew"),
	access.ReasonCallbackPort:        login("the port of the callback is in use", "choose another port, or leave it out"),
	access.ReasonServerUnavailable:   away("the authorization server fails to answer", "look at the authorization server; the server behind it may be well"),
	access.ReasonMetadataUnavailable: away("the metadata of the resource cannot be fetched now", "look at the server that publishes it"),

	// The discovery chain. In auth.mode oauth a broken rung is unhealthy, and one
	// that works with a flaw is a note.
	access.ReasonAuthNotRequired:     login("the server asks nobody for a credential", "check it without auth"),
	access.ReasonAuthStatus:          login("the server refuses, but not with 401", "answer 401 with a Bearer challenge (RFC 6750, 3)"),
	access.ReasonNotInChallenge:      note("the challenge does not name the resource metadata", "add resource_metadata to it (RFC 9728, 5.1)"),
	access.ReasonMetadataRelative:    note("resource_metadata is no absolute URL", "send an absolute URL"),
	access.ReasonMetadataOtherOrigin: login("the metadata is on another origin than the endpoint", "publish it on the endpoint's origin"),
	access.ReasonMetadataScheme:      login("metadata names plain http", "forward the scheme to the server behind the proxy (X-Forwarded-Proto)"),
	access.ReasonMetadataLoopback:    login("a remote server's metadata names this machine", "publish public addresses"),
	access.ReasonMetadataMissing:     login("a metadata document is not there", "publish it at its well-known place"),
	access.ReasonMetadataNeedsAuth:   login("a metadata document asks for a credential", "open the well-known path to everybody"),
	access.ReasonMetadataRedirect:    login("a metadata document redirects", "serve it in its well-known place itself"),
	access.ReasonMetadataTooLarge:    login("a metadata document is too large", "keep it under 64 KiB"),
	access.ReasonMetadataMalformed:   login("a metadata document is malformed", "mend it (RFC 9728, RFC 8414)"),
	access.ReasonMetadataType:        note("a metadata document is not labelled as JSON", "send application/json"),
	access.ReasonResourceMismatch:    login("the metadata is of another resource (a note where only the spelling differs)", "let resource be the endpoint's URL to the letter"),
	access.ReasonIssuerSlash:         note("two documents differ by the final slash of the issuer", "write the issuer in the same way in both"),
	access.ReasonIssuerMismatch:      login("the authorization server's metadata is of another issuer", "let issuer be what the resource metadata lists"),
	access.ReasonNoServer:            login("the resource metadata lists no authorization server that can be used", "list one in authorization_servers"),
	access.ReasonLegacyDiscovery:     note("the authorization server is found in the way of 2025-03-26 only", "publish resource metadata (RFC 9728)"),
	access.ReasonEndpointMissing:     login("the authorization server names no endpoint that a login needs", "publish authorization_endpoint and token_endpoint"),
	access.ReasonPKCENotAdvertised:   note("the authorization server does not mention PKCE", "list S256 in code_challenge_methods_supported: clients since 2025-11-25 must refuse otherwise"),
	access.ReasonPKCES256:            login("the authorization server does not take S256", "support S256 (RFC 7636)"),
	access.ReasonNoRegistration:      login("a client without an id has no way to get one (a note where one is configured)", "support client ID metadata documents, or register a client by hand"),
	access.ReasonDynamicOnly:         note("clients can register dynamically only, which is deprecated", "support client ID metadata documents"),
	access.ReasonRefreshRotated:      note("the refresh token was replaced and there is nowhere to keep the new one", "set token_file"),
	access.ReasonScopeReduced:        note("fewer scopes were granted than asked for", "check what the check needs"),
	"several-authorization-servers":  note("the resource metadata lists several authorization servers, and the first is looked at", "pin the issuer"),
	reasonNotProven:                  note("the server works without the credential too", "a check proves a credential only where the server asks for one"),

	// What answers in place of the server.
	wire.ReasonNotMCPEndpoint: opening(StatusMisconfigured, "what answers is no MCP server", "configure the server's MCP URL; it often ends in /mcp"),
	wire.ReasonLegacySSE:      opening(StatusMisconfigured, "the endpoint speaks the old HTTP+SSE transport", "check it with --sse (transport: sse)"),
	wire.ReasonEdgeChallenge:  opening(StatusUnknown, "a bot challenge in front of the server answered", "let the check through: allow its address or its User-Agent at the edge"),
	wire.ReasonHostRejected:   opening(StatusUnhealthy, "the server's guard on Host or Origin refused the request", "add the host to the server's allow-list"),
	wire.ReasonRedirect:       opening(StatusUnhealthy, "a redirect that is not followed, or as a note one that was", "configure the URL it leads to"),
	wire.ReasonRateLimited:    opening(StatusUnhealthy, "the server answers 429", "check less often, or raise the limit for this client"),
	wire.ReasonHTTP5xx:        opening(StatusUnhealthy, "the server answers with a server error", "look into the server's log at this time"),
	wire.ReasonHTTPStatus:     opening(StatusUnhealthy, "the server answers with a status that no MCP server gives", "check the path of the URL"),
	wire.ReasonAcceptRejected: opening(StatusUnhealthy, "the server refuses the media types of the protocol (406)", "accept application/json and text/event-stream"),

	// Protocol: bytes.
	wire.ReasonPartialResponse:  listing(StatusUnknown, "an answer began and was not complete in time", "raise the timeout, or look what holds the answer up"),
	wire.ReasonTruncatedBody:    listing(StatusUnhealthy, "the body of an answer is cut off", "look at what stands between server and client"),
	wire.ReasonBadEncoding:      listing(StatusUnhealthy, "the body has a content coding that does not fit", "send gzip as asked for, or none"),
	wire.ReasonResponseTooLarge: listing(StatusUnknown, "an answer is over the limit", "raise the limit (--max-response, limits.response_bytes) if the server is meant to answer that much"),
	wire.ReasonMalformedJSON:    listing(StatusUnhealthy, "an answer is not JSON", "look at what the server writes"),
	wire.ReasonMalformedMessage: listing(StatusUnhealthy, "an answer is no JSON-RPC message", "send jsonrpc 2.0 with result or error"),
	wire.ReasonIDMismatch:       listing(StatusUnhealthy, "an answer has another id than the request", "repeat the id as it was sent, type included"),
	wire.ReasonEmptyResponse:    listing(StatusUnhealthy, "a request was answered with nothing", "answer with a JSON-RPC response"),
	wire.ReasonContentType:      listing(StatusUnhealthy, "an answer has a content type that does not fit", "send application/json or text/event-stream"),
	wire.ReasonSSEStalled:       listing(StatusUnhealthy, "an event stream opened and stayed silent", "turn response buffering off in the proxy (X-Accel-Buffering: no)"),
	wire.ReasonSSEEnded:         listing(StatusUnhealthy, "an event stream ended without the answer", "send the answer before closing the stream"),
	wire.ReasonSSENoEndpoint:    opening(StatusUnhealthy, "an HTTP+SSE server did not name its message endpoint", "send an endpoint event first"),
	wire.ReasonSSEEndpoint:      opening(StatusUnhealthy, "an HTTP+SSE server named a message endpoint of another origin", "announce a relative path"),
	wire.ReasonResumeLimit:      listing(StatusUnknown, "an event stream ended too often", "keep the stream open until the answer"),
	wire.ReasonNotifyRejected:   opening(StatusUnhealthy, "the server refuses notifications", "answer notifications with 202 and no body"),
	wire.ReasonSessionID:        opening(StatusUnhealthy, "the session id is malformed", "send one of visible ASCII characters"),
	wire.ReasonSessionLost:      listing(StatusUnhealthy, "the server forgot the session it had just opened", "with several instances, keep a session on one of them, or share the sessions"),

	// Protocol: meaning.
	wire.ReasonRPCError:           listing(StatusUnhealthy, "the server answered with a JSON-RPC error", "look into the server's log at this time"),
	wire.ReasonHeaderMismatch:     opening(StatusUnhealthy, "the server says that headers and body disagree (-32020)", "look whether a proxy drops or changes Mcp-* headers"),
	wire.ReasonMissingCapability:  opening(StatusUnhealthy, "the server demands a client capability (-32021)", "a server must list what it has to a client without extras"),
	wire.ReasonVersionMismatch:    opening(StatusUnhealthy, "the server speaks another revision than the pinned one", "change the pin, or the server"),
	wire.ReasonVersionUnsupported: opening(StatusUnhealthy, "there is no revision that both sides speak", "update the server"),
	wire.ReasonInvalidDiscover:    opening(StatusUnhealthy, "the answer to server/discover lacks what it must have", "send supportedVersions and capabilities"),
	wire.ReasonInvalidInitialize:  opening(StatusUnhealthy, "the answer to initialize lacks what it must have", "send protocolVersion, capabilities and serverInfo"),
	wire.ReasonDiscoverMissing:    opening(StatusUnhealthy, "the server knows neither server/discover nor initialize", "implement server/discover"),
	wire.ReasonProbeTimeout:       opening(StatusUnhealthy, "server/discover was not answered", "look whether the server hangs; pin the revision if it ignores methods it does not know"),
	wire.ReasonResultType:         listing(StatusUnhealthy, "a result has a resultType that no client knows", "send resultType complete"),
	wire.ReasonInputRequired:      listing(StatusUnknown, "the server wants input first", "a check gives none"),

	// Inventories.
	"tools-not-array":                 listing(StatusUnhealthy, "tools/list has no array of tools", "send an array, empty if there are none"),
	"resources-not-array":             listing(StatusUnhealthy, "resources/list has no array of resources", "send an array, empty if there are none"),
	"resource-templates-not-array":    listing(StatusUnhealthy, "resources/templates/list has no array of templates", "send an array, empty if there are none"),
	"prompts-not-array":               listing(StatusUnhealthy, "prompts/list has no array of prompts", "send an array, empty if there are none"),
	"tool-entry-invalid":              listing(StatusUnhealthy, "an entry of tools/list is no tool", "send objects with a name and an inputSchema"),
	"resource-entry-invalid":          listing(StatusUnhealthy, "an entry of resources/list is no resource", "send objects with a uri and a name"),
	"resource-template-entry-invalid": listing(StatusUnhealthy, "an entry of resources/templates/list is no template", "send objects with a uriTemplate and a name"),
	"prompt-entry-invalid":            listing(StatusUnhealthy, "an entry of prompts/list is no prompt", "send objects with a name"),
	reasonToolSchema:                  listing(StatusUnhealthy, "a tool has a schema that makes strict clients drop every tool", `give each tool an inputSchema with "type": "object"`),
	wire.ReasonPaginationLimit:        listing(StatusUnknown, "a list goes on past the page limit", "raise the limit (--max-pages, limits.pages), or end the list"),
	wire.ReasonPaginationLoop:         listing(StatusUnhealthy, "a list repeats a cursor (a note while it still lists something)", "leave nextCursor out on the last page"),
	wire.ReasonEntryLimit:             listing(StatusUnknown, "a list has more entries than the limit", "raise the limit (--max-entries, limits.entries) if the server really has that many"),

	// What was asked for.
	reasonRequiredMissing: asked(StatusUnhealthy, CodeProtocol, "something that is required is not there", "restore it, or correct the requirement"),
	reasonTooFew:          asked(StatusDegraded, CodeThreshold, "there is less than the minimum", "restore what is missing, or lower the threshold"),
	reasonTooMany:         asked(StatusDegraded, CodeThreshold, "there is more than the maximum", "look at what was added, or raise the threshold"),
	reasonTokenExpiring:   {Status: StatusDegraded, Code: CodeThreshold, Text: "the credential ends sooner than the threshold", Hint: "renew it", dimension: target.Authentication},
	reasonSlow:            asked(StatusDegraded, CodeThreshold, "it took longer than the threshold", "look at the stages to see where the time went"),
	reasonUnsafeTool:      asked(StatusMisconfigured, CodeUnknown, "the tool of the functional call is not declared read-only", "choose a tool with readOnlyHint true and destructiveHint false"),
	reasonCallInterrupted: asked(StatusUnknown, CodeTransport, "the functional call was interrupted", "a call is made once; look whether it arrived"),
	reasonContentInvalid:  asked(StatusUnhealthy, CodeProtocol, "the result of the functional call is malformed", "send content blocks of known types with their members"),
	reasonToolError:       asked(StatusUnhealthy, CodeProtocol, "the tool of the functional call reported an error", "call it by hand with the same arguments"),
	reasonSchemaLimit:     asked(StatusUnknown, CodeProtocol, "validating the result by the tool's output schema would take too long", "simplify the schema: it multiplies out to millions of steps"),
	reasonOutputSchema:    asked(StatusUnhealthy, CodeProtocol, "the result of the functional call breaks the tool's own output schema", "make result and outputSchema agree"),
	reasonCustomCheck:     asked(StatusDegraded, CodeCustomCheck, "a custom check did not pass", "see its message"),
	reasonDependency:      asked(StatusUnhealthy, CodeUnknown, "a target that this one depends on is not healthy", "look at the dependency first"),

	// Notes.
	"stale-connection":            note("a kept connection was dead and a new one worked", "raise the idle timeout of the server or the balancer"),
	"get-not-sse":                 note("GET is answered with 200 and no event stream", "answer 405 to GET when there is no stream"),
	"get-status":                  note("GET is answered with another status than 405", "answer 405 to GET when there is no stream"),
	"get-stream":                  note("GET opens a stream that the revision does not have", "answer 405 to GET"),
	"notification-ack":            note("a notification is not answered with 202 and no body", "answer notifications with 202 and no body"),
	"answer-status":               note("an answer came with another success than 200", "answer requests with 200"),
	"batch-reply":                 note("an answer is a JSON-RPC batch", "answer with one object"),
	"bom":                         note("an answer starts with a byte order mark", "send UTF-8 without one"),
	wire.ReasonInvalidUTF8:        note("an answer is not valid UTF-8", "write UTF-8"),
	"duplicate-member":            note("an object has a member twice, or in another letter case", "send it once"),
	"null-field":                  note("an optional member is null", "leave it out"),
	"duplicate-tool":              note("two different tools have one name", "give each a name of its own"),
	"duplicate-resource":          note("two different resources have one URI", "give each a URI of its own"),
	"duplicate-resource-template": note("two different templates have one URI template", "give each one of its own"),
	"duplicate-prompt":            note("two different prompts have one name", "give each a name of its own"),
	"tool-name":                   note("the name of a tool is too long or has odd characters", "use at most 64 of A-Z a-z 0-9 _ -"),
	"tool-name-portable":          note("the name of a tool has a dot or a slash", "some model APIs take only letters, digits, _ and -"),
	"invalid-tool-header":         note("a tool is left out because of an invalid x-mcp-header", "mend the annotation"),
	"modern-result-fields":        note("a result lacks members that 2026-07-28 requires", "send resultType, ttlMs and cacheScope"),
	"draft-server-info":           note("serverInfo stands where drafts of 2026-07-28 had it", "move it into _meta"),
	"server-info":                 note("serverInfo is incomplete", "send name and version"),
	"server-request":              note("a request of the server where the revision allows none", "use resultType input_required"),
	"version-negotiation":         note("the server refuses an offer instead of answering with its own", "answer initialize with a revision of your own"),
	"version-echo":                note("the server repeats whatever revision it is offered", "answer with a revision that the server really speaks"),
	"exit-on-unknown-method":      note("the server ends when it gets a method it does not know", "answer unknown methods with error -32601"),
	"stdout-noise":                note("something else than messages stands on standard output", "write logs to standard error"),
	"slow-shutdown":               note("the server did not end when its input was closed", "end when standard input ends"),
	"stray-processes":             note("processes of a stdio server had left its process group, and were killed", "end what the server starts when the server ends"),
	"session-restarted":           note("the server forgot a session and took a new one", "with several instances, keep a session on one of them, or share the sessions"),
	"session-expiry-status":       note("a forgotten session is answered with another status than 404", "answer 404"),
	reasonCapabilityMismatch:      note("a declared capability is not implemented", "implement it, or do not declare it"),
	reasonOldRevision:             note("the server settles on a revision before 2025-06-18", "update the server: clients begin to drop that revision"),
	reasonAuthNotAdvertised:       note("a refusal carries no challenge", "send WWW-Authenticate with a 401 (RFC 9110, 11.6.1), so that clients know how to get in"),
	reasonCertificateExpiring:     note("the certificate ends soon", "renew it"),
}

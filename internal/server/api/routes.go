package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// Open is the permission of routes that need no credential.
const Open people.Permission = ""

// Route is one thing that the API does.
type Route struct {
	// Method and Path are its address, below Prefix; names in braces stand for values.
	Method, Path string
	// OperationID names it in the document.
	OperationID string
	// Permission is what who makes the request needs, or Open.
	Permission people.Permission
	// Person: no API key may, whatever its role.
	Person  bool
	Summary string
	// Description is for what the summary cannot say.
	Description string
	// Status is that of success.
	Status int
	// Media is the type of the answer when it is no JSON.
	Media string
	// Makes: what is not there yet is made, and the status is 201 then.
	Makes bool
	// Proposes: where it takes two persons, the first one's is taken with the status 202.
	Proposes bool
	// Also are statuses of refusals beyond those that every route has.
	Also []int

	register func(*API, huma.Operation)
}

const routeKey = "route"

// routeOf is the route of an operation. One that is not of the table is for nobody.
func routeOf(op *huma.Operation) *Route {
	if r, ok := op.Metadata[routeKey].(*Route); ok {
		return r
	}
	return &Route{Permission: "none"}
}

// forbids gives why an actor may not use the route, or nil.
func (r *Route) forbids(actor people.Actor) *Problem {
	_, person := actor.Session()
	if !person && (r.Person || r.Permission == people.Approve) {
		return personOnly()
	}
	if !actor.Can(r.Permission) {
		return &Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: "the role " + string(actor.Role()) + " does not allow this", Hint: "ask an administrator"}
	}
	return nil
}

func personOnly() *Problem {
	return &Problem{Status: http.StatusForbidden, Code: "proof-required", Detail: "no API key may do this", Hint: "a person has to do it, signed in"}
}

// handle makes a handler of the library from one of ours.
func handle[I, O any](f func(*API, context.Context, *I) (*O, error)) func(*API, huma.Operation) {
	return func(a *API, op huma.Operation) {
		huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := f(a, ctx, in)
			if err != nil {
				return nil, a.problem(ctx, err)
			}
			return out, nil
		})
	}
}

// operation is the route in the words of the library, with every status it can have.
func (r *Route) operation(problem *huma.Schema) huma.Operation {
	op := huma.Operation{
		Method: r.Method, Path: r.Path, OperationID: r.OperationID, Summary: r.Summary, Description: r.Description,
		DefaultStatus: r.Status, MaxBodyBytes: maxBody + 1, Metadata: map[string]any{routeKey: r},
		Responses: map[string]*huma.Response{}, Security: []map[string][]string{{"session": {}}, {"key": {}}},
	}
	statuses := []int{http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.Method != http.MethodGet {
		statuses = append(statuses, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	switch {
	case r.Permission == Open:
		op.Security = []map[string][]string{}
	case r.Permission == people.Approve || r.Person:
		op.Security = []map[string][]string{{"session": {}}}
		fallthrough
	default:
		statuses = append(statuses, http.StatusUnauthorized)
	}
	if r.Media != "" {
		op.Responses[strconv.Itoa(r.Status)] = &huma.Response{
			Content: map[string]*huma.MediaType{r.Media: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}
	}
	for _, status := range slices.Concat(statuses, r.Also) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}
	}
	return op
}

// serve registers the route.
func (r *Route) serve(a *API, problem *huma.Schema) {
	op := r.operation(problem)
	r.register(a, op)
	if r.Makes {
		made := *op.Responses[strconv.Itoa(r.Status)]
		made.Description = http.StatusText(http.StatusCreated)
		op.Responses[strconv.Itoa(http.StatusCreated)] = &made
	}
	if r.Proposes {
		proposed := *op.Responses[strconv.Itoa(r.Status)]
		proposed.Description = http.StatusText(http.StatusAccepted)
		op.Responses[strconv.Itoa(http.StatusAccepted)] = &proposed
	}
}

// Routes is everything that the API does.
func Routes() []Route {
	return slices.Concat(accessRoutes(), monitorRoutes(), approvalRoutes(), historyRoutes(), incidentRoutes(), pageRoutes(), pagingRoutes(), peopleRoutes())
}

func read(path, id, summary string, register func(*API, huma.Operation), also ...int) Route {
	return Route{Method: http.MethodGet, Path: path, OperationID: id, Permission: people.Read, Summary: summary, Status: http.StatusOK, Also: also, register: register}
}

func write(method, path, id, summary string, status int, register func(*API, huma.Operation), also ...int) Route {
	return Route{Method: method, Path: path, OperationID: id, Permission: people.Write, Summary: summary, Status: status, Also: also, register: register}
}

// ownAccount is a route about the account of the person who is signed in.
func ownAccount(method, path, id, summary string, status int, register func(*API, huma.Operation), also ...int) Route {
	return Route{Method: method, Path: path, OperationID: id, Permission: people.Read, Person: true, Summary: summary, Status: status, Also: also, register: register}
}

func admin(r Route) Route {
	r.Permission = people.Administer
	return r
}

const (
	missing  = http.StatusNotFound
	conflict = http.StatusConflict
)

func accessRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/setup", OperationID: "setup", Permission: Open, Status: http.StatusCreated,
			Summary:     "Make the first account",
			Description: "With the token that the server shows at its start while there is no account. The account is an administrator's.",
			Also:        []int{http.StatusUnauthorized, conflict}, register: handle((*API).setup),
		},
		{
			Method: http.MethodPost, Path: "/session", OperationID: "signIn", Permission: Open, Status: http.StatusCreated,
			Summary: "Sign in", Description: "With a code where the account has a code app: answers 401 code-required without. The session is in a cookie of the answer.",
			Also: []int{http.StatusUnauthorized}, register: handle((*API).signIn),
		},
		{
			Method: http.MethodDelete, Path: "/session", OperationID: "signOut", Permission: people.Read, Person: true, Status: http.StatusNoContent,
			Summary: "Sign out", register: handle((*API).signOut),
		},
		read("/me", "getMe", "Who makes this request", handle((*API).me)),
		{
			Method: http.MethodGet, Path: "/sessions", OperationID: "listSessions", Permission: people.Read, Person: true, Status: http.StatusOK,
			Summary: "The sessions of the own account", register: handle((*API).sessions),
		},
		{
			Method: http.MethodDelete, Path: "/sessions/{id}", OperationID: "revokeSession", Permission: people.Read, Person: true, Status: http.StatusNoContent,
			Summary: "End a session of the own account", Also: []int{missing}, register: handle((*API).revokeSession),
		},
		ownAccount(http.MethodGet, "/account/factors", "getFactors", "What the own account signs in and proves with", http.StatusOK, handle((*API).factors)),
		described(ownAccount(http.MethodPost, "/account/totp", "beginTOTP", "Set up a code app", http.StatusOK, handle((*API).beginTOTP)),
			"With the password, and a code where there is a code app already, which counts until the new one is confirmed."),
		described(ownAccount(http.MethodPost, "/account/totp/confirm", "confirmTOTP", "Confirm a code app with its first code", http.StatusOK, handle((*API).confirmTOTP), missing),
			"Answers ten recovery codes, which are not shown again, and ends the account's other sessions."),
		ownAccount(http.MethodDelete, "/account/totp", "removeTOTP", "Remove the code app and the recovery codes", http.StatusNoContent, handle((*API).removeTOTP), missing),
		described(ownAccount(http.MethodPost, "/account/recovery", "newRecoveryCodes", "Replace the recovery codes", http.StatusOK, handle((*API).newRecoveryCodes)),
			"Each counts once, in the place of a code of the code app."),
		read("/openapi.json", "getOpenAPI", "This document", handle((*API).openAPI)),
	}
}

func monitorRoutes() []Route {
	return []Route{
		read("/monitors", "listMonitors", "Monitors", handle((*API).listMonitors)),
		write(http.MethodPost, "/monitors", "createMonitor", "Make a monitor", http.StatusCreated, handle((*API).createMonitor), conflict),
		read("/monitors/{id}", "getMonitor", "One monitor", handle((*API).getMonitor), missing),
		described(write(http.MethodPatch, "/monitors/{id}", "editMonitor", "Change a monitor", http.StatusOK, handle((*API).editMonitor), missing, conflict),
			"Changes what the body names. A header without a value keeps the one that is stored; leaving the mode header deletes them. On a monitor with an approved surface, another endpoint, credential or identity, a looser policy, a longer interval, a location less, another escalation, or what brings it into a window of an expected change, needs a person who may approve, with the password: answers 403 proof-required otherwise."),
		described(write(http.MethodDelete, "/monitors/{id}", "deleteMonitor", "Delete a monitor", http.StatusNoContent, handle((*API).deleteMonitor), missing, conflict),
			"Deleting a monitor with an approved surface, or one that awaits a person, needs a person who may approve, with the password: made again, its next surface would count as the first one. Pausing it needs neither."),
		write(http.MethodPost, "/monitors/{id}/pause", "pauseMonitor", "Stop its checks", http.StatusOK, handle((*API).pauseMonitor), missing, conflict),
		write(http.MethodPost, "/monitors/{id}/resume", "resumeMonitor", "Start its checks again", http.StatusOK, handle((*API).resumeMonitor), missing, conflict),
		described(write(http.MethodPost, "/monitors/{id}/run", "runMonitor", "Check it now", http.StatusAccepted, handle((*API).runMonitor), missing, conflict),
			"The result appears among its results with the kind manual."),
		read("/external-ids/{external_id}", "getMonitorByExternalID", "The monitor that the caller knows by an id of its own", handle((*API).getMonitorByExternalID), missing),
		described(making(write(http.MethodPut, "/external-ids/{external_id}", "putMonitor", "Make or replace a monitor by an id of the caller", http.StatusOK, handle((*API).putMonitor), conflict)),
			"Can be repeated. What the body leaves out gets its default, but for values of headers, which stay. Answers 201 when the monitor was made by it. Needs a proof where a change does."),
	}
}

func making(r Route) Route {
	r.Makes = true
	return r
}

func described(r Route, text string) Route {
	r.Description = text
	return r
}

func approvalRoutes() []Route {
	return []Route{
		described(read("/monitors/{id}/review", "reviewMonitor", "What there is to decide about its surface", handle((*API).review), missing, conflict),
			"Changes with before and after, and findings, against what is approved. All of it quotes the server."),
		read("/monitors/{id}/approvals", "listApprovals", "What counts as approved", handle((*API).approvals), missing),
		{
			Method: http.MethodPost, Path: "/monitors/{id}/approvals", OperationID: "acceptSurface", Permission: people.Approve, Status: http.StatusOK,
			Summary:     "Accept its surface, or parts of it",
			Description: "By a person who is signed in and may approve, with the password. No API key can. Bound to the digest that the review showed. Where it takes two persons, the first one's answer is 202 and the monitor has the proposal; the second one names its id.",
			Also:        []int{missing, conflict}, Proposes: true, register: handle((*API).accept),
		},
		{
			Method: http.MethodDelete, Path: "/monitors/{id}/proposals/{proposal}", OperationID: "withdrawProposal", Permission: people.Approve, Status: http.StatusOK,
			Summary: "Take back what oneself proposed", Also: []int{missing}, register: handle((*API).withdrawProposal),
		},
		{
			Method: http.MethodPost, Path: "/monitors/{id}/rejections", OperationID: "rejectSurface", Permission: people.Approve, Status: http.StatusOK,
			Summary:     "Note that its surface, or parts of it, is not approved",
			Description: "Changes nothing of what fails. The review shows it until the server shows something else; it is on the timeline too.",
			Also:        []int{missing, conflict}, register: handle((*API).reject),
		},
		{
			Method: http.MethodDelete, Path: "/monitors/{id}/approvals", OperationID: "withdrawApprovals", Permission: people.Approve, Status: http.StatusOK,
			Summary:     "Withdraw what is approved",
			Description: "Its surface is unknown until a person accepts one.",
			Also:        []int{missing, conflict}, register: handle((*API).withdraw),
		},
	}
}

func historyRoutes() []Route {
	return []Route{
		described(read("/locations", "listLocations", "Where checks run, and how they do there", handle((*API).locations)),
			"With the checks that wait, and the open incident of a location whose checks do not run."),
		read("/events", "listEvents", "The timeline", handle((*API).events)),
		read("/monitors/{id}/results", "listResults", "Its checks, the latest first", handle((*API).results), missing),
		read("/monitors/{id}/rollups", "listRollups", "Its checks in sums", handle((*API).rollups), missing),
		read("/monitors/{id}/uptime", "getUptime", "Its uptime, without maintenance", handle((*API).uptime), missing),
		read("/monitors/{id}/reports", "listReports", "Its last report from each location", handle((*API).reports), missing),
		read("/monitors/{id}/surfaces", "listSurfaces", "The surfaces it showed, the latest first", handle((*API).sightings), missing),
		described(read("/monitors/{id}/surface", "getSurfaceAt", "What it told agents, now or at a time", handle((*API).surfaceAt), missing),
			"As the command surface saves it. All of it is the server's text."),
		read("/surfaces/{digest}", "getSurface", "A surface by its digest", handle((*API).surface), missing),
		described(read("/search", "search", "Where servers say something", handle((*API).search)),
			"In names, descriptions, instructions, schemas, resources and prompts of what monitors show now, in any case. It looks for two seconds at most; partial says that it was not everywhere. Everything found is the server's text."),
		{
			Method: http.MethodGet, Path: "/export", OperationID: "export", Permission: people.Administer, Status: http.StatusOK, Media: "application/yaml",
			Summary:     "A configuration file of what was made through the API",
			Description: "Without secrets: it refers to variables of the environment in their place.",
			Also:        []int{missing, conflict}, register: handle((*API).export),
		},
	}
}

func incidentRoutes() []Route {
	return []Route{
		read("/incidents", "listIncidents", "Incidents, the latest first", handle((*API).incidents)),
		read("/incidents/{id}", "getIncident", "One incident", handle((*API).incident), missing),
		write(http.MethodPost, "/incidents/{id}/acknowledge", "acknowledgeIncident", "Look after an incident", http.StatusOK, handle((*API).acknowledge), missing, conflict),
		write(http.MethodPost, "/incidents/{id}/assign", "assignIncident", "Give an incident to an account", http.StatusOK, handle((*API).assign), missing, conflict),
		write(http.MethodPost, "/incidents/{id}/comments", "commentIncident", "Say something of an incident", http.StatusOK, handle((*API).comment), missing, conflict),
		described(write(http.MethodPost, "/incidents/{id}/snooze", "snoozeIncident", "Have nobody told of an incident for a time", http.StatusOK, handle((*API).snooze), missing, conflict),
			"It ends by itself when the incident gets worse. Of a surface or a finding the first step of its policy is told all the same."),
		read("/notifications", "listNotifications", "What was told to whom, the latest first", handle((*API).notifications)),
	}
}

func pagingRoutes() []Route {
	return []Route{
		read("/channel-types", "listChannelTypes", "Types of channels, and their settings", handle((*API).channelTypes)),
		read("/channels", "listChannels", "Channels, without their settings", handle((*API).channels)),
		admin(write(http.MethodPost, "/channels", "createChannel", "Make a channel", http.StatusCreated, handle((*API).createChannel), conflict)),
		read("/channels/{id}", "getChannel", "One channel, without its settings", handle((*API).channel), missing),
		described(admin(write(http.MethodPut, "/channels/{id}", "putChannel", "Replace a channel", http.StatusOK, handle((*API).putChannel), missing, conflict)),
			"To change one that a policy tells needs a person, with the password."),
		admin(write(http.MethodDelete, "/channels/{id}", "deleteChannel", "Delete a channel that no policy tells", http.StatusNoContent, handle((*API).deleteChannel), missing, conflict)),
		admin(write(http.MethodPost, "/channels/{id}/test", "testChannel", "Send a test message", http.StatusOK, handle((*API).testChannel), missing)),
		read("/channels/{id}/deliveries", "listDeliveries", "Attempts to reach it, the latest first", handle((*API).deliveries), missing),
		read("/escalations", "listEscalations", "Policies of who is told when", handle((*API).escalations)),
		read("/escalations/{name}", "getEscalation", "One policy", handle((*API).escalation), missing),
		described(admin(write(http.MethodPut, "/escalations/{name}", "putEscalation", "Make or replace a policy", http.StatusOK, handle((*API).putEscalation), conflict)),
			"Telling less of surfaces and findings than before (states, channels, later, less often) needs a person, with the password."),
		described(admin(write(http.MethodDelete, "/escalations/{name}", "deleteEscalation", "Delete a policy that no monitor follows", http.StatusNoContent, handle((*API).deleteEscalation), missing, conflict)),
			"The default one needs a person, with the password."),
		read("/windows", "listWindows", "Planned times", handle((*API).windows)),
		described(write(http.MethodPost, "/windows", "createWindow", "Plan a time", http.StatusCreated, handle((*API).createWindow), conflict),
			"An expected-change window needs a person who may approve, with the password."),
		read("/windows/{id}", "getWindow", "One planned time", handle((*API).window), missing),
		write(http.MethodPut, "/windows/{id}", "putWindow", "Replace a planned time", http.StatusOK, handle((*API).putWindow), missing, conflict),
		write(http.MethodDelete, "/windows/{id}", "deleteWindow", "Delete a planned time", http.StatusNoContent, handle((*API).deleteWindow), missing, conflict),
	}
}

func pageRoutes() []Route {
	return []Route{
		read("/status-pages", "listStatusPages", "Status pages", handle((*API).statusPages)),
		read("/status-pages/{slug}", "getStatusPage", "One status page", handle((*API).statusPage), missing),
		described(making(write(http.MethodPut, "/status-pages/{slug}", "putStatusPage", "Make or replace a status page", http.StatusOK, handle((*API).putStatusPage), conflict)),
			"It is shown at /status/SLUG to everybody, or to who knows its password. Nothing on it is a server's text."),
		write(http.MethodDelete, "/status-pages/{slug}", "deleteStatusPage", "Delete a status page", http.StatusNoContent, handle((*API).deleteStatusPage), missing, conflict),
	}
}

func peopleRoutes() []Route {
	return []Route{
		admin(read("/accounts", "listAccounts", "Accounts", handle((*API).accounts))),
		{
			Method: http.MethodPost, Path: "/accounts", OperationID: "createAccount", Permission: people.Administer, Person: true, Status: http.StatusCreated,
			Summary: "Make an account", Description: "With the password of who makes it.", Also: []int{conflict}, register: handle((*API).createAccount),
		},
		{
			Method: http.MethodPatch, Path: "/accounts/{id}", OperationID: "editAccount", Permission: people.Read, Person: true, Status: http.StatusOK,
			Summary:     "Change role or password of an account, or disable it",
			Description: "With the password of who changes it. Everybody may change the password of the own account, an administrator all of it.",
			Also:        []int{missing, conflict}, register: handle((*API).editAccount),
		},
		admin(read("/keys", "listKeys", "API keys, without their texts", handle((*API).keys))),
		{
			Method: http.MethodPost, Path: "/keys", OperationID: "createKey", Permission: people.Administer, Person: true, Status: http.StatusCreated,
			Summary: "Make an API key", Description: "With the password of who makes it. Its text is in this answer alone.", Also: []int{conflict}, register: handle((*API).createKey),
		},
		admin(write(http.MethodDelete, "/keys/{id}", "revokeKey", "End an API key", http.StatusNoContent, handle((*API).revokeKey), missing)),
		admin(read("/audit", "listAudit", "Who did what, the latest first", handle((*API).audit))),
		{
			Method: http.MethodGet, Path: "/audit/export", OperationID: "exportAudit", Permission: people.Administer, Status: http.StatusOK, Media: "application/x-ndjson",
			Summary:     "All of the audit, the oldest first",
			Description: "An entry a line, with its hash and that of the one before it: mcpvigil audit verify looks whether the file is whole.",
			register:    handle((*API).exportAudit),
		},
		admin(read("/audit/state", "getAuditState", "Whether the audit is whole", handle((*API).auditState))),
		{
			Method: http.MethodPost, Path: "/accounts/{id}/reset", OperationID: "resetFactors", Permission: people.Administer, Person: true, Status: http.StatusNoContent,
			Summary: "Remove code app, recovery codes and passkeys of an account", Description: "For who has lost them. With a proof of who does it. Ends the account's sessions.",
			Also: []int{missing}, register: handle((*API).resetFactors),
		},
		admin(write(http.MethodDelete, "/accounts/{id}/sessions", "endSessions", "End all sessions of an account", http.StatusNoContent, handle((*API).endSessions), missing)),
	}
}

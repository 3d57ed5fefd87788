// Package probe runs one honest check of one MCP server: can a conforming
// client reach it, get in, agree on a protocol revision and list what it
// offers, and if not, why.
//
// [Check] always returns a [Report], whatever happens to the server, the
// network or the process it starts. A check sends no tools/call, resources/read
// or prompts/get unless the target asks for its one functional call.
//
// Everything is bounded: each step and the whole by time, each response by
// bytes, each inventory by pages and entries. Text of the server that reaches a
// report has been made safe to show.
//
// The exported names, the members of the JSON report and the reason codes are
// stable within a major version; new ones may be added.
package probe

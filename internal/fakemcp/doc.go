// Package fakemcp provides scripted MCP servers for tests: well-behaved by
// default, with every single exchange open to replacement, and strict about
// what they are sent.
//
// Over HTTP a test starts a [Server], overrides what the case is about and
// looks at the log:
//
//	srv := fakemcp.New(t, fakemcp.Config{})
//	srv.On("tools/list", fakemcp.Result(`{"tools":null}`))
//
//	report := probe.Check(t.Context(), srv.Target(), probe.Options{})
//
//	// … look at the report, then at what was sent:
//	if srv.Count("tools/call") != 0 { … }
//
// A server that tells its callers different things, or changes with time, is
// written with [Server.Vary] and [Exchange.Caller].
//
// Over stdio the test binary itself becomes the server. The package's TestMain
// calls [Main], and a test describes the server in a [Script]:
//
//	func TestMain(m *testing.M) { fakemcp.Main(); m.Run() }
//
//	proc := fakemcp.Stdio(t, fakemcp.Script{Banner: []string{"ready!"}})
//	report := probe.Check(t.Context(), proc.Target(), probe.Options{})
//
// Both kinds record what they receive and hold it against the specification
// (the section "Strictness" of strict.go lists the rules). A message that a
// conforming client would not have sent fails the test at its end, unless the
// test says with Allow that it is expected.
//
// Whatever a canned answer is made of, "$ID" in it becomes the id of the request
// that it answers, and "$ID:METHOD" that of the latest request of METHOD.
//
// The package is for tests and for the bundled demo servers only. It imports
// nothing of this module but target.
package fakemcp

// TB is the part of [testing.TB] that is used, so that a program which serves a
// fake does not link the testing package.
type TB interface {
	Helper()
	Name() string
	TempDir() string
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/probe"
)

// The exit codes. This is the one table; docs/cli.md and the help texts repeat it.
const (
	exitHealthy       = 0
	exitUnhealthy     = 1
	exitMisconfigured = 2 // also wrong usage, and files that cannot be read
	exitDegraded      = 3
	exitUnknown       = 4 // also a bug in this program
)

// exitStatus is the part of a help text that documents the table, with what
// healthy and unhealthy mean to the command.
func exitStatus(healthy, unhealthy string) string {
	return `
EXIT STATUS
  0  healthy        ` + healthy + `
  1  unhealthy      ` + unhealthy + `
  2  misconfigured  the check is set up wrongly, lacks a credential, or was called wrongly
  3  degraded       usable, but over a threshold that was asked for
  4  unknown        the check could not tell
  Of several targets the worst counts: unhealthy, misconfigured, unknown,
  degraded, healthy. --exit-map translates to the codes of other programs; with
  nagios, human output begins with the line that a plugin prints.`
}

// exitMap names a table of exit codes.
type exitMap string

const (
	mapOwn         exitMap = ""
	mapAgenthealth exitMap = "agenthealth"
	mapNagios      exitMap = "nagios"
	mapHealthcheck exitMap = "mcp-healthcheck"
)

func exitMaps() []string {
	return []string{string(mapAgenthealth), string(mapNagios), string(mapHealthcheck)}
}

// String, Set and Type make exitMap the value of a flag.
func (m *exitMap) String() string { return string(*m) }
func (m *exitMap) Type() string   { return "name" }
func (m *exitMap) Set(s string) error {
	if !slices.Contains(exitMaps(), s) {
		return fmt.Errorf("not one of %s", strings.Join(exitMaps(), ", "))
	}
	*m = exitMap(s)
	return nil
}

// usageExitCode is for a program that was called wrongly.
func usageExitCode(m exitMap) int {
	switch m {
	case mapAgenthealth:
		return 6
	case mapNagios:
		return 3 // UNKNOWN
	default:
		return exitMisconfigured
	}
}

// exitCode is the code for reports, the worst of them.
func exitCode(m exitMap, reports []*probe.Report) int {
	if m == mapAgenthealth {
		// Its codes rise with severity, in an order of its own.
		code := 0
		for _, r := range reports {
			code = max(code, agenthealthCode(r))
		}
		return code
	}
	worst := probe.StatusHealthy
	for _, r := range reports {
		worst = worst.Worse(r.Status)
	}
	return statusCode(m, worst)
}

func statusCode(m exitMap, s probe.Status) int {
	type row struct{ own, nagios, healthcheck int }
	r, ok := map[probe.Status]row{
		probe.StatusHealthy:       {exitHealthy, 0, 0},
		probe.StatusDegraded:      {exitDegraded, 1, 3},
		probe.StatusUnhealthy:     {exitUnhealthy, 2, 1},
		probe.StatusMisconfigured: {exitMisconfigured, 2, 1},
		probe.StatusUnknown:       {exitUnknown, 3, 1},
	}[s]
	switch {
	case !ok:
		return exitUnknown
	case m == mapNagios:
		return r.nagios
	case m == mapHealthcheck:
		return r.healthcheck
	}
	return r.own
}

// nagiosWord is what the output of a plugin begins with.
func nagiosWord(code int) string {
	return []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[code]
}

// agenthealthCode tells unreachable (3) from unhealthy (2): a server that could
// not be connected to at all.
func agenthealthCode(r *probe.Report) int {
	switch r.Status {
	case probe.StatusHealthy:
		return 0
	case probe.StatusDegraded:
		return 1
	case probe.StatusUnhealthy:
		if c := r.Result(probe.StepConnect); c != nil && !c.Passed {
			return 3
		}
		return 2
	case probe.StatusMisconfigured:
		return 4
	default:
		return 5
	}
}

// exitMapFor finds the map that a failed command line asked for, since its flags
// may not have been read to the end.
func (a *app) exitMapFor(args []string) exitMap {
	if a.program == healthcheckName {
		return mapHealthcheck
	}
	var name string
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if v, ok := strings.CutPrefix(arg, "--exit-map="); ok {
			name = v
		} else if arg == "--exit-map" && i+1 < len(args) {
			name = args[i+1]
		}
	}
	if name == "" {
		for _, prefix := range a.prefixes() {
			if v, _ := a.lookup(prefix + "EXIT_MAP"); v != "" && name == "" {
				name = v
			}
		}
	}
	var m exitMap
	if m.Set(name) != nil {
		return mapOwn
	}
	return m
}

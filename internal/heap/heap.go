// Package heap lets a command start without a collection of garbage.
//
// What packages allocate when they are initialized, some 3 MB, stays for the whole run,
// and collecting it in between costs a sixth of what a short command costs in all. The
// package is imported by cmd alone, for its effect.
package heap

import (
	"os"
	"runtime/debug"
)

// percent lets the heap grow to 16 MiB before the first collection.
const percent = 400

// A variable, so that it is set before other packages begin: packages are initialized in
// the order of their paths as soon as what they import is, and this one imports next to
// nothing.
var _ = relax()

// relax sets the target of the collector, unless the environment does.
func relax() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(percent)
	return true
}

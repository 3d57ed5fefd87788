package cli

import "runtime/debug"

const (
	// gcPercent trades memory for time: what a monitor keeps is small beside what its
	// checks use for a moment. From softMemory on memory is the dearer one.
	gcPercent  = 200
	softMemory = 300 << 20
)

// settleMemory sets how much memory a monitor uses, unless the environment says it.
func settleMemory(getenv func(string) (string, bool)) {
	if _, set := getenv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := getenv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(softMemory)
	}
}

//go:build !linux

package cli

import "time"

// lastMoment is how long the program goes on after a signal that ends it at once.
// It is as long as it takes to end servers that do not want to.
const lastMoment = time.Second

// killChildren leaves it to the checks, which were cancelled, to end what they
// have started.
func killChildren() {}

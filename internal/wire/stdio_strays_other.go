//go:build !linux

package wire

import "os"

// family finds nothing: what left its process group is out of reach here, and a
// job object cannot be left.
type family struct{}

func newFamily(int, ...*os.File) *family { return &family{} }

func (*family) remember() {}

func (*family) end() {}

func (*family) alone() bool { return true }

func (*family) strays() []stray { return nil }

// stray is a process to be ended. There is none.
type stray struct{}

func (stray) id() int { return 0 }

func (stray) alive() bool { return false }

func (stray) terminate() {}

func (stray) kill() {}

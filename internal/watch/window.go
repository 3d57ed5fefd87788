package watch

import "time"

// Validate says what is wrong with a window.
func (w *Window) Validate() []Problem { return nil }

// Active reports whether now is in the window, and until when it lasts.
func (w *Window) Active(now time.Time) (until time.Time, ok bool) { return time.Time{}, false }

// Concerns reports whether the window is for m.
func (w *Window) Concerns(m *Monitor) bool { return false }

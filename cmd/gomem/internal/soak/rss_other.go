//go:build !linux || race

package soak

// resident is known on linux only, and not where the race detector keeps as much memory
// of its own as it likes.
func resident() int64 { return 0 }

//go:build !linux

package soak

// resident is known on linux only.
func resident() int64 { return 0 }

//go:build !unix && !windows

package gomem

// maxWritev is 0: this system has no writev, and package net writes each buffer for
// itself.
const maxWritev = 0

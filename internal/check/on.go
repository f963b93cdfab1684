//go:build gomem_debug

package check

// Enabled is true: allocators and pools verify themselves after each mutation.
const Enabled = true

//go:build !gomem_debug

package check

// Enabled is false: the default build trusts its own invariants.
const Enabled = false

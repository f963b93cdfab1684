//go:build gomem_debug

package check

// Enabled is true: this build verifies every structure after each mutation.
const Enabled = true

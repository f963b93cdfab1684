//go:build enable_buddy

package gomem

// defaultPooled is whether chunks come from the pool that the allocators of the
// process share.
const defaultPooled = true

//go:build race || asan || msan || gomem_portable || !gc

package unzeroed

// Make is make([]T, n): the sanitizers want to know each allocation, and the
// portable form asks nothing of the runtime.
func Make[T byte | uint32](n int) []T { return make([]T, n) }

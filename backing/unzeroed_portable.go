//go:build race || asan || msan || gomem_portable || !gc

package backing

// makeUnzeroed is make([]byte, n): the sanitizers want to know each allocation,
// and the portable form asks nothing of the runtime.
func makeUnzeroed(n int) []byte { return make([]byte, n) }

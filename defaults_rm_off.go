//go:build disable_rm

package gomem

// recycleByDefault is whether a RecyclableMemory takes its memory from its
// allocator and gives it back.
const recycleByDefault = false

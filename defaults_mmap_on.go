//go:build enable_mmap

package gomem

// defaultMmap is whether chunks come from the operating system and not from the
// Go heap.
const defaultMmap = true

//go:build race || gomem_portable

package lac

import "unsafe"

// table is not needed here: goroutines that share a handle take turns.
type table struct{ _ byte }

func (*table) reset() {}

// elsewhere serves alloc when the window of the handle could not.
func (ac *Allocator) elsewhere(_ uintptr, slow slowFunc) unsafe.Pointer {
	return slow(ac)
}

// allocShared hands out n zero bytes to one of several goroutines.
func (c *core) allocShared(_ *table, n uintptr) unsafe.Pointer {
	return c.takeShared(n)
}

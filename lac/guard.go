//go:build !race && !goexperiment.cgocheck2

package lac

import "github.com/gomem-go/gomem/backing"

// guarded is the source of debug arenas: pages that can be made inaccessible.
// The race detector cannot see such memory and cgocheck2 refuses heap pointers
// in it, so these builds put debug arenas on the Go heap.
func guarded() (backing.Source, backing.Protector) {
	src := backing.Mmap()
	p, _ := src.(backing.Protector)
	return src, p
}

// Package copies copies what must not be copied; TestVetReportsCopies looks for "copied".
package copies

import (
	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
)

// Use copies each of its arguments.
func Use(a *gomem.ScalableMemoryAllocator, b *gomem.Buddy, r *gomem.BufReader, s *gomem.SharedMemory,
	ac *lac.Allocator, arenas *lac.AllocatorPool, pool *tlsf.Pool) {
	_ = func() any { c := *a; return &c }      // copied
	_ = func() any { c := *b; return &c }      // copied
	_ = func() any { c := *r; return &c }      // copied
	_ = func() any { c := *s; return &c }      // copied
	_ = func() any { c := *ac; return &c }     // copied
	_ = func() any { c := *arenas; return &c } // copied
	_ = func() any { c := *pool; return &c }   // copied
}

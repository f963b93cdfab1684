// Package load holds the loads that allocators are known to fail at, with the
// parameters of mimalloc-bench (D. Leijen, github.com/daanx/mimalloc-bench),
// and one of this module's own domain, reads that come up short.
//
// An allocator is called through an interface, which costs each of them the
// same 1 or 2 ns: the loads compare sharing and memory, the traces compare
// paths.
package load

import (
	"math/rand/v2"
	"sync"
)

// Allocator is what a load needs. Safe for use by several goroutines; a block
// may be freed by another goroutine than the one that allocated it.
type Allocator interface {
	Malloc(n int) []byte
	Free(b []byte)
}

// Load is one pattern of use.
type Load struct {
	Name string

	// Run does about ops allocations spread over goroutines, frees all of them
	// and returns how many there were.
	Run func(a Allocator, goroutines, ops int) int
}

// All returns the loads of several goroutines, in the order of the report.
func All() []Load {
	return []Load{
		{"larson", larson},
		{"xmalloc", xmalloc},
		{"mstress", mstress},
		{"rptest", rptest},
		{"malloc-large", large},
		{"short-read", shortRead},
		{"short-read, frame by frame", shortReadByFrame},
	}
}

// AnyLate is the short read with frames that are late by anything. It is there
// for its memory: what is kept then lies everywhere, and nothing that is freed
// between is long enough for the next read.
func AnyLate() Load { return Load{"short-read, any lateness", shortReadAnyLate} }

// seed makes every run the same program.
const seed = 0x60606060

func newRand(worker int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(worker))) }

// each runs work in goroutines goroutines and waits.
func each(goroutines int, work func(worker int)) {
	var group sync.WaitGroup
	for worker := range goroutines {
		group.Go(func() { work(worker) })
	}
	group.Wait()
}

// scaled is n for up to eight goroutines, and less for more, so that the memory
// held stays what eight of them hold.
func scaled(n, goroutines int) int { return max(8*n/max(goroutines, 8), 1) }

// touch writes the ends of a block, as any use of it would.
func touch(b []byte) {
	b[0] = 1
	b[len(b)-1] = 1
}

package wcet

import (
	"fmt"

	"github.com/gomem-go/gomem/tlsf"
)

// situation is a state of a pool and the one operation that is timed in it.
type situation struct {
	name string
	// arrange brings a fresh pool into the state and returns the operation and
	// what undoes it, exactly, so that each sample finds the same state.
	arrange func(b *bench, size int) (op, undo func())
}

// situations are the ways through the allocator that differ in the work done:
// a request that cuts a block or finds one that fits, a free that merges with
// both neighbours or with none.
var situations = []situation{
	{"small from one huge block", fromHuge},
	{"exact class", exactClass},
	{"free between two free", freeBetween},
	{"free alone", freeAlone},
}

// sizes are the requests, in bytes.
var sizes = []int{16, 64, 256, 1024, 4096}

// bench is a pool whose errors are remembered instead of returned, so that
// nothing but the operation is timed.
type bench struct {
	pool *tlsf.Pool
	err  error
}

func (b *bench) alloc(n int) []byte {
	mem, err := b.pool.Alloc(n)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("allocating %d bytes: %w", n, err)
	}
	return mem
}

func (b *bench) free(mem []byte) {
	if err := b.pool.Free(mem); err != nil && b.err == nil {
		b.err = fmt.Errorf("freeing %d bytes: %w", len(mem), err)
	}
}

// fromHuge takes a block from a pool that is one free block.
func fromHuge(b *bench, size int) (op, undo func()) {
	var mem []byte
	return func() { mem = b.alloc(size) }, func() { b.free(mem) }
}

// guard is the size of the live blocks that keep others apart.
const guard = 16

// exactClass takes a block where a free one of just that size waits between
// two live ones.
func exactClass(b *bench, size int) (op, undo func()) {
	b.alloc(guard)
	mem := b.alloc(size)
	b.alloc(guard)
	b.free(mem)
	return func() { mem = b.alloc(size) }, func() { b.free(mem) }
}

// freeBetween frees a block whose neighbours are free: two merges.
func freeBetween(b *bench, size int) (op, undo func()) {
	b.alloc(guard)
	left, mem, right := b.alloc(size), b.alloc(size), b.alloc(size)
	b.alloc(guard)
	b.free(left)
	b.free(right)
	return func() { b.free(mem) }, func() {
		// The three are one block again, and the smallest that fits.
		left, mem, right = b.alloc(size), b.alloc(size), b.alloc(size)
		b.free(left)
		b.free(right)
	}
}

// freeAlone frees a block between two live ones.
func freeAlone(b *bench, size int) (op, undo func()) {
	b.alloc(guard)
	mem := b.alloc(size)
	b.alloc(guard)
	return func() { b.free(mem) }, func() { mem = b.alloc(size) }
}

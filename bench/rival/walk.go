package rival

import (
	"unsafe"

	"github.com/gomem-go/gomem/internal/trace"
)

// walk is a position among the operations of a trace, and table what a program keeps of
// each block, by its id. Both are followed by pointer, without a look at their bounds, as
// the C program's loop is when it is compiled: with slices the loop alone takes 0.4 to
// 0.6 ns longer, which is no allocator's. Requires a trace that was read by package
// trace, which refuses ids that are not known.
type walk struct {
	last unsafe.Pointer // *uint32, the last operation
	at   int            // bytes from there, none or fewer while there are operations
}

func over(t *trace.Trace) walk {
	if len(t.Ops) == 0 {
		return walk{at: 1}
	}
	return walk{unsafe.Pointer(&t.Ops[len(t.Ops)-1]), (1 - len(t.Ops)) * int(unsafe.Sizeof(t.Ops[0]))}
}

// more says whether there is an operation.
func (w *walk) more() bool { return w.at <= 0 }

// next returns it.
func (w *walk) next() uint32 {
	// Safety: at goes from the first operation to the last one.
	op := *(*uint32)(unsafe.Add(w.last, w.at))
	w.at += int(unsafe.Sizeof(op))
	return op
}

// isFree says whether op frees a block.
func isFree(op uint32) bool { return int32(op) < 0 }

type table[T any] struct {
	first, next unsafe.Pointer // *T: of the first block, and of the next to come
}

// places returns room for the blocks of t, and one place more, so that next never points
// behind it.
func places[T any](t *trace.Trace) []T { return make([]T, len(t.Sizes)+1) }

// tableOf returns an empty table in blocks, which places made.
func tableOf[T any](blocks []T) table[T] {
	first := unsafe.Pointer(unsafe.SliceData(blocks))
	return table[T]{first, first}
}

// add enters the block with the next id.
func (b *table[T]) add(block T) {
	// Safety: there are more places than blocks.
	*(*T)(b.next) = block
	b.next = unsafe.Add(b.next, unsafe.Sizeof(block))
}

// of returns the place of the block that op frees.
func (b *table[T]) of(op uint32) *T {
	var block T
	// Safety: the block was entered before.
	return (*T)(unsafe.Add(b.first, uintptr(op&^trace.FreeBit)*unsafe.Sizeof(block)))
}

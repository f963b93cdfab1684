// Package arrowmem lets Apache Arrow take its buffers from a gomem allocator: [Allocator]
// is a memory.Allocator, the interface of github.com/apache/arrow-go.
//
//	a := gomem.NewScalableMemoryAllocator(16<<20, gomem.WithMaxBytes(1<<30))
//	mem := arrowmem.New(a)
//	b := array.NewInt64Builder(mem)
//	defer b.Release()
//	b.AppendValues([]int64{1, 2, 3}, nil)
//	column := b.NewInt64Array()
//	defer column.Release()
//
// A function to which no allocator is passed uses Arrow's own: a reader of IPC needs
// ipc.WithAllocator(mem).
//
// The memory is explicit: it is used until the last Release, and no longer. Arrow's own
// Go allocator forgives what this one does not:
//
//   - A builder, an array, a record batch or a reader without its Release leaks.
//     Stats().Live of the allocator tells; gomemtest.New names the place.
//   - After the last Release the bytes belong to someone else. A string from
//     array.String.Value and a slice from Int64Values are views of them: clone what is
//     needed for longer, as with strings.Clone. In debug mode, as of gomemtest.New, the
//     bytes change at once.
//   - Where a batch of compressed IPC is damaged, or too large for a limit, Arrow's reader
//     loses what it has decompressed of it. Give a reader of data that is not trusted an
//     allocator of its own, and Close that.
//
// Arrow's interface has no errors. So where there is no memory, at the limit of the
// allocator, because the system has none left or because the allocator is closed,
// [Allocator.Allocate] and [Allocator.Reallocate] panic with an error, as Arrow expects of
// an allocator. Its IPC writers and array.Concatenate return that error, wrapped; a reader
// of streams returns one that may have no more than its text. Builders, readers of files and
// others pass the panic on, and can be released after it:
//
//	defer func() {
//		if r := recover(); r != nil {
//			e, ok := r.(error)
//			if !ok || !errors.Is(e, gomem.ErrLimit) {
//				panic(r)
//			}
//			err = e
//		}
//	}()
//
// Memory of the Go heap instead would exceed, unseen, a limit that was set to be kept.
//
// The package was written for arrow-go 18.8.
package arrowmem

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gomem-go/gomem"
)

// align is what the format recommends for buffers, and what Arrow's own allocators do.
const align = 64

// Allocator is a memory.Allocator over a gomem allocator. Any goroutine may call any method
// at any time. Make it with [New]; copies are the same allocator.
type Allocator struct {
	a *gomem.ScalableMemoryAllocator
}

var _ memory.Allocator = (*Allocator)(nil)

// New returns an allocator of memory of a. A nil a stands for the Go heap. Several may use
// one allocator, and so may others.
func New(a *gomem.ScalableMemoryAllocator) *Allocator { return &Allocator{a} }

// Allocate returns size zeroed bytes, owned until Free or Reallocate, with cap == len and
// aligned to 64 bytes. They are zeroed because Arrow relies on it: array.MakeArrayOfNull, for one,
// writes no offsets, and what was not written goes into IPC. If size is 0 the result is
// empty and needs no Free.
//
// It panics with an error if size is negative or there is no memory; errors.Is finds in it
// gomem.ErrInvalidSize, gomem.ErrLimit, gomem.ErrOutOfMemory or gomem.ErrClosed. O(size).
func (m *Allocator) Allocate(size int) []byte {
	b := m.malloc("Allocate", size)
	clear(b)
	return b
}

// Reallocate returns a block of size bytes that begins with the bytes of b, as many as fit,
// and is zero after them, and takes b, which must not be used afterwards. The result is as
// that of Allocate. A b that is nil or empty without capacity makes it Allocate, and a size
// of 0 makes it Free.
//
// A block that becomes shorter, or grows within its capacity, stays where it is, and what is
// behind it is free; any other is copied. Reallocate panics as Allocate does, and b is then
// as it was. O(size).
func (m *Allocator) Reallocate(size int, b []byte) []byte {
	if size < 0 || size > cap(b) {
		grown := m.malloc("Reallocate", size)
		clear(grown[copy(grown, b):])
		m.Free(b)
		return grown
	}
	if size > len(b) {
		clear(b[len(b):size])
	}
	b = b[:cap(b)]
	m.a.FreeRest(&b, size)
	return b
}

// Free gives back b, a block from Allocate or Reallocate, up to its capacity: a block that
// was only shortened goes back as a whole. If b is empty and has no capacity it does
// nothing. What is not a live block of the allocator stays as it is, and the allocator
// counts and reports that as misuse, as gomem.WithMisuse says: a second Free, or memory of
// another allocator. O(1), never allocates.
func (m *Allocator) Free(b []byte) { m.a.Free(b[:cap(b)]) }

// malloc returns size bytes, not zeroed.
func (m *Allocator) malloc(op string, size int) []byte {
	b, err := m.a.MallocAligned(size, align)
	if err != nil {
		panic(fmt.Errorf("arrowmem: %s of %d bytes: %w", op, size, err))
	}
	return b
}

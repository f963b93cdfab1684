package gomem

import "slices"

// RecyclableMemory is a [Memory] that gives its buffers back to an allocator,
// all at once, with Recycle.
//
// Recycle frees one of two things:
//
//	by chain  (the start)                  every buffer in the chain, however it
//	                                       got there: NextN, Push, Append, …
//	by list   (after InitRecycleIndexes)   what NextN and AddRecycleBytes added,
//	                                       and what had been in the chain before
//
// Use the list when the chain also holds buffers that someone else owns. What
// Reset takes out of the chain is still freed by the next Recycle, and so is what
// ClipFront of a reader from NewReader takes out without a yield; what UpdateBuffer
// takes out, and what ClipFront passes to yield, is the caller's to free. (Methods of the
// embedded Memory, or of a reader of that, change the chain and not the list. So does an
// assignment to Buffers, or a FreeRest of an element: use UpdateBuffer.)
//
// With the build tag disable_rm, or after SetRecycling(false), NextN, CopyFrom and
// ReadFrom take memory from the Go heap, which Recycle leaves to the garbage collector;
// everything else is the same. (A Free of memory from NextN, or of a part of it, is
// refused.)
//
// A RecyclableMemory is a value; its zero value is ready to use. It has one
// owner: only one of several copies of the value may be recycled, since the
// buffers are freed once; use Clone for a second view. It is for one goroutine
// at a time; its allocator may be shared.
type RecyclableMemory struct {
	allocator *ScalableMemoryAllocator
	Memory
	owned  [][]byte // to be freed by Recycle, beside the chain or, if it lists, instead of it
	heap   [][]byte // what CopyFrom for want of room, or NextN without recycling, took from the Go heap
	byList bool
	inside bool // Buffers does not begin where its array does: ClipFront cut off the front
	manner recycling
}

// recycling is a choice that may be left to the build.
type recycling uint8

const (
	recycleAsBuilt recycling = iota
	recycleOn
	recycleOff
)

// keptBuffers is how many headers an emptied RecyclableMemory keeps room for at
// most.
const keptBuffers = 1024

// NewRecyclableMemory returns an empty memory that takes its buffers from a.
// With a nil a they come from the Go heap and nothing is freed. O(1), never
// allocates.
func NewRecyclableMemory(a *ScalableMemoryAllocator) RecyclableMemory {
	return RecyclableMemory{allocator: a}
}

// SetRecycling chooses, overriding the build tag disable_rm, whether memory
// comes from the allocator and goes back to it. Call it while the memory is empty.
func (r *RecyclableMemory) SetRecycling(on bool) {
	if r.manner = recycleOff; on {
		r.manner = recycleOn
	}
}

func (r *RecyclableMemory) recycles() bool {
	return recycleByDefault && r.manner == recycleAsBuilt || r.manner == recycleOn
}

// GetAllocator returns the allocator, nil for the Go heap.
func (r *RecyclableMemory) GetAllocator() *ScalableMemoryAllocator { return r.allocator }

// SetAllocator sets the allocator to a. Recycle then gives every buffer back to a: call
// SetAllocator only while the memory is empty.
func (r *RecyclableMemory) SetAllocator(a *ScalableMemoryAllocator) { r.allocator = a }

// InitRecycleIndexes makes Recycle free only what NextN and AddRecycleBytes add
// from now on, and what the chain holds already. It makes room for n buffers. Calling it
// again changes nothing.
func (r *RecyclableMemory) InitRecycleIndexes(n int) {
	if r.byList {
		return
	}
	r.byList = true
	n = max(min(n, keptBuffers), len(r.Buffers))
	r.owned = append(slices.Grow(r.owned, n), r.Buffers...)
}

// NextN adds a new buffer of n bytes at the end of the chain and returns it:
// owned by the chain, valid until Recycle, not zeroed, with cap n. It returns
// nil and adds nothing if n is negative or the allocator has no room. The cost
// is that of Malloc.
func (r *RecyclableMemory) NextN(n int) []byte {
	if !r.recycles() {
		return r.nextOnHeap(n)
	}
	b := r.allocator.Malloc(n)
	if b == nil {
		return nil
	}
	if r.byList || len(r.Buffers) == cap(r.Buffers) {
		r.AddRecycleBytes(b)
		return b
	}
	r.Buffers = append(r.Buffers, b) // the common case, without a call
	r.Size += n
	return b
}

// nextOnHeap is NextN without recycling.
func (r *RecyclableMemory) nextOnHeap(n int) []byte {
	var heap *ScalableMemoryAllocator
	b := heap.Malloc(n)
	if b != nil {
		r.pushOfHeap(b)
	}
	return b
}

// pushOfHeap adds b, which is the Go heap's, at the end of the chain.
func (r *RecyclableMemory) pushOfHeap(b []byte) {
	r.PushOne(b)
	if r.allocator != nil && len(b) > 0 {
		r.heap = append(r.heap, b)
	}
}

// AddRecycleBytes adds b, memory of the allocator, at the end of the chain;
// Recycle frees it. Amortized O(1).
func (r *RecyclableMemory) AddRecycleBytes(b []byte) {
	if r.byList {
		r.owned = append(r.owned, b)
	}
	r.PushOne(b)
}

// CopyFrom is [Memory.CopyFrom] with the copy in a buffer from NextN, which
// Recycle frees, or on the Go heap if the allocator has no room. Recycle leaves such a
// copy alone, and ClipFront does not pass it to yield.
func (r *RecyclableMemory) CopyFrom(other *Memory) {
	if other == nil || other.Size == 0 {
		return
	}
	if b := r.NextN(other.Size); b != nil {
		other.CopyTo(b)
		return
	}
	r.Memory.CopyFrom(other)
	r.heap = append(r.heap, r.Buffers[len(r.Buffers)-1])
}

// Reset empties the chain and frees nothing: the memory stays valid, also in
// slices and in copies of the Memory, until Recycle frees it. Amortized
// O(Count()).
func (r *RecyclableMemory) Reset() {
	if len(r.Buffers) == 0 { // keeps the array that Recycle has left
		r.Size = 0
		return
	}
	if !r.byList {
		r.owned = append(r.owned, r.Buffers...)
	}
	r.Memory.Reset()
}

// UpdateBuffer is [Memory.UpdateBuffer]. Whatever of the old buffer is not in buf
// becomes the caller's to free, before the call or after it, and leaks otherwise;
// Recycle frees the buffer that is in the chain now. So the end of a buffer is given
// back by
//
//	a.Free(b[n:])
//	r.UpdateBuffer(-1, b[:n])
//
// (Without recycling, what NextN returned is on the Go heap, and Free refuses it.)
//
// Each call copies the slice headers of the chain, so a loop that does this for each
// buffer takes O(Count()) for each. A loop of short reads should instead cut each buffer
// with [ScalableMemoryAllocator.FreeRest], as Read does, and then add it, amortized O(1)
// for each:
//
//	b, err := a.Read(src, n)
//	r.AddRecycleBytes(b)
//
// By list, buf takes the place of the old buffer in the list. If that very slice is
// not in the list, because someone else owns it or it has no capacity, the list stays
// as it is, and so does what Recycle frees. The buffers that Recycle frees must not
// overlap.
func (r *RecyclableMemory) UpdateBuffer(index int, buf []byte) { r.TryUpdateBuffer(index, buf) }

// TryUpdateBuffer is [RecyclableMemory.UpdateBuffer], and reports whether there is
// a buffer at index; if not, nothing changes.
func (r *RecyclableMemory) TryUpdateBuffer(index int, buf []byte) bool {
	if index < 0 {
		index += len(r.Buffers)
	}
	if index < 0 || index >= len(r.Buffers) {
		return false
	}
	if r.byList {
		if i := r.listed(r.Buffers, index); i >= 0 {
			r.owned[i] = buf
		} else if r.onHeap(r.Buffers[index]) {
			r.owned = append(r.owned, buf) // NextN or CopyFrom would have listed it if it were the allocator's
		}
	}
	return r.Memory.TryUpdateBuffer(index, buf)
}

// listed is the place of list[index] among the owned, or -1. It looks around
// where the buffer is if the owned end with the list.
func (r *RecyclableMemory) listed(list [][]byte, index int) int {
	b, n := list[index], len(r.owned)
	if cap(b) == 0 {
		return -1 // without room it has no address of its own to be found by
	}
	after := max(n-len(list)+index, 0)
	for before := after - 1; before >= 0 || after < n; before, after = before-1, after+1 {
		if after < n && same(r.owned[after], b) {
			return after
		}
		if before >= 0 && same(r.owned[before], b) {
			return before
		}
	}
	return -1
}

// NewReader is [Memory.NewReader], with a ClipFront after which Recycle frees each
// byte once: what it passes to yield is the caller's, and what it removes without
// a yield is freed by Recycle. So the memory of what has been read is given back by
//
//	reader.ClipFront(a.Free)
//
// unless the chain holds buffers that someone else owns, which only their owner may
// free. What CopyFrom or, without recycling, NextN took from the Go heap is not passed
// to yield: the garbage collector frees it.
//
// The reader belongs to this variable and not to its copies: while it is in use, do not
// return or store the RecyclableMemory by value, or else make a new reader of the copy.
func (r *RecyclableMemory) NewReader() MemoryReader {
	return MemoryReader{Memory: &r.Memory, Length: r.Size, owner: r}
}

// Recycle frees the buffers and empties the chain, which can be used again. The bytes are
// no longer valid in any slice, copy or clone. Neither is a copy of the chain or a
// reader: its Size or Length may say more than it has, and a read may return
// io.ErrUnexpectedEOF. Without an allocator nothing is freed and copies stay intact. A
// second Recycle frees nothing. The cost is that of a Free for each buffer; allocates
// only after a CopyFrom without room.
func (r *RecyclableMemory) Recycle() {
	if r.allocator == nil {
		r.owned, r.heap = nil, nil
		r.Memory.Reset()
		return
	}
	if len(r.heap) > 0 {
		r.leaveHeap()
	}
	// A chain of nothing but freed buffers has no valid copies, so its array is
	// free to be used again. Otherwise the array is left to the copies. So is one that
	// still has what ClipFront took out, which it would keep.
	reuse := cap(r.Buffers) <= keptBuffers && !r.inside
	for _, b := range r.owned {
		reuse = r.allocator.Free(b) && reuse
	}
	if r.byList {
		reuse = reuse && endsWith(r.owned, r.Buffers)
	} else {
		for _, b := range r.Buffers {
			reuse = r.allocator.Free(b) && reuse
		}
	}
	list := r.Buffers
	r.Memory.Reset()
	r.inside = false
	if reuse {
		clear(list) // so that what is idle keeps no chunk of the Go heap
		r.Buffers = list[:0]
	}
	if clear(r.owned); cap(r.owned) > keptBuffers {
		r.owned = nil
	}
	r.owned = r.owned[:0]
}

// onHeap reports whether b is part of what came from the Go heap.
func (r *RecyclableMemory) onHeap(b []byte) bool {
	return slices.ContainsFunc(r.heap, func(whole []byte) bool { return within(b, whole) })
}

// leaveHeap takes out of the memory what is not the allocator's.
func (r *RecyclableMemory) leaveHeap() {
	heap := heapSearch{list: r.heap}
	isHeap := func(b []byte) bool { return heap.find(b) >= 0 }
	r.owned = slices.DeleteFunc(r.owned, isHeap)
	r.Buffers = slices.DeleteFunc(slices.Clone(r.Buffers), isHeap) // copies keep their array
	r.heap = nil
}

// endsWith reports whether the last buffers of owned are those of list.
func endsWith(owned, list [][]byte) bool {
	if len(owned) < len(list) {
		return false
	}
	for i, b := range owned[len(owned)-len(list):] {
		if !same(b, list[i]) {
			return false
		}
	}
	return true
}

// within reports whether part lies in whole.
func within(part, whole []byte) bool {
	at := addressOf(part) - addressOf(whole)
	return len(part) > 0 && at < uintptr(len(whole))
}

// same reports whether x and y are the same bytes of memory.
func same(x, y []byte) bool { return spanOf(x) == spanOf(y) }

// Clone returns a second chain over the same bytes, without a copy of them. It
// owns none of them: they stay valid until the original is recycled, and
// recycling the clone frees only what was added to the clone itself with NextN
// or AddRecycleBytes. O(Count()), one allocation.
func (r *RecyclableMemory) Clone() RecyclableMemory {
	c := RecyclableMemory{allocator: r.allocator, manner: r.manner, byList: true}
	c.Append(r.Memory)
	return c
}

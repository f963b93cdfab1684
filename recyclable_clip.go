package gomem

import (
	"slices"
	"unsafe"
)

// clipped follows a ClipFront without a yield, which took out the first whole buffers of
// list and the first part bytes of the next: Recycle frees them.
func (r *RecyclableMemory) clipped(list [][]byte, whole, part int) {
	if !r.byList {
		r.owned = append(r.owned, list[:whole]...)
		if part > 0 {
			r.owned = append(r.owned, list[whole][:part])
		}
	} else if front := r.cutFront(list, whole, part); front != nil {
		r.owned = append(r.owned, front)
	}
}

// handOver passes to yield what ClipFront took out, see there. What was given away is
// not ours any more; what yield was not called with, as it panicked, still is. r may be
// nil.
func (r *RecyclableMemory) handOver(list [][]byte, whole, part int, yield func([]byte) bool) {
	var front []byte // if it is ours
	var heap heapSearch
	lists, handed := r != nil && r.byList, 0
	if r != nil {
		heap.list = r.heap
	}
	if lists {
		front = r.cutFront(list, whole, part)
	} else if r != nil && part > 0 {
		front = list[whole][:part]
	}
	defer func() {
		if r == nil {
			return
		}
		if lists {
			r.unlist(list, min(handed, whole))
		} else if handed < whole {
			r.owned = append(r.owned, list[handed:whole]...)
		}
		if front != nil && handed <= whole {
			r.owned = append(r.owned, front)
		}
		r.forget(&heap)
	}()
	for _, b := range list[:whole] {
		if handed++; len(b) > 0 {
			heap.give(b, yield)
		}
	}
	if handed++; part > 0 {
		heap.give(list[whole][:part:part], yield)
	}
}

// cutFront takes the first part bytes off list[index] in the list of what Recycle frees
// and returns them, nil if there are none or they are not in it.
func (r *RecyclableMemory) cutFront(list [][]byte, index, part int) []byte {
	if part == 0 {
		return nil
	}
	i := r.listed(list, index)
	if i < 0 {
		return nil
	}
	r.owned[i] = list[index][part:]
	return list[index][:part]
}

// unlist takes the first n buffers of list out of what Recycle frees, each once, as far
// as they are in it. It expects them there in the same order, after what is left over
// from before, and looks for the others, which may be someone else's, all at once.
func (r *RecyclableMemory) unlist(list [][]byte, n int) {
	first := max(len(r.owned)-len(list), 0)
	end := first
	others, lowest, highest := map[span]int{}, ^uintptr(0), uintptr(0)
	for _, b := range list[:n] {
		if end < len(r.owned) && same(r.owned[end], b) && (cap(b) > 0 || cap(r.owned[end]) == 0) {
			end++
		} else if cap(b) > 0 && len(r.owned) > 0 { // without room it has no address of its own
			others[spanOf(b)]++
			lowest, highest = min(lowest, addressOf(b)), max(highest, addressOf(b))
		}
	}
	r.owned = without(r.owned, first, end)
	if len(others) == 0 {
		return
	}
	r.owned = slices.DeleteFunc(r.owned, func(b []byte) bool {
		if at := addressOf(b); at < lowest || at > highest || cap(b) == 0 {
			return cap(b) == 0 // most need no look-up
		}
		s := spanOf(b)
		if others[s] == 0 {
			return false
		}
		others[s]--
		return true
	})
}

// without takes list[first:end] out of list, whose order before first does not matter. It
// moves at most about as many: if many are behind, it cuts off the front of the array.
func without(list [][]byte, first, end int) [][]byte {
	n := end - first
	if len(list)-end <= n+fewBuffers {
		return slices.Delete(list, first, end)
	}
	moved := min(first, n)
	copy(list[end-moved:end], list[:moved])
	clear(list[:n])
	return list[n:]
}

// fewBuffers are looked at, or moved, at less cost than an index or an array is made.
const fewBuffers = 16

// span is where a buffer is.
type span struct {
	start *byte
	size  int
}

func spanOf(b []byte) span { return span{unsafe.SliceData(b), len(b)} }

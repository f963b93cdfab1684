package gomem

import "slices"

// give passes b to yield, unless it is what CopyFrom or NextN took from the Go heap. That
// is forgotten with its last byte, unless Recycle would free another part of it.
func (r *RecyclableMemory) give(b []byte, yield func([]byte) bool) {
	i := -1
	if r != nil {
		i = r.onHeap(b)
	}
	if i < 0 {
		yield(b)
		return
	}
	whole := r.heap[i]
	isPart := func(other []byte) bool { return within(other, whole) }
	if within(whole[len(whole)-1:], b) && !slices.ContainsFunc(r.owned, isPart) {
		r.heap = slices.Delete(r.heap, i, i+1)
	}
}

// clipped follows a ClipFront without a yield, which took out the first whole buffers of
// list and the first part bytes of the next: Recycle frees them.
func (r *RecyclableMemory) clipped(list [][]byte, whole, part int) {
	if !r.lists() {
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
	lists, handed := r != nil && r.lists(), 0
	if lists {
		front = r.cutFront(list, whole, part)
	} else if r != nil && part > 0 {
		front = list[whole][:part]
	}
	defer func() {
		if r == nil {
			return
		}
		if !lists && handed < whole {
			r.owned = append(r.owned, list[handed:whole]...)
		}
		if front != nil && handed <= whole {
			r.owned = append(r.owned, front)
		}
		if lists {
			r.owned = slices.DeleteFunc(r.owned, func(b []byte) bool { return cap(b) == 0 })
		}
	}()
	for k, b := range list[:whole] {
		if lists {
			if i := r.listed(list, k); i >= 0 {
				r.owned[i] = nil
			}
		}
		if handed++; len(b) > 0 {
			r.give(b, yield)
		}
	}
	if handed++; part > 0 {
		r.give(list[whole][:part:part], yield)
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

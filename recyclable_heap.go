package gomem

import (
	"cmp"
	"slices"
	"unsafe"
)

// heapSearch finds the buffers in a list of what CopyFrom or NextN took from the Go heap,
// for many that are asked for, mostly in the order of the list.
type heapSearch struct {
	list   [][]byte
	next   int   // before it there are only marked ones
	marked int   // those that lost their length, to be forgotten
	misses int   // how often it was not the next one
	index  []int // the places in list, by address; made after some misses
}

// find is the place of what b is a part of, or -1.
func (s *heapSearch) find(b []byte) int {
	for s.next < len(s.list) && len(s.list[s.next]) == 0 {
		s.next++
	}
	if s.next < len(s.list) && s.holds(s.next, b) {
		return s.next
	}
	if s.misses++; s.misses <= fewBuffers || len(s.list) <= fewBuffers {
		return slices.IndexFunc(s.list, func(whole []byte) bool { return within(b, whole[:cap(whole)]) })
	}
	if s.index == nil {
		s.index = byAddress(s.list)
	}
	at := addressOf(b)
	i, exact := slices.BinarySearchFunc(s.index, at, func(i int, at uintptr) int {
		return cmp.Compare(addressOf(s.list[i]), at)
	})
	if !exact {
		i--
	}
	if i < 0 || !s.holds(s.index[i], b) {
		return -1
	}
	return s.index[i]
}

// holds reports whether b lies in list[i], marked or not.
func (s *heapSearch) holds(i int, b []byte) bool { return within(b, s.list[i][:cap(s.list[i])]) }

// give passes b to yield, unless it is of the Go heap. What it has the last byte of is
// marked.
func (s *heapSearch) give(b []byte, yield func([]byte) bool) {
	i := s.find(b)
	if i < 0 {
		yield(b)
		return
	}
	whole := s.list[i]
	if n := len(whole); n > 0 && within(whole[n-1:], b) {
		s.list[i] = whole[:0]
		s.marked++
	}
}

// forget forgets what is marked, unless Recycle would free another part of it.
func (r *RecyclableMemory) forget(s *heapSearch) {
	if s.marked == 0 {
		return
	}
	for _, b := range r.owned {
		if i := s.find(b); i >= 0 && len(s.list[i]) == 0 {
			s.list[i] = s.list[i][:cap(s.list[i])]
		}
	}
	first := slices.IndexFunc(r.heap, func(b []byte) bool { return len(b) > 0 })
	if first < 0 {
		first = len(r.heap)
	}
	r.heap = without(r.heap, 0, first)
	if first < s.marked {
		r.heap = slices.DeleteFunc(r.heap, func(b []byte) bool { return len(b) == 0 })
	}
}

// byAddress is the places in list in the order of the addresses there.
func byAddress(list [][]byte) []int {
	index := make([]int, len(list))
	for i := range index {
		index[i] = i
	}
	slices.SortFunc(index, func(i, j int) int { return cmp.Compare(addressOf(list[i]), addressOf(list[j])) })
	return index
}

// addressOf is the address of the first byte of b.
func addressOf(b []byte) uintptr {
	// Safety: the addresses are compared and never followed. Buffers of the Go heap do not
	// move (runtime assumption 5), and their slices keep them alive.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

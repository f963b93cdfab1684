package lac

import (
	"math/bits"
	"unsafe"
)

// attachments are the Go heap objects that an arena keeps alive. The hash table is not a
// map, as to clear that takes time for all its room, and to make it many allocations.
type attachments struct {
	pointers []attachment   // each address once, however often attached
	slots    []uint32       // hash table of places in pointers, from 1; twice as many as there is room
	values   []any          // what is not one pointer
	last     unsafe.Pointer // the address attached last, a common repeat
	lastSize uintptr
}

// attachment is size bytes at p, which are at slot in the hash table.
type attachment struct {
	p    unsafe.Pointer
	size uintptr
	slot uint32
}

const (
	// minAttachments is the least room for pointers.
	minAttachments = 8
	// freelyKeptAttachments bounds the room that an idle core keeps in any case.
	freelyKeptAttachments = 1024
	// maxKeptAttachments bounds the room that it keeps if a quarter was used.
	maxKeptAttachments = 8192
)

// keeps tells whether an idle core keeps the room of which an arena used some.
func keeps(room, used int) bool {
	return room <= freelyKeptAttachments || room <= maxKeptAttachments && used >= room/4
}

// reset forgets everything, in time that depends on what there is, not on the room.
func (a *attachments) reset() {
	if !keeps(len(a.slots)/2, len(a.pointers)) {
		a.pointers, a.slots = nil, nil
	}
	for i := range a.pointers {
		a.slots[a.pointers[i].slot] = 0
	}
	clear(a.pointers)
	a.pointers = a.pointers[:0]
	if !keeps(cap(a.values), len(a.values)) {
		a.values = nil
	}
	clear(a.values)
	a.values = a.values[:0]
	a.last, a.lastSize = nil, 0
}

// add notes size bytes at p. Amortized O(1).
func (a *attachments) add(p unsafe.Pointer, size uintptr) {
	if p == a.last && size == a.lastSize {
		return
	}
	a.last, a.lastSize = p, size
	if 2*len(a.pointers) == len(a.slots) {
		a.grow()
	}
	slot := a.slotOf(p)
	if at := a.slots[slot]; at > 0 {
		known := &a.pointers[at-1]
		known.size = max(size, known.size)
		return
	}
	a.pointers = append(a.pointers, attachment{p, size, slot})
	a.slots[slot] = uint32(len(a.pointers))
}

// grow doubles the room.
func (a *attachments) grow() {
	room := max(2*len(a.pointers), minAttachments)
	a.pointers = append(make([]attachment, 0, room), a.pointers...)
	a.slots = make([]uint32, 2*room)
	for i := range a.pointers {
		slot := a.slotOf(a.pointers[i].p)
		a.pointers[i].slot, a.slots[slot] = slot, uint32(i+1)
	}
}

// slotOf is the slot of p, or a free one for it. There is one, as half of them are.
func (a *attachments) slotOf(p unsafe.Pointer) uint32 {
	// Addresses are multiples of powers of two: the product spreads them over its high
	// bits. They stay right as what is attached does not move (runtime assumption 5).
	hash := uint64(uintptr(p)) * 0x9e3779b97f4a7c15
	last := uint32(len(a.slots) - 1)
	slot := uint32(hash >> (64 - bits.Len32(last)))
	for a.slots[slot] > 0 && a.pointers[a.slots[slot]-1].p != p {
		slot = (slot + 1) & last
	}
	return slot
}

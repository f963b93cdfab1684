package lac

import (
	"testing"
	"unsafe"
)

// TestManyAttachmentsAgain: arenas that attach thousands of pointers each allocate nothing
// for them, and one that attaches few gives the room back.
func TestManyAttachmentsAgain(t *testing.T) {
	var a attachments
	objects := make([]int64, 5000)
	attach := func(n int) {
		for i := range n {
			a.add(unsafe.Pointer(&objects[i]), 8)
		}
	}
	attach(len(objects))
	if allocs := testing.AllocsPerRun(10, func() {
		a.reset()
		attach(len(objects))
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	a.reset()
	if attach(1); cap(a.pointers) < len(objects) {
		t.Errorf("room for %d pointers kept, of %d", cap(a.pointers), len(objects))
	}
	if a.reset(); cap(a.pointers)+len(a.slots) > 0 {
		t.Errorf("room for %d pointers kept after an arena with one", cap(a.pointers))
	}
}

// TestAttachmentsOnce: each address is kept once, with the largest size, and a reset
// leaves nothing of it.
func TestAttachmentsOnce(t *testing.T) {
	var a attachments
	objects := make([]int64, 700)
	for _, n := range []int{700, 3, 0, 1, 699} {
		for size := range uintptr(3) {
			for i := range n {
				a.add(unsafe.Pointer(&objects[i]), (size+1)%3)
			}
		}
		if len(a.pointers) != n {
			t.Fatalf("%d pointers kept, want %d", len(a.pointers), n)
		}
		for i, at := range a.pointers {
			if at.p != unsafe.Pointer(&objects[i]) || at.size != 2 {
				t.Fatalf("%d bytes at %p, want 2 at %p", at.size, at.p, &objects[i])
			}
		}
		a.reset()
		for i, at := range a.slots {
			if at != 0 {
				t.Fatalf("slot %d is used after a reset", i)
			}
		}
		for i, left := range a.pointers[:cap(a.pointers)] {
			if left.p != nil {
				t.Fatalf("pointer %d is kept after a reset", i)
			}
		}
	}
}

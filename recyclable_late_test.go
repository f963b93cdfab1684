package gomem

import "testing"

// TestClipFrontYieldPanics: what yield was not called with is freed by Recycle, and by
// nobody else; what it was called with is its own.
func TestClipFrontYieldPanics(t *testing.T) {
	for _, byList := range []bool{false, true} {
		for _, at := range []int{0, 2, 5} { // of six or seven pieces, the last of them a part
			r, a := newRecyclable(t)
			others := 0
			if byList {
				others = 1
				r.InitRecycleIndexes(0)
				r.PushOne(make([]byte, 100)) // somebody else's
			}
			for range 6 {
				r.NextN(100)
			}
			rd := r.NewReader()
			if err := rd.Skip(rd.Length - 50); err != nil {
				t.Fatal(err)
			}
			var given [][]byte
			if !panics(func() {
				rd.ClipFront(func(b []byte) bool {
					if given = append(given, b); len(given) > at {
						panic("yield")
					}
					return true
				})
			}) {
				t.Fatal("the panic went nowhere")
			}
			r.Recycle()
			for _, b := range given[min(others, len(given)):] {
				if !a.Free(b) {
					t.Errorf("list %v, panic at %d: a piece that was given away was freed already", byList, at)
				}
			}
			if s := a.Stats(); s.Live != 0 || s.Refused != 0 {
				t.Errorf("list %v, panic at %d: %+v", byList, at, s)
			}
		}
	}
}

// TestUpdateAfterCopyWithoutRoom: whether CopyFrom found room or not, UpdateBuffer puts a
// buffer of the allocator in its place that Recycle frees.
func TestUpdateAfterCopyWithoutRoom(t *testing.T) {
	for _, full := range []bool{false, true} {
		a := NewScalableMemoryAllocator(1<<16, WithMaxBytes(1<<16))
		var all []byte
		if full {
			all = a.Malloc(1 << 16)
		}
		r := NewRecyclableMemory(a)
		r.SetRecycling(true)
		r.InitRecycleIndexes(1)
		m := NewMemory(make([]byte, 500))
		r.CopyFrom(&m)
		a.Free(all)
		old := r.Buffers[0]
		r.UpdateBuffer(0, a.Malloc(700))
		if a.Free(old) == full {
			t.Errorf("full %v: whether the copy was the allocator's is the other way round", full)
		}
		r.Recycle()
		if live := a.Stats().Live; live != 0 {
			t.Errorf("full %v: %d bytes are live after Recycle", full, live)
		}
	}
}

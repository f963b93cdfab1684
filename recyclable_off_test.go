package gomem

import (
	"bytes"
	"testing"
)

func TestRecyclableOff(t *testing.T) {
	a := NewScalableMemoryAllocator(1024)
	defer a.Recycle()
	off := func() *RecyclableMemory {
		r := NewRecyclableMemory(a)
		r.SetRecycling(false)
		return &r
	}
	nowhere := func() *RecyclableMemory {
		r := NewRecyclableMemory(nil)
		r.SetRecycling(true)
		return &r
	}
	for name, make := range map[string]func() *RecyclableMemory{"off": off, "nil allocator": nowhere} {
		r := make()
		if r.NextN(-1) != nil || r.Count() != 0 {
			t.Errorf("%s: NextN(-1) adds a buffer", name)
		}
		if b := r.NextN(0); b == nil || len(b) != 0 {
			t.Errorf("%s: NextN(0) = %v", name, b)
		}
		b := r.NextN(5)
		copy(b, "hello")
		if len(b) != 5 || cap(b) != 5 {
			t.Errorf("%s: NextN(5): len %d cap %d", name, len(b), cap(b))
		}
		wantLive(t, a, 0, name)
		r.Recycle()
		checkMemory(t, &r.Memory, "")
		copy(r.NextN(5), "other")
		if !bytes.Equal(b, []byte("hello")) {
			t.Errorf("%s: memory of the Go heap was used again: %q", name, b)
		}
		r.Recycle()
	}
}

// TestRecyclableOffGivesBack: also where NextN does without the allocator, what the
// caller took from it and gave to the chain is freed, once, wherever the chain has it.
func TestRecyclableOffGivesBack(t *testing.T) {
	for name, use := range map[string]func(r *RecyclableMemory, a *ScalableMemoryAllocator){
		"AddRecycleBytes": func(*RecyclableMemory, *ScalableMemoryAllocator) {},
		"pushed":          func(r *RecyclableMemory, a *ScalableMemoryAllocator) { r.PushOne(a.Malloc(70)) },
		"by list":         func(r *RecyclableMemory, _ *ScalableMemoryAllocator) { r.InitRecycleIndexes(1) },
		"Reset":           func(r *RecyclableMemory, _ *ScalableMemoryAllocator) { r.Reset() },
		"UpdateBuffer": func(r *RecyclableMemory, a *ScalableMemoryAllocator) {
			b := r.Buffers[1]
			a.Free(b[40:])
			r.UpdateBuffer(1, b[:40])
		},
		"ClipFront": func(r *RecyclableMemory, _ *ScalableMemoryAllocator) {
			rd := r.NewReader()
			_ = rd.Skip(60)
			rd.ClipFront(nil)
		},
		"ClipFront, given": func(r *RecyclableMemory, a *ScalableMemoryAllocator) {
			rd := r.NewReader()
			_ = rd.Skip(60)
			rd.ClipFront(a.Free) // nothing of NextN
		},
	} {
		r, a := newRecyclable(t)
		r.SetRecycling(false)
		before := r.NextN(10)
		r.AddRecycleBytes(a.Malloc(100))
		copy(r.NextN(5), "after")
		copy(before, "0123456789")
		use(r, a)
		r.Recycle()
		if s := a.Stats(); s.Live != 0 {
			t.Errorf("%s: %d bytes are left", name, s.Live)
		}
		if string(before) != "0123456789" {
			t.Errorf("%s: memory of the Go heap is %q", name, before)
		}
		r.Recycle()
		freeAll(t, a, nil)
	}
}

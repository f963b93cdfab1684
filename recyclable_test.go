package gomem

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"testing"
	"weak"
)

// live is the number of bytes a has handed out and not got back.
func live(a *ScalableMemoryAllocator) int { return int(a.GetTotalMalloc() - a.GetTotalFree()) }

func wantLive(t *testing.T, a *ScalableMemoryAllocator, want int, when string) {
	t.Helper()
	if got := live(a); got != want {
		t.Errorf("%s: %d bytes live, want %d", when, got, want)
	}
}

// newRecyclable returns a memory that recycles in every build, and its
// allocator.
func newRecyclable(t *testing.T) (*RecyclableMemory, *ScalableMemoryAllocator) {
	a := NewScalableMemoryAllocator(1024)
	t.Cleanup(a.Recycle)
	r := NewRecyclableMemory(a)
	r.SetRecycling(true)
	return &r, a
}

func TestRecyclable(t *testing.T) {
	for _, byList := range []bool{false, true} {
		t.Run(fmt.Sprintf("list=%v", byList), func(t *testing.T) {
			r, a := newRecyclable(t)
			if byList {
				r.InitRecycleIndexes(4)
			}
			for round := range 3 {
				var want []byte
				for n := range 20 {
					b := r.NextN(n * 10)
					if len(b) != n*10 || cap(b) != n*10 {
						t.Fatalf("NextN(%d): len %d cap %d", n*10, len(b), cap(b))
					}
					for i := range b {
						b[i] = byte(round + n)
					}
					want = append(want, b...)
				}
				r.AddRecycleBytes(append(a.Malloc(3)[:0], "end"...))
				want = append(want, "end"...)
				if r.Count() != 21 || r.Size != len(want) {
					t.Errorf("%d buffers, %d bytes", r.Count(), r.Size)
				}
				checkMemory(t, &r.Memory, string(want))
				wantLive(t, a, 1903, "full")
				r.Recycle()
				wantLive(t, a, 0, "recycled")
				checkMemory(t, &r.Memory, "")
				r.Recycle()
				wantLive(t, a, 0, "recycled twice")
			}
		})
	}
}

func TestRecyclableForeignBuffers(t *testing.T) {
	r, a := newRecyclable(t)
	first := r.NextN(10)
	r.InitRecycleIndexes(-1)
	r.InitRecycleIndexes(5)
	foreign := a.Malloc(7)
	r.PushOne(foreign)
	r.NextN(20)
	kept := r.Memory
	copy(foreign, "foreign")
	copy(first, "0123456789")
	wantLive(t, a, 37, "full")
	r.Recycle()
	wantLive(t, a, 7, "recycled")
	r.NextN(5)
	if got := kept.Buffers[1]; string(got) != "foreign" {
		t.Errorf("a copy of the chain now holds %q", got)
	}
	r.Recycle()
	if !a.Free(foreign) {
		t.Error("the foreign buffer was freed with the chain")
	}
	wantLive(t, a, 0, "all freed")

	// By chain it is not freed if it is not the allocator's, and copies have it still.
	c, _ := newRecyclable(t)
	c.PushOne([]byte("heap"))
	kept = c.Memory
	c.Recycle()
	c.NextN(1)
	checkMemory(t, &kept, "heap")
}

func TestG33ResetThenRecycle(t *testing.T) {
	for _, byList := range []bool{false, true} {
		r, a := newRecyclable(t)
		if byList {
			r.InitRecycleIndexes(4)
		}
		b := r.NextN(20)
		kept := r.Memory
		copy(b, "still valid until it")
		r.Reset()
		checkMemory(t, &r.Memory, "")
		wantLive(t, a, 20, "after Reset")
		r.NextN(5)
		checkMemory(t, &kept, "still valid until it")
		r.Recycle()
		wantLive(t, a, 0, "after Recycle")
		if a.Free(b) {
			t.Error("the memory was not freed by Recycle")
		}
	}
}

func TestRecyclableClone(t *testing.T) {
	r, a := newRecyclable(t)
	copy(r.NextN(5), "hello")
	c := r.Clone()
	if c.GetAllocator() != a {
		t.Error("the clone has another allocator")
	}
	copy(c.NextN(6), " world")
	checkMemory(t, &c.Memory, "hello world")
	checkMemory(t, &r.Memory, "hello")
	r.PushOne(a.Malloc(0))
	checkMemory(t, &c.Memory, "hello world")
	c.Recycle()
	wantLive(t, a, 5, "clone recycled")
	checkMemory(t, &r.Memory, "hello")
	c.Recycle()
	r.Recycle()
	wantLive(t, a, 0, "original recycled")
}

func TestRecyclableCopyFrom(t *testing.T) {
	var refused error
	a := NewScalableMemoryAllocator(1024, WithMisuse(func(err error) { refused = err }))
	defer a.Recycle()
	r := NewRecyclableMemory(a)
	r.SetRecycling(true)
	other := NewMemory([]byte("abc"))
	r.CopyFrom(&other)
	r.CopyFrom(nil)
	r.CopyFrom(new(Memory))
	r.CopyFrom(&r.Memory)
	checkMemory(t, &r.Memory, "abcabc")
	other.Buffers[0][0] = 'X'
	checkMemory(t, &r.Memory, "abcabc")
	wantLive(t, a, 6, "copied")
	r.Recycle()
	wantLive(t, a, 0, "recycled")
	if refused != nil {
		t.Errorf("Recycle freed what is not its own: %v", refused)
	}
}

// TestRecyclableCopyFromWithoutRoom: what the Go heap must hold is copied all the same,
// and nobody takes it for the allocator's, in parts neither.
func TestRecyclableCopyFromWithoutRoom(t *testing.T) {
	for _, byList := range []bool{false, true} {
		a := NewScalableMemoryAllocator(1024, WithMaxBytes(1<<20), WithMisuse(func(err error) { t.Error(err) }))
		r := NewRecyclableMemory(a)
		r.SetRecycling(true)
		if byList {
			r.InitRecycleIndexes(1)
		}
		other := NewMemory(noise(2 << 20))
		for _, then := range []func(){
			func() {},
			func() { r.UpdateBuffer(1, r.Buffers[1][7:100]) },
			func() { r.Reset() },
			func() { r.InitRecycleIndexes(0) },
			func() {
				rd := r.NewReader()
				_ = rd.Skip(100)
				rd.ClipFront(nil)
			},
		} {
			r.NextN(10)
			r.CopyFrom(&other)
			r.NextN(10)
			if last := NewMemory(r.Buffers[1]); !last.Equal(&other) || r.Size != 20+other.Size {
				t.Errorf("list=%v: the copy has %d bytes", byList, last.Size)
			}
			wantLive(t, a, 20, "copied")
			then()
			r.Recycle()
			wantLive(t, a, 0, "recycled")
			if r.Count() != 0 || len(r.owned) != 0 || len(r.heap) != 0 {
				t.Errorf("list=%v: %d buffers, %d in the list, %d on the heap", byList, r.Count(), len(r.owned), len(r.heap))
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRecyclableRoomOnDemand: room that was announced is not all taken at once.
func TestRecyclableRoomOnDemand(t *testing.T) {
	r, a := newRecyclable(t)
	r.InitRecycleIndexes(math.MaxInt)
	r.NextN(5)
	r.Recycle()
	wantLive(t, a, 0, "recycled")
}

// Copies of a chain survive Recycle where nothing is freed. Where all is, they end
// at once: with no bytes of the next user, and no panic.
func TestG32RecycleAndCopies(t *testing.T) {
	var whole []func() *RecyclableMemory
	for _, byList := range []bool{false, true} {
		whole = append(whole, func() *RecyclableMemory {
			r := NewRecyclableMemory(nil)
			r.SetRecycling(true)
			if byList {
				r.InitRecycleIndexes(2)
			}
			copy(r.NextN(3), "abc")
			return &r
		})
	}
	whole = append(whole, func() *RecyclableMemory {
		r, _ := newRecyclable(t)
		r.InitRecycleIndexes(2)
		r.PushOne([]byte("abc"))
		return r
	}, func() *RecyclableMemory {
		r, _ := newRecyclable(t)
		r.SetRecycling(false)
		copy(r.NextN(3), "abc")
		return r
	}, func() *RecyclableMemory {
		r, _ := newRecyclable(t)
		copy(r.NextN(3), "abc")
		c := r.Clone()
		return &c
	})
	for _, make := range whole {
		r := make()
		kept := r.Memory
		r.Recycle()
		checkMemory(t, &r.Memory, "")
		copy(r.NextN(3), "xyz")
		checkMemory(t, &kept, "abc")
	}
	for _, byList := range []bool{false, true} {
		r, _ := newRecyclable(t)
		if byList {
			r.InitRecycleIndexes(2)
		}
		r.NextN(3)
		kept := r.Memory
		r.Recycle()
		read := kept.NewReader()
		if n, err := read.Read(make([]byte, 3)); n != 0 || err != io.ErrUnexpectedEOF {
			t.Errorf("list=%v: a reader of a copy reads %d, %v", byList, n, err)
		}
		if b := kept.ToBytes(); kept.Buffers[0] != nil || len(b) != 0 {
			t.Errorf("list=%v: a copy holds %q", byList, b)
		}
	}
}

func TestRecyclableDefault(t *testing.T) {
	a := NewScalableMemoryAllocator(1024)
	defer a.Recycle()
	var r RecyclableMemory
	r.SetAllocator(a)
	r.NextN(100)
	want := 0
	if recycleByDefault {
		want = 100
	}
	wantLive(t, a, want, "as built")
	r.Recycle()
	wantLive(t, a, 0, "recycled")
}

func TestRecyclableNegative(t *testing.T) {
	r, a := newRecyclable(t)
	if r.NextN(-1) != nil || r.Count() != 0 || r.Size != 0 {
		t.Errorf("NextN(-1) adds a buffer: %v", r.Buffers)
	}
	wantLive(t, a, 0, "NextN(-1)")
}

// TestRecyclableKeepsNothing: an empty memory that waits for its next use does not
// keep what it held from the garbage collector.
func TestRecyclableKeepsNothing(t *testing.T) {
	for _, byList := range []bool{false, true} {
		r := NewRecyclableMemory(nil)
		r.SetRecycling(true)
		if byList {
			r.InitRecycleIndexes(1)
		}
		held := weak.Make(&r.NextN(1 << 20)[0])
		r.Recycle()
		runtime.GC()
		if held.Value() != nil {
			t.Errorf("list=%v: a buffer that was recycled is kept", byList)
		}
		runtime.KeepAlive(&r)
	}
}

func BenchmarkRecyclable(b *testing.B) {
	b.Run("op=NextN1KiB/recycle=100", func(b *testing.B) {
		b.ReportAllocs()
		a := NewScalableMemoryAllocator(1024)
		defer a.Recycle()
		r := NewRecyclableMemory(a)
		i := 0
		for b.Loop() {
			if r.NextN(1024); i%100 == 99 {
				r.Recycle()
			}
			i++
		}
		r.Recycle()
	})
	for _, byList := range []bool{false, true} {
		b.Run(fmt.Sprintf("op=10NextN+Recycle/list=%v", byList), func(b *testing.B) {
			b.ReportAllocs()
			a := NewScalableMemoryAllocator(1024)
			defer a.Recycle()
			r := NewRecyclableMemory(a)
			if byList {
				r.InitRecycleIndexes(10)
			}
			for b.Loop() {
				for range 10 {
					r.NextN(256)
				}
				r.Recycle()
			}
		})
	}
}

package gomem

import (
	"fmt"
	"testing"

	"github.com/gomem-go/gomem/internal/check"
)

// clips are what a program does with what ClipFront removes: the function it passes,
// and what it has to free later.
var clips = map[string]func(a *ScalableMemoryAllocator) (yield func([]byte) bool, callers *[][]byte){
	"freed": func(a *ScalableMemoryAllocator) (func([]byte) bool, *[][]byte) {
		return a.Free, new([][]byte)
	},
	"kept": func(a *ScalableMemoryAllocator) (func([]byte) bool, *[][]byte) {
		callers := new([][]byte)
		return func(b []byte) bool {
			*callers = append(*callers, b)
			return false
		}, callers
	},
	"nil": func(a *ScalableMemoryAllocator) (func([]byte) bool, *[][]byte) {
		return nil, new([][]byte)
	},
}

// TestRecyclableClipFront: what ClipFront removed is freed once, wherever it ends,
// twice in turn, and what has been handed out since stays its new owner's.
func TestRecyclableClipFront(t *testing.T) {
	lens := []int{10, 0, 20, 30, 5}
	for _, byList := range []bool{false, true} {
		for name, clip := range clips {
			for first := range 66 {
				for second := 0; second < 66-first; second += 5 {
					r, a := newRecyclable(t)
					if byList {
						r.InitRecycleIndexes(len(lens))
					}
					for _, n := range lens {
						r.NextN(n)
					}
					yield, callers := clip(a)
					rd := r.NewReader()
					var others [][]byte
					for _, n := range []int{first, second} {
						if err := rd.Skip(n); err != nil {
							t.Fatal(err)
						}
						rd.ClipFront(yield)
						for _, n := range lens {
							others = append(others, a.Malloc(n))
						}
					}
					if r.Size != 65-first-second || rd.Length != r.Size {
						t.Fatalf("Size %d, Length %d", r.Size, rd.Length)
					}
					if name == "freed" {
						wantLive(t, a, r.Size+2*65, "clipped")
					}
					r.Recycle()
					freeAll(t, a, append(others, *callers...))
					if t.Failed() {
						t.Fatalf("list=%v, %s after %d and %d bytes", byList, name, first, second)
					}
				}
			}
		}
	}
}

// TestRecyclableClipThen: what comes between ClipFront and Recycle.
func TestRecyclableClipThen(t *testing.T) {
	for name, then := range map[string]func(r *RecyclableMemory, a *ScalableMemoryAllocator) (callers [][]byte){
		"UpdateBuffer of the rest": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			b := r.Buffers[0]
			r.UpdateBuffer(0, b[:20])
			return [][]byte{b[20:]}
		},
		"Reset": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			r.Reset()
			r.NextN(7)
			return nil
		},
		"Reset of the reader": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			rd := r.NewReader()
			rd.Reset()
			r.NextN(7)
			rd.Length += 7
			_ = rd.Skip(3)
			rd.ClipFront(a.Free)
			return nil
		},
		"InitRecycleIndexes": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			r.InitRecycleIndexes(1)
			other := a.Malloc(9)
			r.PushOne(other)
			return [][]byte{other}
		},
		"Recycle": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			r.Recycle()
			r.NextN(5)
			return nil
		},
		"another Memory": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			other := NewMemory(a.Malloc(20))
			rd := r.NewReader()
			rd.Memory, rd.Length = &other, other.Size
			_ = rd.Skip(10)
			rd.ClipFront(a.Free)
			out := other.Buffers[0]
			rd.Reset()
			return [][]byte{out}
		},
		"clone": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
			c := r.Clone()
			rd := c.NewReader()
			c.NextN(9)
			rd.Length += 9
			_ = rd.Skip(75)
			rd.ClipFront(nil)
			c.Recycle()
			return nil
		},
	} {
		for _, byList := range []bool{false, true} {
			for clipped, clip := range clips {
				t.Run(fmt.Sprintf("%s/%s/list=%v", name, clipped, byList), func(t *testing.T) {
					r, a := newRecyclable(t)
					if byList {
						r.InitRecycleIndexes(2)
					}
					for _, n := range []int{30, 40, 10} {
						r.NextN(n)
					}
					yield, callers := clip(a)
					rd := r.NewReader()
					_ = rd.Skip(31)
					rd.ClipFront(yield)
					out := then(r, a)
					r.Recycle()
					freeAll(t, a, append(out, *callers...))
				})
			}
		}
	}
}

// TestRecyclableClipOthers: by list, what someone else owns is not freed by Recycle,
// clipped or not.
func TestRecyclableClipOthers(t *testing.T) {
	for n := range 71 {
		r, a := newRecyclable(t)
		r.InitRecycleIndexes(2)
		other := a.Malloc(20)
		r.NextN(10)
		r.PushOne(other)
		r.NextN(30)
		r.PushOne([]byte("0123456789"))
		rd := r.NewReader()
		_ = rd.Skip(n)
		rd.ClipFront(nil)
		r.Recycle()
		freeAll(t, a, [][]byte{other})
	}
}

// TestRecyclableClipNothing: what is not recycled is left alone.
func TestRecyclableClipNothing(t *testing.T) {
	off, a := newRecyclable(t)
	off.SetRecycling(false)
	b := off.NextN(5)
	rd := off.NewReader()
	_ = rd.Skip(5)
	rd.ClipFront(nil)
	copy(b, "hello")
	off.Recycle()
	if string(b) != "hello" {
		t.Errorf("the caller holds %q", b)
	}
	freeAll(t, a, nil)
}

// TestRecyclableClipLately: a list from which clips are taken all the time stays as
// long as the chain.
func TestRecyclableClipLately(t *testing.T) {
	r, a := newRecyclable(t)
	r.InitRecycleIndexes(4)
	rd := r.NewReader()
	for i := range 1000 {
		n := i % 7 // at times 0
		r.NextN(n)
		rd.Length += n
		_ = rd.Skip(rd.Length)
		rd.ClipFront(a.Free)
	}
	if len(r.owned) > 1 || r.Count() > 1 {
		t.Errorf("%d buffers in the list, %d in the chain", len(r.owned), r.Count())
	}
	wantLive(t, a, r.Size, "clipped")
	r.Recycle()
	freeAll(t, a, nil)
}

// TestRecyclableResetOfNothing: a Reset of an empty chain keeps its array, so a loop of
// Reset, NextN and Recycle allocates nothing.
func TestRecyclableResetOfNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("a debug build watches each block")
	}
	r, a := newRecyclable(t)
	if allocs := leastAllocs(20, func() {
		r.Reset()
		for range 10 {
			r.NextN(100)
		}
		r.Recycle()
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	wantLive(t, a, 0, "recycled")
}

// TestRecyclableClipElsewhere: a reader that was set on another Memory takes nothing
// from the first one, and gives nothing back to it.
func TestRecyclableClipElsewhere(t *testing.T) {
	r, a := newRecyclable(t)
	copy(r.NextN(5), "first")
	other := NewMemory([]byte("other"))
	rd := r.NewReader()
	rd.Memory = &other
	_ = rd.Skip(3)
	rd.ClipFront(nil)
	checkMemory(t, &other, "er")
	rd.Reset()
	checkMemory(t, &other, "")
	checkMemory(t, &r.Memory, "first")
	r.Recycle()
	freeAll(t, a, nil)
}

// withHeapCopies returns a memory, and a function that adds a copy on the Go heap to it.
func withHeapCopies(t *testing.T) (r *RecyclableMemory, a *ScalableMemoryAllocator, copyOf func(text string)) {
	r, a = newRecyclable(t)
	full := NewScalableMemoryAllocator(1024)
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	return r, a, func(text string) {
		src := NewMemory([]byte(text))
		r.SetAllocator(full)
		r.CopyFrom(&src)
		r.SetAllocator(a)
	}
}

// TestRecyclableClipHeapCopy: what CopyFrom took from the Go heap is neither passed to
// yield nor freed by Recycle, wherever ClipFront ends, with and without a yield, in turn.
func TestRecyclableClipHeapCopy(t *testing.T) {
	yields := map[string]func(*ScalableMemoryAllocator) func([]byte) bool{
		"freed": func(a *ScalableMemoryAllocator) func([]byte) bool { return a.Free },
		"nil":   func(*ScalableMemoryAllocator) func([]byte) bool { return nil },
	}
	for _, byList := range []bool{false, true} {
		for _, names := range [][2]string{{"freed", "freed"}, {"freed", "nil"}, {"nil", "freed"}, {"nil", "nil"}} {
			for first := range 26 {
				for second := range 26 - first {
					r, a, copyOf := withHeapCopies(t)
					if byList {
						r.InitRecycleIndexes(4)
					}
					r.NextN(5)
					copyOf("0123456789")
					copyOf("abcde")
					r.NextN(5)
					rd := r.NewReader()
					for i, n := range []int{first, second} {
						if err := rd.Skip(n); err != nil {
							t.Fatal(err)
						}
						rd.ClipFront(yields[names[i]](a))
					}
					if names == [2]string{"freed", "freed"} {
						read, kept := first+second, 2
						if read >= 15 {
							kept--
						}
						if read >= 20 {
							kept--
						}
						wantLive(t, a, max(5-read, 0)+min(25-read, 5), "clipped")
						if len(r.heap) != kept {
							t.Errorf("%d copies are kept, want %d", len(r.heap), kept)
						}
					}
					r.Recycle()
					freeAll(t, a, nil)
					if t.Failed() {
						t.Fatalf("list=%v, %q after %d and %d bytes", byList, names, first, second)
					}
				}
			}
		}
	}
}

// TestRecyclableClipHeapCopyLater: a list made after the copy, and parts of a copy that
// are clipped without a yield, stay the garbage collector's.
func TestRecyclableClipHeapCopyLater(t *testing.T) {
	r, a, copyOf := withHeapCopies(t)
	copyOf("0123456789")
	r.InitRecycleIndexes(1)
	rd := r.NewReader()
	_ = rd.Skip(4)
	rd.ClipFront(nil)
	_ = rd.Skip(6)
	rd.ClipFront(a.Free)
	r.Recycle()
	freeAll(t, a, nil)
}

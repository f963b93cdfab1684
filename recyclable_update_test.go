package gomem

import (
	"fmt"
	"testing"
)

// TestRecyclableTailOfCaller: the end of a buffer that the caller frees before he puts
// the rest in its place is another's from then on.
func TestRecyclableTailOfCaller(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		for _, mode := range []struct {
			name string
			opts []Option
		}{
			{"built", nil},
			{"debug", []Option{WithDebug(DebugOptions{})}},
			{"guard pages", []Option{WithDebug(DebugOptions{GuardPages: true})}},
		} {
			for _, byList := range []bool{false, true} {
				for _, n := range []int{1460, 200 << 10} {
					t.Run(fmt.Sprintf("%s/list=%v/%d", mode.name, byList, n), func(t *testing.T) {
						tailOfCaller(t, k, byList, n, mode.opts...)
					})
				}
			}
		}
	})
}

func tailOfCaller(t *testing.T, k kind, byList bool, n int, opts ...Option) {
	a := k.make(t, append(opts, WithMisuse(func(err error) { t.Error(err) }))...)
	r := NewRecyclableMemory(a)
	r.SetRecycling(true)
	if byList {
		r.InitRecycleIndexes(2)
	}
	const packets = 8
	var others [][]byte
	reused := false
	for range packets {
		mem := r.NextN(n)
		keep := n / 8
		tail := mem[keep:]
		if !r.GetAllocator().Free(tail) {
			t.Fatal("the tail is not freed")
		}
		other := a.Malloc(len(tail))
		reused = reused || &other[0] == &tail[0]
		others = append(others, other)
		r.UpdateBuffer(-1, mem[:keep])
	}
	if len(opts) == 0 && debugAsBuilt() == nil && !reused && n > 4096 {
		t.Error("no tail was handed out again: the test shows nothing")
	}
	if want := packets * (n / 8); r.Size != want {
		t.Errorf("Size %d, want %d", r.Size, want)
	}
	r.Recycle()
	for _, other := range others {
		if !a.Free(other) {
			t.Error("Recycle freed what is another's")
		}
	}
	if s := a.Stats(); s.Live != 0 || s.Refused != 0 {
		t.Errorf("%d bytes live, %d frees refused", s.Live, s.Refused)
	}
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestRecyclableUpdateBuffer: what is taken out is the caller's, whatever comes in its
// place, which is Recycle's.
func TestRecyclableUpdateBuffer(t *testing.T) {
	for _, byList := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			replace func(a *ScalableMemoryAllocator, old []byte) (buf []byte, out [][]byte)
		}{
			{"head", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return old[:4], [][]byte{old[4:]}
			}},
			{"middle", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return old[3:30], [][]byte{old[:3], old[30:]}
			}},
			{"cut", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return old[20:50:50], [][]byte{old[:20], old[50:]}
			}},
			{"tail", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return old[90:], [][]byte{old[:90]}
			}},
			{"nothing", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return nil, [][]byte{old}
			}},
			{"itself", func(_ *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return old, nil
			}},
			{"shorter", func(a *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return a.Malloc(7), [][]byte{old}
			}},
			{"longer", func(a *ScalableMemoryAllocator, old []byte) ([]byte, [][]byte) {
				return a.Malloc(5000), [][]byte{old}
			}},
		} {
			t.Run(fmt.Sprintf("%s/list=%v", c.name, byList), func(t *testing.T) {
				r, a := newRecyclable(t)
				if byList {
					r.InitRecycleIndexes(4)
				}
				r.NextN(10)
				buf, out := c.replace(a, r.NextN(100))
				if !r.TryUpdateBuffer(-1, buf) || r.Size != 10+len(buf) {
					t.Errorf("Size %d", r.Size)
				}
				for _, none := range []int{2, -3} {
					if r.TryUpdateBuffer(none, nil) || r.Size != 10+len(buf) {
						t.Errorf("there is a buffer %d", none)
					}
				}
				r.Recycle()
				freeAll(t, a, out)
			})
		}
	}
}

// freeAll frees what must be all that is live in a.
func freeAll(t *testing.T, a *ScalableMemoryAllocator, out [][]byte) {
	t.Helper()
	left := 0
	for _, b := range out {
		left += len(b)
	}
	wantLive(t, a, left, "recycled")
	for _, b := range out {
		if !a.Free(b) {
			t.Errorf("%d bytes that are the caller's were freed", len(b))
		}
	}
	wantLive(t, a, 0, "all freed")
	if n := a.Stats().Refused; n != 0 {
		t.Errorf("%d frees were refused", n)
	}
}

// TestRecyclableUpdates: several replacements, and what comes between them and Recycle.
func TestRecyclableUpdates(t *testing.T) {
	for _, byList := range []bool{false, true} {
		for name, use := range map[string]func(r *RecyclableMemory, a *ScalableMemoryAllocator) (callers [][]byte){
			"again": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				b := r.NextN(100)
				r.UpdateBuffer(0, b[:50])
				r.UpdateBuffer(0, b[:20])
				return [][]byte{b[20:]}
			},
			"and back": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				b := r.NextN(100)
				for _, part := range [][]byte{b[:50], b[:0], b[7:50], b} {
					r.UpdateBuffer(0, part)
				}
				return nil
			},
			"exchanged": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				x, y, z := r.NextN(10), r.NextN(20), r.NextN(30)
				r.UpdateBuffer(0, y)
				r.UpdateBuffer(1, z)
				r.UpdateBuffer(2, x)
				return nil
			},
			"Reset": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				b := r.NextN(100)
				r.UpdateBuffer(0, b[:40])
				r.Reset()
				c := r.NextN(100)
				r.UpdateBuffer(0, c[:30])
				return [][]byte{b[40:], c[30:]}
			},
			"list later": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				b := r.NextN(100)
				r.UpdateBuffer(0, b[:40])
				r.InitRecycleIndexes(1)
				r.UpdateBuffer(0, b[:30])
				return [][]byte{b[30:]}
			},
			"Clone": func(r *RecyclableMemory, a *ScalableMemoryAllocator) [][]byte {
				b := r.NextN(100)
				c := r.Clone()
				x := a.Malloc(10)
				c.UpdateBuffer(0, x)
				own := c.NextN(50)
				c.UpdateBuffer(1, own[:20])
				c.Recycle()
				r.UpdateBuffer(0, b[:60])
				return [][]byte{x, own[20:], b[60:]}
			},
		} {
			t.Run(fmt.Sprintf("%s/list=%v", name, byList), func(t *testing.T) {
				r, a := newRecyclable(t)
				if byList {
					r.InitRecycleIndexes(1)
				}
				callers := use(r, a)
				r.Recycle()
				freeAll(t, a, callers)
			})
		}
	}
}

// TestRecyclableUpdateUnlisted: by list, what takes the place of a buffer that is not
// in the list is not either.
func TestRecyclableUpdateUnlisted(t *testing.T) {
	r, a := newRecyclable(t)
	r.InitRecycleIndexes(4)
	callers := [][]byte{a.Malloc(10), a.Malloc(20), a.Malloc(30)}
	r.PushOne(callers[0])
	r.UpdateBuffer(0, callers[1]) // of somebody else

	out := r.NextN(15)
	r.UpdateBuffer(-1, nil)
	r.NextN(0)
	r.Push(nil, []byte{})
	r.UpdateBuffer(-2, callers[2]) // not the nil that out left
	r.UpdateBuffer(-1, callers[0]) // not what NextN(0) gave
	r.Recycle()
	freeAll(t, a, append(callers, out))
}

// TestRecyclableUpdateNothing: where nothing is recycled, nothing is freed.
func TestRecyclableUpdateNothing(t *testing.T) {
	for _, byList := range []bool{false, true} {
		off, a := newRecyclable(t)
		off.SetRecycling(false)
		nowhere := NewRecyclableMemory(nil)
		for _, r := range []*RecyclableMemory{off, &nowhere} {
			if byList {
				r.InitRecycleIndexes(1)
			}
			b := r.NextN(5)
			copy(b, "hello")
			r.UpdateBuffer(-1, b[:4])
			checkMemory(t, &r.Memory, "hell")
			r.Recycle()
			checkMemory(t, &r.Memory, "")
			if string(b) != "hello" {
				t.Errorf("list=%v: the caller holds %q", byList, b)
			}
			freeAll(t, a, nil)
		}
	}
}

// TestRecyclableShortened: the end of a buffer that is freed before the buffer is added
// is another's from then on.
func TestRecyclableShortened(t *testing.T) {
	for _, byList := range []bool{false, true} {
		r, a := newRecyclable(t)
		if byList {
			r.InitRecycleIndexes(1)
		}
		b := a.Malloc(200 << 10)
		a.FreeRest(&b, 10<<10)
		r.AddRecycleBytes(b)
		other := a.Malloc(190 << 10)
		r.Recycle()
		wantLive(t, a, len(other), "shortened")
		if !a.Free(other) || a.Stats().Refused != 0 {
			t.Error("Recycle freed what was another's")
		}
	}
}

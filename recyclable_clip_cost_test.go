package gomem

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/internal/check"
)

// manyBuffers is how many buffers a chain has of which each step must not look at all:
// that would take an hour, or minutes with -short.
func manyBuffers() int {
	if testing.Short() {
		return 1 << 18
	}
	return 1 << 20
}

// TestClipFrontManyBuffers: the cost of ClipFront is that of the buffers it removes, also
// if half of them are someone else's, whichever half is.
func TestClipFrontManyBuffers(t *testing.T) {
	many := manyBuffers()
	for name, c := range map[string]struct {
		recycling, byList bool
		add               func(r *RecyclableMemory, b []byte)
		given             int
		clips             int
	}{
		"list with buffers of others": {true, true, func(r *RecyclableMemory, b []byte) {
			r.AddRecycleBytes(b[:1:1])
			r.PushOne(b[1:])
		}, many, 1},
		"list, one by one": {true, true, func(r *RecyclableMemory, b []byte) {
			r.AddRecycleBytes(b[:1:1])
			r.AddRecycleBytes(b[1:])
		}, many, many / 2},
		"Go heap with buffers of others": {false, false, func(r *RecyclableMemory, b []byte) {
			r.NextN(1)
			r.PushOne(b[1:])
		}, many / 2, 1},
		"Go heap, one by one": {false, false, func(r *RecyclableMemory, b []byte) {
			r.NextN(1)
			r.NextN(1)
		}, 0, many / 2},
	} {
		r, _ := newRecyclable(t)
		r.SetRecycling(c.recycling)
		if c.byList {
			r.InitRecycleIndexes(0)
		}
		block := make([]byte, many)
		for i := 0; i < many; i += 2 {
			c.add(r, block[i:i+2:i+2])
		}
		given, rd := 0, r.NewReader()
		for range c.clips {
			_ = rd.Skip(many / c.clips)
			rd.ClipFront(func([]byte) bool {
				given++
				return true
			})
		}
		if given != c.given || r.Count()+len(r.owned)+len(r.heap) > 0 {
			t.Errorf("%s: %d given, %d in the chain, %d in the list, %d of the Go heap",
				name, given, r.Count(), len(r.owned), len(r.heap))
		}
	}
}

// TestClipFrontManyTimes: by list and without a yield, what was clipped before is not
// looked at with each clip, although Recycle has yet to free it.
func TestClipFrontManyTimes(t *testing.T) {
	many := manyBuffers()
	r := NewRecyclableMemory(nil)
	r.SetRecycling(true)
	r.InitRecycleIndexes(0)
	rd := r.NewReader()
	block := make([]byte, 2*many)
	for i := range many {
		r.AddRecycleBytes(block[2*i : 2*i+2])
		if rd.Length += 2; i == 8 {
			_ = rd.Skip(1)
		}
		if i >= 8 {
			_ = rd.Skip(2)
			rd.ClipFront(nil)
		}
	}
	if n := len(r.owned); n != 2*many-8 {
		t.Errorf("%d pieces wait for Recycle, want %d", n, 2*many-8)
	}
}

// TestRecycleManyHeapCopies: Recycle does not look at all copies on the Go heap for each
// buffer.
func TestRecycleManyHeapCopies(t *testing.T) {
	r, a := newRecyclable(t)
	block := make([]byte, 2*manyBuffers())
	for ; len(block) > 0; block = block[2:] {
		r.PushOne(block[1:2:2])
		r.heap = append(r.heap, block[:2:2]) // as CopyFrom does without room
	}
	slices.Reverse(r.heap)
	r.Recycle()
	freeAll(t, a, nil)
}

// TestClipFrontAnyOrder: in whatever order the chain is, and whatever is left over from
// before or of someone else, Recycle frees what ClipFront did not give away.
func TestClipFrontAnyOrder(t *testing.T) {
	t.Logf("seed %d", *randomSeed)
	rng := rand.New(rand.NewPCG(*randomSeed, 1))
	for range 500 {
		r, a := newRecyclable(t)
		r.InitRecycleIndexes(0)
		var others [][]byte
		for range rng.IntN(3) {
			for range rng.IntN(100) {
				r.NextN(rng.IntN(3))
			}
			r.Reset()
		}
		for range rng.IntN(200) {
			switch rng.IntN(8) {
			case 0:
				others = append(others, a.Malloc(8))
				r.PushOne(others[len(others)-1])
			case 1:
				r.NextN(0)
			default:
				r.NextN(8)
			}
		}
		for range rng.IntN(3) {
			if n := r.Count(); n > 0 {
				i, j := rng.IntN(n), rng.IntN(n)
				r.Buffers[i], r.Buffers[j] = r.Buffers[j], r.Buffers[i]
			}
		}
		isOther := func(b []byte) bool {
			return slices.ContainsFunc(others, func(o []byte) bool { return within(b, o) })
		}
		rd := r.NewReader()
		for range rng.IntN(8) {
			_ = rd.Skip(rng.IntN(min(rd.Length, 500) + 1))
			rd.ClipFront(func(b []byte) bool { return isOther(b) || a.Free(b) })
		}
		r.Recycle()
		if freeAll(t, a, others); t.Failed() {
			return
		}
	}
}

// TestClipFrontGivesBackToItself: what yield adds to the memory again is freed by Recycle.
func TestClipFrontGivesBackToItself(t *testing.T) {
	r, a := newRecyclable(t)
	r.InitRecycleIndexes(0)
	for range 100 {
		r.NextN(10)
	}
	rd := r.NewReader()
	for range 30 {
		_ = rd.Skip(100)
		rd.ClipFront(func(b []byte) bool {
			r.AddRecycleBytes(b)
			rd.Length += len(b)
			return true
		})
	}
	wantLive(t, a, 1000, "added again")
	r.Recycle()
	freeAll(t, a, nil)
}

// TestClipFrontAllocatesNothing where it ends between buffers and few are someone else's.
func TestClipFrontAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("a debug build watches each block")
	}
	for _, chain := range []int{20, 500} {
		r, a := newRecyclable(t)
		r.InitRecycleIndexes(0)
		other := make([]byte, 10)
		rd := r.NewReader()
		add := func() {
			r.NextN(10)
			r.PushOne(other)
			rd.Length += 20
		}
		for range chain / 2 {
			add()
		}
		yield := func(b []byte) bool { return within(b, other) || a.Free(b) }
		if allocs := testing.AllocsPerRun(1000, func() {
			add()
			_ = rd.Skip(20)
			rd.ClipFront(yield)
		}); allocs > 0 {
			t.Errorf("chain of %d: %v allocations", chain, allocs)
		}
		r.Recycle()
		freeAll(t, a, nil)
	}
}

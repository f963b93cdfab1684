package heap

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/offset"
)

func newHeap(size int) *Heap {
	h := new(Heap)
	h.Init(Config{
		Size:      size,
		Source:    backing.Heap(),
		Placement: placements["tlsf"],
		Few:       few,
		Spans:     true,
	})
	return h
}

func few(size int) offset.Allocator { return offset.NewFew(size, 64) }

// stamped is a live block and what its bytes must be.
type stamped struct {
	b    []byte
	mark uint64
}

func (s stamped) fill() {
	for i := range s.b {
		s.b[i] = byte(s.mark >> (8 * (i & 7)))
	}
}

// part is the bytes [from, to) of s.
func (s stamped) part(from, to int) stamped {
	r := from & 7
	return stamped{s.b[from:to:to], s.mark>>(8*r) | s.mark<<(64-8*r)}
}

func (s stamped) check(t *testing.T) {
	t.Helper()
	var want [8]byte
	binary.LittleEndian.PutUint64(want[:], s.mark)
	for i, x := range s.b {
		if x != want[i&7] {
			t.Fatalf("block of %d bytes: byte %d is %#x, want %#x", len(s.b), i, x, want[i&7])
		}
	}
}

func TestHeapRandom(t *testing.T) {
	for seed := range uint64(4) {
		h := newHeap(1024)
		rng := rand.New(rand.NewPCG(seed, 1))
		var live []stamped
		bytes := 0
		for op := range 60000 {
			if len(live) < 200 || rng.IntN(2) == 0 && len(live) < 3000 {
				n := 1 + rng.IntN(300)
				switch rng.IntN(20) {
				case 0:
					n = 1 + rng.IntN(20000)
				case 1, 2, 3:
					n = 1 + rng.IntN(2048)
				}
				b, err := h.TryMalloc(n)
				if err != nil || len(b) != n || cap(b) != n {
					t.Fatalf("seed %d op %d: Malloc(%d) = len %d cap %d, %v", seed, op, n, len(b), cap(b), err)
				}
				s := stamped{b, rng.Uint64()}
				s.fill()
				live = append(live, s)
				bytes += n
				continue
			}
			i := rng.IntN(len(live))
			s := live[i]
			s.check(t)
			from, to := 0, len(s.b)
			if rng.IntN(4) == 0 {
				from = rng.IntN(len(s.b))
				to = from + 1 + rng.IntN(len(s.b)-from)
			}
			if !h.Free(s.b[from:to]) {
				t.Fatalf("seed %d op %d: Free of [%d,%d) of %d refused", seed, op, from, to, len(s.b))
			}
			if h.Free(s.b[from:to]) {
				t.Fatalf("seed %d op %d: double free of [%d,%d) of %d accepted", seed, op, from, to, len(s.b))
			}
			bytes -= to - from
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			if from > 0 {
				live = append(live, s.part(0, from))
			}
			if to < len(s.b) {
				live = append(live, s.part(to, len(s.b)))
			}
			if op%500 == 0 {
				if err := h.Verify(); err != nil {
					t.Fatalf("seed %d op %d: %v", seed, op, err)
				}
				if got := h.Stats().Live; got != bytes {
					t.Fatalf("seed %d op %d: live %d, want %d", seed, op, got, bytes)
				}
			}
		}
		for _, s := range live {
			s.check(t)
			if !h.Free(s.b) {
				t.Fatal("refused")
			}
		}
		if err := h.Trim(); err != nil {
			t.Fatal(err)
		}
		if s := h.Stats(); s.Live != 0 || s.Backing != 0 || s.Chunks != 0 {
			t.Fatalf("seed %d: after everything was freed: %+v", seed, s)
		}
	}
}

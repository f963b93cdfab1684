package heap

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// TestSampleOfStrips: blocks that are cut count for the sampled guard, which
// chooses from them.
func TestSampleOfStrips(t *testing.T) {
	h, _ := newSampled(t, Sample{Rate: 50})
	for range 20_000 {
		b := mustMalloc(t, h, readSize)
		mustFree(t, h, b[100:], b[:100])
	}
	if got := h.Stats().Sampled; got < 300 || got > 500 {
		t.Errorf("%d of 20000 blocks sampled, want about 400", got)
	}
	mustVerify(t, h)
}

// TestStripInUse: a heap that is dropped keeps the chunk of a block in a strip.
func TestStripInUse(t *testing.T) {
	h, _ := stripped(t)
	b := shortRead(t, h, 1000)
	c := stripOf(h, b).chunk
	if !c.inUse(h.spans.Load()) {
		t.Error("a chunk with a block in a strip is not in use")
	}
	mustFree(t, h, b[:500])
	if !c.inUse(h.spans.Load()) {
		t.Error("a chunk with a part of a block is not in use")
	}
	if err := h.Reset(); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, h)
	for range 2000 {
		mustFree(t, h, shortRead(t, h, 1000))
	}
	mustVerify(t, h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestStripLimit: strips do not take what single blocks could have.
func TestStripLimit(t *testing.T) {
	const limit = 2 << 20
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, MaxBytes: limit, Source: backing.Heap(), Placement: placements["tlsf"], Few: few, Spans: true})
	for range 1024 + 2*firstWait(class(readSize)) {
		mustFree(t, h, shortRead(t, h, 100))
	}
	got := 0
	for {
		b, err := h.TryMalloc(readSize)
		if err != nil {
			if !errors.Is(err, ErrLimit) {
				t.Error(err)
			}
			break
		}
		mustFree(t, h, b[8000:])
		got += 8000
	}
	if got < limit*3/4 {
		t.Errorf("%d of %d bytes could be allocated", got, limit)
	}
	mustVerify(t, h)
}

// TestStripRandom: blocks of all lengths that are cut, trimmed in steps, freed in
// any order and in any parts, strips that melt meanwhile, and frees that are none.
func TestStripRandom(t *testing.T) {
	for seed := range uint64(4) {
		h, _ := stripped(t)
		rng := rand.New(rand.NewPCG(seed, 5))
		var live []stamped
		bytes, cut, most := 0, 0, 300
		for op := range 15_000 {
			if op%1500 == 0 {
				most = 10 + rng.IntN(1500)
			}
			if len(live) < 10 || len(live) < most && rng.IntN(2) == 0 {
				n := maxSmall + 1 + rng.IntN(maxCut-maxSmall)
				if rng.IntN(2) == 0 {
					n = readSize
				}
				b := mustMalloc(t, h, n)
				if stripOf(h, b) != nil {
					cut++
				}
				if rng.IntN(8) > 0 {
					n = 1 + rng.IntN(min(n, 3000))
					mustFree(t, h, b[n:])
				}
				s := stamped{b[:n:n], rng.Uint64()}
				s.fill()
				live, bytes = append(live, s), bytes+n
				continue
			}
			i := rng.IntN(len(live))
			if rng.IntN(2) == 0 {
				i = 0 // the oldest, about
			}
			s := live[i]
			s.check(t)
			from, to := 0, len(s.b)
			switch p := rng.IntN(5); {
			case p == 0:
				from = rng.IntN(to)
			case p == 1 && seed > 0:
				from = rng.IntN(to)
				to = from + 1 + rng.IntN(to-from)
			}
			mustFree(t, h, s.b[from:to])
			if h.Free(s.b[from:to]) || h.Free(s.b) {
				t.Fatalf("seed %d op %d: double free of [%d,%d) of %d accepted", seed, op, from, to, len(s.b))
			}
			bytes -= to - from
			live = append(live[:i], live[i+1:]...)
			if from > 0 {
				live = append(live, s.part(0, from))
			}
			if to < len(s.b) {
				live = append(live, s.part(to, len(s.b)))
			}
			if rng.IntN(2000) == 0 {
				meltStrip(h, s.b)
			}
			if op%1000 == 0 {
				if err := h.Verify(); err != nil {
					t.Fatalf("seed %d op %d: %v", seed, op, err)
				}
				if got := h.Stats().Live; got != bytes {
					t.Fatalf("seed %d op %d: %d live, want %d", seed, op, got, bytes)
				}
			}
		}
		if cut < 300 {
			t.Errorf("seed %d: %d blocks cut from strips", seed, cut)
		}
		for _, s := range live {
			s.check(t)
			mustFree(t, h, s.b)
		}
		mustVerify(t, h)
	}
}

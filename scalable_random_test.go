package gomem

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	operations = flag.Int("operations", 50_000, "random operations on each placement and backing")
	randomSeed = flag.Uint64("seed", 1, "of the random operations; 0: another one each time")
)

// TestRandomOperations: whatever is done in whatever order, on every placement
// and backing, the allocator does what the shadow says: blocks of all sizes,
// freed whole, from the end, from the front, from the middle, trims, and between
// them frees that are none.
func TestRandomOperations(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	ops := *operations
	if testing.Short() {
		ops = min(ops, 4_000)
	}
	eachKind(t, func(t *testing.T, k kind) {
		t.Logf("seed %d", seed)
		s := newShadow(t, k.make(t, WithMisuse(func(error) {})), seed)
		most := 20 // blocks
		for op := range ops {
			if op%5000 == 0 {
				most = 20 + s.rng.IntN(1000)
				s.check()
			}
			switch p := s.rng.IntN(1000); {
			case p < 2:
				s.a.Trim()
			case p < 20 && len(s.live) > 0:
				s.wrongFree()
			case len(s.live) < 4 || len(s.live) < most && p < 510:
				s.malloc(randomSize(s.rng))
			default:
				i := s.rng.IntN(len(s.live))
				from, to := 0, len(s.live[i].b)
				switch part := s.rng.IntN(8); {
				case part == 0:
					from = s.rng.IntN(to)
				case part == 1:
					to = 1 + s.rng.IntN(to)
				case part == 2:
					from = s.rng.IntN(to)
					to = from + 1 + s.rng.IntN(to-from)
				}
				s.free(i, from, to)
			}
		}
		s.check()
		for len(s.live) > 0 {
			s.free(0, 0, len(s.live[0].b))
		}
		s.check()
	})
}

// randomSize is mostly small, sometimes of a slot above 4 KiB, seldom larger
// than any slot.
func randomSize(rng *rand.Rand) int {
	switch p := rng.IntN(100); {
	case p < 80:
		return 1 + rng.IntN(400)
	case p < 95:
		return 1 + rng.IntN(5000)
	case p < 99:
		return 4097 + rng.IntN(12_000)
	default:
		return 1 + rng.IntN(100_000)
	}
}

// wrongFree frees something that is not, or not whole, live: a range that was
// just freed, or one that runs from a live block into it. The allocator must
// refuse and change nothing.
func (s *shadow) wrongFree() {
	s.t.Helper()
	i := s.rng.IntN(len(s.live))
	b := s.live[i].b
	if len(b) < 2 {
		return
	}
	cut := 1 + s.rng.IntN(len(b)-1)
	s.free(i, cut, len(b))
	before := s.a.Stats()
	for _, wrong := range [][]byte{b[cut:], b, b[cut-1:]} {
		if s.a.Free(wrong) {
			s.fail("a free of %d bytes, of which %d are not live, was accepted", len(wrong), len(b)-cut)
		}
	}
	// Memory may go back by itself meanwhile; what is in use may not.
	after := s.a.Stats()
	if after.Malloced != before.Malloced || after.Freed != before.Freed || after.Refused != before.Refused+3 {
		s.fail("three refused frees changed %+v to %+v", before, after)
	}
}

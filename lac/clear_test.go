package lac

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// Whoever clears it, memory that is used again is zero: arenas of one goroutine
// and of several follow one another on the same chunks.
func TestClearedByWhoeverTakesIt(t *testing.T) {
	const seed = 20
	for name, opts := range modes {
		for _, chunk := range []int{minChunkSize, 4 << 10, 64 << 10} {
			t.Run(fmt.Sprintf("%s/chunk=%d", name, chunk), func(t *testing.T) {
				t.Logf("seed %d", seed)
				rnd := rand.New(rand.NewPCG(seed, uint64(chunk)))
				p := quietPool(t, slices.Concat(opts, []Option{WithChunkSize(chunk)})...)
				for life := range 40 {
					if clearedLife(t, p, rnd, chunk); t.Failed() {
						t.Fatalf("in life %d", life)
					}
				}
			})
		}
	}
}

// clearedLife is an arena that up to three goroutines fill.
func clearedLife(t *testing.T, p *AllocatorPool, rnd *rand.Rand, chunk int) {
	ac := p.Get()
	dirt := rnd.IntN(2 * chunk)
	fillDirty(t, ac, rnd.Uint64(), rnd.IntN(dirt+1), chunk)
	var wg sync.WaitGroup
	for g := range rnd.IntN(4) {
		own, done := ac, ac.DecRef
		if fork := rnd.IntN(2) == 0; fork {
			own = ac.Fork()
			done = own.Release
		} else {
			ac.IncRef()
		}
		seed := rnd.Uint64()
		wg.Go(func() {
			fillDirty(t, own, seed+uint64(g), dirt, chunk)
			done()
		})
	}
	wg.Wait()
	ac.Release()
}

// fillDirty allocates about so many bytes, each of which must be zero, and stay
// what it is set to.
func fillDirty(t *testing.T, ac *Allocator, seed uint64, total, chunk int) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	mark := byte(1 + rnd.IntN(255))
	var parts [][]byte
	for total > 0 {
		n := 1 + rnd.IntN(100)
		if rnd.IntN(30) == 0 {
			n = 1 + rnd.IntN(2*chunk)
		}
		part := NewSlice[byte](ac, n, n)
		if k := bytes.Count(part, []byte{0}); k != n {
			t.Errorf("%d of %d bytes are not zero", n-k, n)
			return
		}
		for i := range part {
			part[i] = mark
		}
		parts = append(parts, part)
		total -= n
	}
	for _, part := range parts {
		if bytes.Count(part, []byte{mark}) != len(part) {
			t.Errorf("one of %d parts was overwritten", len(parts))
			return
		}
	}
}

// An arena after one of several goroutines starts with little that is clear, and
// the one after that as any other.
func TestClearingIsLeftToGoroutines(t *testing.T) {
	const chunk = 64 << 10
	p := quietPool(t, WithChunkSize(chunk))
	use := func(several bool) (window uintptr, plain bool) {
		ac := p.Get()
		window, plain = ac.end-ac.off, ac.core.plain
		if several {
			fork := ac.Fork()
			for range chunk / 2 / 64 {
				*New[[64]byte](fork) = [64]byte{1}
			}
			fork.Release()
		}
		ac.Release()
		return window, plain
	}
	const all = chunk - header
	for i, c := range []struct {
		several bool
		window  uintptr
		plain   bool
	}{
		{true, all, true}, {true, 4096, false}, {false, 4096, false}, {false, all, true}, {true, all, true},
	} {
		if window, plain := use(c.several); window != c.window || plain != c.plain {
			t.Errorf("arena %d: a window of %d bytes, plain %v, want %d, %v", i, window, plain, c.window, c.plain)
		}
	}
}

package heap

import (
	"runtime"
	"testing"
)

// TestFirstSpansAreHalf: a class of which there is little takes half a span, and
// one of which there is more whole ones.
func TestFirstSpansAreHalf(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	for c := range classes {
		n := int(slotSize[c])
		h := newHeap(8 << 20)
		for range 1023 + firstWait(c) {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		if slots := halfBytes[c] / n; halfBytes[c] < spanBytes[c] && slots < 8 {
			t.Errorf("%d bytes: a half span has %d slots", n, slots)
		}
		for had := 0; had < 2*spanBytes[c]; {
			mustMalloc(t, h, n)
			want := spanBytes[c]
			if had < want {
				want = halfBytes[c]
			}
			got := h.bytesOfSpans()
			if got != had && got != had+want {
				t.Errorf("%d bytes: a span of %d bytes after %d bytes of spans", n, got-had, had)
			}
			had = got
		}
		mustVerify(t, h)
		if err := h.Reset(); err != nil {
			t.Error(err)
		}
		mustVerify(t, h)
	}
}

// TestHalfSpansFillTheRest: where no whole span finds room a half one does, before
// the heap grows.
func TestHalfSpansFillTheRest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const n = 64
	for _, size := range []int{240 << 10, 256 << 10} { // one of them has an odd number of units
		h := newHeap(size)
		for range 1024 + firstWait(class(n)) {
			mustFree(t, h, mustMalloc(t, h, n))
		}
		mapped, got := h.Stats().Backing, 0
		for mustMalloc(t, h, n); h.Stats().Backing == mapped; mustMalloc(t, h, n) {
			got += n
		}
		if want := len(h.chunks[0].mem) / spanUnit * spanUnit; got != want {
			t.Errorf("the heap grew with %d bytes of blocks, there was room for %d", got, want)
		}
		mustVerify(t, h)
	}
}

// bytesOfSpans is the bytes of all spans.
func (h *Heap) bytesOfSpans() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.chunks {
		n += c.spanned
	}
	return n
}

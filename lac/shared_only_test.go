//go:build !race && !gomem_portable

package lac

import "testing"

// What is left of a window that was carved for nothing goes back to either end of the
// free memory, unless another was carved there since.
func TestWindowCarvedForNothing(t *testing.T) {
	const size, n = 1024, 64
	for _, top := range []bool{false, true} {
		for _, last := range []bool{true, false} {
			c := quietPool(t).newCore()
			c.multi, c.top = true, top
			w := c.carve(size, nil)
			taken := uintptr(n)
			if !last {
				c.carve(size, w.base)
				taken = 2 * size
			}
			room := c.first.size - header
			at := uintptr(c.shorten(w, n))
			lo, hi := uintptr(c.cur.base)+c.cur.off, uintptr(c.cur.base)+c.cur.end
			if at < uintptr(w.base) || at+n > uintptr(w.base)+size || at < hi && lo < at+n || c.cur.room() != room-taken {
				t.Errorf("top %v, last %v: %d bytes at %#x, free are [%#x, %#x), %d of %d", top, last, n, at, lo, hi, c.cur.room(), room)
			}
		}
	}
}

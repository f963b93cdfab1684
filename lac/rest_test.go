package lac

import (
	"testing"
	"unsafe"
)

// A rest knows to the byte what is to be cleared of what it hands out, and clears
// nothing beside itself.
func TestRest(t *testing.T) {
	for _, off := range []uintptr{8, 64} {
		for _, end := range []uintptr{192, 256} {
			for dirty := uintptr(0); dirty <= 256; dirty += 8 {
				for _, n := range []uintptr{8, 32, end - off} {
					buf := new([512]byte)
					fresh := func() *rest {
						for i := range buf {
							buf[i] = 0xee
						}
						return &rest{window{unsafe.Pointer(buf), off, end}, dirty, -1}
					}
					// overlap is how much of the n bytes at lo is before dirty.
					overlap := func(lo uintptr) uintptr {
						if dirty <= lo {
							return 0
						}
						return min(dirty-lo, n)
					}
					at := func(lo uintptr) unsafe.Pointer { return unsafe.Pointer(&buf[lo]) }
					if p, d := fresh().cut(n); p != at(off) || d != overlap(off) {
						t.Errorf("[%d, %d) dirty to %d: cut of %d is %d dirty, want %d", off, end, dirty, n, d, overlap(off))
					}
					if p, d := fresh().cutTop(n); p != at(end-n) || d != overlap(end-n) {
						t.Errorf("[%d, %d) dirty to %d: top of %d is %d dirty, want %d", off, end, dirty, n, d, overlap(end-n))
					}
				}
				if dirty > end {
					continue // several goroutines work on the core, and nobody scrubs
				}
				buf := new([512]byte)
				for i := range buf {
					buf[i] = 0xee
				}
				r := &rest{window{unsafe.Pointer(buf), off, end}, dirty, -1}
				r.scrub()
				for i, b := range buf {
					if at := uintptr(i); (b == 0) != (at >= off && at < dirty) {
						t.Fatalf("[%d, %d) dirty to %d: byte %d is %#x", off, end, dirty, i, b)
					}
				}
			}
		}
	}
}

// What a small arena leaves behind is no reason to clear all of its chunk.
func TestLeaves(t *testing.T) {
	p := quietPool(t)
	ac := p.Get()
	c := ac.core
	Attach(ac, t) // so that the release goes the general way
	ac.Int(1)
	ac.Release()
	if c.first.used > header+2*word {
		t.Errorf("%d bytes to clear after one int", c.first.used)
	}
}

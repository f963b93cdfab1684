package gomem

import (
	"runtime"
	"testing"
)

// TestEndsCutOffLate: what is cut off blocks of which others were allocated behind serves
// other requests, below a limit as well, be it their ends or their heads.
func TestEndsCutOffLate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const limit, size, keep = 16 << 20, 16 << 10, 100
	for _, test := range []struct {
		name  string
		place Placement
		head  bool
	}{{"ends", SizeClasses, false}, {"heads", SizeClasses, true}, {"ends, by TLSF", TLSF, false}} {
		a := NewScalableMemoryAllocator(1<<20, WithMaxBytes(limit), WithPlacement(test.place))
		for range 6000 { // until blocks of this size come from strips
			b := a.Malloc(size)
			a.FreeRest(&b, keep)
			a.Free(b)
		}
		var kept [][]byte
		for b := a.Malloc(size); b != nil; b = a.Malloc(size) {
			kept = append(kept, b)
		}
		for i, b := range kept {
			if test.head {
				a.Free(b[:size-keep])
				kept[i] = b[size-keep:]
			} else {
				a.FreeRest(&kept[i], keep)
			}
		}
		for served := range len(kept) * 3 / 4 {
			if _, err := a.TryMalloc(size / 2); err != nil {
				s := a.Stats()
				t.Errorf("%s: %d blocks of %d bytes served, %d of %d bytes live: %v", test.name, served, size/2, s.Live, s.Backing, err)
				break
			}
		}
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
	}
}

package gomem

import "testing"

// TestPartsServeOthersInDebugMode: when memory is short the freed parts of a live block
// serve a larger request, also in debug mode, which keeps something of each part. What was
// written there after the free is found before.
func TestPartsServeOthersInDebugMode(t *testing.T) {
	for _, part := range []int{100, 4 << 10} {
		a := NewScalableMemoryAllocator(256<<10, WithDebug(DebugOptions{}), WithMaxBytes(256<<10), WithMisuse(func(error) {}))
		b := a.Malloc(240 << 10)
		for at := 0; at+part <= 200<<10; at += part {
			if !a.Free(b[at : at+part]) {
				t.Fatal("refused")
			}
		}
		a.Trim()    // nothing is in quarantine
		b[part+3]++ // in what is kept of the second part
		if _, err := a.TryMalloc(100 << 10); err != nil {
			t.Errorf("in parts of %d: 200 of 240 KiB are free: %v", part, err)
		}
		if s := a.Stats(); s.Damaged == 0 {
			t.Errorf("in parts of %d: a write after the free was not found", part)
		}
		a.FreeRest(&b, 1)
		if s := a.Stats(); s.Live >= 240<<10 || s.Refused == 0 {
			t.Errorf("%+v: what was freed was freed again", s)
		}
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
	}
}

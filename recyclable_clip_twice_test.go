package gomem

import "testing"

// TestRecycleAfterTwoClips: an array that has what ClipFront took out is not kept, also
// if the last ClipFront took out nothing.
func TestRecycleAfterTwoClips(t *testing.T) {
	a := NewScalableMemoryAllocator(1 << 16)
	defer a.Recycle()
	r := NewRecyclableMemory(a)
	r.SetRecycling(true)
	for range 6 {
		r.NextN(10)
	}
	rd := r.NewReader()
	if err := rd.Skip(20); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rd.ClipFront(a.Free)
	}
	if r.Recycle(); cap(r.Buffers) != 0 {
		t.Error("the array is kept")
	}
}

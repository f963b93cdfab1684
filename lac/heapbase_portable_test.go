//go:build gomem_portable

package lac

import "testing"

// TestObjectsWithoutBytes: debug mode reports none of them, wherever they are from.
func TestObjectsWithoutBytes(t *testing.T) {
	type holder struct {
		one  *struct{}
		list []struct{}
		none *[0]int
	}
	p, reports := strictPool(t, WithDebug())
	ac := p.Get()
	h := New[holder](ac)
	h.one, h.list = New[struct{}](ac), NewSlice[struct{}](ac, 1, 1)
	ac.Release()
	ac = p.Get()
	h = New[holder](ac)
	one := new(struct{})
	h.one, h.list, h.none = one, make([]struct{}, 3), new([0]int)
	ac.Release()
	if n := p.Stats().Misuses; n != 0 {
		t.Errorf("%d reports: %v", n, reports)
	}
}

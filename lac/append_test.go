package lac

import (
	"slices"
	"testing"
	"unsafe"
)

// The result of an Append to a full slice shares nothing with it, as with the built-in: a
// program that keeps both may write to either.
func TestAppendSharesNothing(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ac := quietPool(t, opts...).Get()
			defer ac.Release()
			s := NewSlice[int](ac, 3, 3)
			grown := Append(ac, s, 4)
			grown[0] = 100
			if s[0] != 0 || !slices.Equal(grown, []int{100, 0, 0, 4}) {
				t.Errorf("%d, of %d", grown, s)
			}
			clone := Append(ac, slices.Clip(grown[:2]), 7)
			clone[1] = 9
			if grown[1] != 0 {
				t.Errorf("%d, of %d", clone, grown)
			}
			type odd [3]uint16
			o := New[struct{ last [2]odd }](ac)
			if more := Append(ac, o.last[:], odd{1}); true {
				more[0] = odd{5}
			}
			if o.last[0] != (odd{}) {
				t.Errorf("an array in an object became %d", o.last)
			}
		})
	}
}

// What lies behind the capacity of a slice is not the slice's to grow into: it was
// cut, or is an array in an object.
func TestAppendKeepsToTheCapacity(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ac := quietPool(t, opts...).Get()
			defer ac.Release()
			b := NewSlice[byte](ac, 5, 5)
			copy(b, "hello")
			if c := Append(ac, b[:3:3], 'X'); string(c) != "helX" || string(b) != "hello" {
				t.Errorf("%q, and %q behind it", c, b)
			}
			n := NewSlice[int32](ac, 2, 2)
			n[1] = 2
			if m := Append(ac, n[:1:1], 9); m[1] != 9 || n[1] != 2 {
				t.Errorf("%d, and %d behind it", m, n)
			}
			three := NewSlice[int](ac, 3, 3)
			three[1], three[2] = 2, 3
			if m := Append(ac, three[:1], 7, 8, 9); m[3] != 9 || three[1] != 2 || three[2] != 3 {
				t.Errorf("%d, and %d behind its length", m, three)
			}
			type triple [3]uint32
			o := New[struct {
				all  [1]triple
				last uint32
			}](ac)
			o.last = 7
			if p := Append(ac, o.all[:], triple{9, 9, 9}); p[1] != (triple{9, 9, 9}) || o.last != 7 {
				t.Errorf("%d, and %d behind it", p, o.last)
			}
		})
	}
}

// A slice grows when its capacity is used up, and not with the element that uses it up.
func TestAppendUsesAllOfTheCapacity(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	for n := 1; n < 20; n++ {
		s := NewSlice[int](ac, 1, n+1)
		if all := Append(ac, s, make([]int, n)...); cap(all) != n+1 || unsafe.SliceData(all) != unsafe.SliceData(s) {
			t.Errorf("%d elements in %d made it a slice of %d", n+1, n+1, cap(all))
		}
	}
}

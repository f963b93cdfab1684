package lac

import (
	"testing"
	"unsafe"
)

func TestAppendGrowsInPlace(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	s := Append(ac, nil, 1)
	first := unsafe.SliceData(s)
	for i := range 4000 {
		s = Append(ac, s, i)
	}
	if unsafe.SliceData(s) != first {
		t.Error("the last slice of the window was copied")
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

// A slice grows in place also if its elements fill no word.
func TestAppendOfSmallElementsGrowsInPlace(t *testing.T) {
	ac := quietPool(t).Get()
	defer ac.Release()
	type odd [3]uint16
	s := Append(ac, NewSlice[odd](ac, 0, 17), make([]odd, 18)...)
	first := unsafe.SliceData(s)
	for i := range uint16(500) {
		s = Append(ac, s, odd{i})
	}
	if unsafe.SliceData(s) != first {
		t.Error("the last slice of the window was copied")
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

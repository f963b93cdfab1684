package lac

import "testing"

type twoHalves struct{ front, back [5000]int }

// Debug mode knows all of what was attached, however it was attached, and all of
// the object in front of it.
func TestAttachedInParts(t *testing.T) {
	if !exactHeap {
		t.Skip("portable builds cannot tell where an object begins")
	}
	type holder struct {
		P *int
		S []int
		T string
	}
	for name, store := range map[string]func(ac *Allocator, h *holder){
		"slice in a struct": func(ac *Allocator, h *holder) {
			h.S = Attach(ac, struct{ s []int }{make([]int, 5000)}).s[2000:3000]
		},
		"string in a struct": func(ac *Allocator, h *holder) {
			h.T = Attach(ac, struct{ s string }{string(make([]byte, 50_000))}).s[30_000:]
		},
		"interface in a struct": func(ac *Allocator, h *holder) {
			x := new(twoHalves)
			Attach(ac, struct {
				x any
				e error
			}{x: x})
			h.P = &x.back[7]
		},
		"slice in an interface in a struct": func(ac *Allocator, h *holder) {
			h.S = Attach(ac, struct{ x any }{make([]int, 5000)}).x.([]int)[4000:]
		},
		"pointers in an array": func(ac *Allocator, h *holder) {
			h.P = &Attach(ac, [2]*twoHalves{1: new(twoHalves)})[1].back[7]
		},
		"front of an object by its back": func(ac *Allocator, h *holder) {
			x := new(twoHalves)
			Attach(ac, &x.back)
			h.P = &x.front[7]
		},
		"front of an array by its back": func(ac *Allocator, h *holder) {
			s := make([]int, 10_000)
			Attach(ac, s[5000:5010])
			h.S = s[:1000]
		},
	} {
		t.Run(name, func(t *testing.T) {
			ac := quietPool(t, WithDebug()).Get()
			defer ac.Release()
			store(ac, New[holder](ac))
		})
	}
}

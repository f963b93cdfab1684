package lac

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// An empty text has no pointer: one to where it was would keep nothing alive, and one
// behind a chunk is none that the collector may meet.
func TestEmptyStrings(t *testing.T) {
	heap := strings.Repeat("on the heap ", len(t.Name()))
	check := func(t *testing.T, ac *Allocator) {
		for range 300 { // chunks of 512 bytes end with one of them
			s, v := ac.String(heap[3:3]), ac.NewString(heap[3:3])
			if *s != "" || unsafe.StringData(*s) != nil || v != "" || unsafe.StringData(v) != nil {
				t.Fatalf("%q at %p, %q at %p", *s, unsafe.StringData(*s), v, unsafe.StringData(v))
			}
		}
	}
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ac := quietPool(t, append(opts, WithChunkSize(512))...).Get()
			defer ac.Release()
			check(t, ac)
			ac.IncRef()
			defer ac.DecRef()
			check(t, ac)
		})
	}
}

// What an empty string points to is attached with it.
func TestAttachEmptyString(t *testing.T) {
	type name string
	ac := quietPool(t).Get()
	defer ac.Release()
	gone := make(chan bool, 2)
	texts := NewSlice[name](ac, 2, 2)
	for i := range texts {
		b := []byte(strings.Repeat("x", 100))
		runtime.AddCleanup(unsafe.SliceData(b), func(gone chan bool) { gone <- true }, gone)
		s := unsafe.String(unsafe.SliceData(b), len(b))[7:7]
		texts[i] = Attach(ac, name(s))
		if i > 0 {
			texts[i] = name(Attach(ac, s))
		}
	}
	for range 3 {
		runtime.GC()
	}
	select {
	case <-gone:
		t.Error("a text was collected")
	default:
	}
	if texts[0] != "" || texts[1] != "" {
		t.Errorf("%q", texts)
	}
}

// Texts, and strings with theirs behind them, follow one another with no room between.
func TestStringsTakeNoMore(t *testing.T) {
	for name, opts := range map[string][]Option{"plain": nil, "scanned": {WithScanned()}} {
		ac := quietPool(t, opts...).Get()
		next := uintptr(unsafe.Pointer(ac.Int(1))) + word
		lies := func(what string, p unsafe.Pointer, size uintptr) {
			if uintptr(p) != next {
				t.Errorf("%s: %s lies %d bytes too far", name, what, uintptr(p)-next)
			}
			next = uintptr(p) + size
		}
		for _, n := range []int{1, 8, 9, 100} {
			lies("a text", unsafe.Pointer(unsafe.StringData(ac.NewString(strings.Repeat("x", n)))), roundUp(uintptr(n)))
		}
		if name == "plain" {
			front := roundUp(unsafe.Sizeof(""))
			for _, n := range []int{0, 1, 16, 17, 100} {
				lies("a string", unsafe.Pointer(ac.String(strings.Repeat("x", n))), front+roundUp(uintptr(n)))
			}
		}
		lies("a number", unsafe.Pointer(ac.Int(1)), word)
		ac.Release()
	}
}

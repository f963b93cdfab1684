package lac

import (
	"errors"
	"testing"
	"unsafe"
)

// A pointer into a released arena is found, unless it was attached. To overwrite it may
// stop the program.
func TestIntoReleasedArena(t *testing.T) {
	for name, opts := range map[string][]Option{"debug": {WithDebug()}, "scanned": {WithDebug(), WithScanned()}, "not in debug mode": nil} {
		t.Run(name, func(t *testing.T) {
			p, _ := strictPool(t, WithDebug())
			b := p.Get()
			var holders [3]**int
			for i := range holders {
				a := quietPool(t, opts...).Get()
				holders[i] = NewEnum(b, New[int](a))
				if i == 0 {
					Attach(b, *holders[i])
				}
				a.Release()
			}
			clearWord(holders[1])
			b.CheckExternalPointers()
			if n := p.misuses.Load(); n != 1 || !errors.Is(p.Err(), ErrUnattached) {
				t.Errorf("one of two pointers was attached: %d reports, %v", n, p.Err())
			}
			clearWord(holders[2])
			b.Release()
			if n := p.misuses.Load(); n != 1 {
				t.Errorf("the pointers were cleared, %d reports, %v", n, p.Err())
			}
		})
	}
}

// clearWord makes *p nil without a write barrier.
func clearWord[T any](p **T) { *(*uintptr)(unsafe.Pointer(p)) = 0 }

// Of an object that is larger than a page, what lies behind the part that was attached
// counts as another.
func TestFarFromWhatWasAttached(t *testing.T) {
	p, _ := strictPool(t, WithDebug())
	ac := p.Get()
	s := make([]int, 10_000)
	Attach(ac, &s[0])
	*New[*int](ac) = &s[9_999]
	ac.Release()
	if !errors.Is(p.Err(), ErrUnattached) {
		t.Errorf("80 KB behind what was attached: %v", p.Err())
	}
}

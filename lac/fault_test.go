//go:build !race && !goexperiment.cgocheck2

package lac

import (
	"runtime/debug"
	"testing"
)

// reads tells whether *p can be read, without dying if it cannot.
func reads(p *int) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	at := *p
	return at == *p
}

// Row 36 of the misuse table: in debug mode a use after the release faults at
// the access.
func TestUseAfterReleaseFaults(t *testing.T) {
	if _, protector := guarded(); protector == nil {
		t.Skip("no memory here can be protected")
	}
	p := quietPool(t, WithDebug())
	ac := p.Get()
	v := ac.Int(42)
	if !reads(v) {
		t.Fatal("a live object cannot be read")
	}
	ac.Release()
	if reads(v) {
		t.Error("a released object can be read")
	}
	for range 50 {
		other := p.Get()
		other.Int(1)
		if reads(v) {
			t.Fatal("the address was used again")
		}
		other.Release()
	}
}

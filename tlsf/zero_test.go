package tlsf_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/tlsf"
)

// TestZeroPool: a pool that New did not make is closed.
func TestZeroPool(t *testing.T) {
	var p tlsf.Pool
	b := make([]byte, 8)
	for name, f := range map[string]func() error{
		"Close":       p.Close,
		"Reset":       p.Reset,
		"Alloc":       func() error { _, err := p.Alloc(1); return err },
		"Aligned":     func() error { _, err := p.AllocAligned(1, 64); return err },
		"Free":        func() error { return p.Free(b) },
		"FreePointer": func() error { return p.FreePointer(unsafe.Pointer(&b[0])) },
		"Resize":      func() error { _, err := p.Resize(b, 200); return err },
	} {
		if err := f(); !errors.Is(err, tlsf.ErrClosed) {
			t.Errorf("%s of a zero pool = %v, want ErrClosed", name, err)
		}
	}
	if s := p.Stats(); s != (tlsf.Stats{}) {
		t.Errorf("statistics of a zero pool: %+v", s)
	}
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	if _, err := tlsf.New(100, nil); err != nil {
		t.Errorf("with a nil option: %v", err)
	}
}

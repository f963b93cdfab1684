package lac

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// TestZeroPool: a pool that NewPool did not make is one with the defaults, also if
// several goroutines get the first arenas at once.
func TestZeroPool(t *testing.T) {
	var p AllocatorPool
	if s := p.Stats(); s != (Stats{}) || p.Err() != nil || !strings.Contains(p.DumpStats(true), "gets 0") {
		t.Errorf("before the first Get: %+v, %v", s, p.Err())
	}
	p.DebugCheck()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				ac := p.Get()
				if n := New[int](ac); *n != 0 {
					t.Errorf("a new int is %d", *n)
				} else {
					*n = i
				}
				NewSlice[byte](ac, defaultChunkSize, defaultChunkSize)
				ac.Release()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Gets != 800 || s.Releases != 800 || s.Misuses != 0 {
		t.Errorf("%+v", s)
	}
	var debug AllocatorPool
	debug.EnableDebugMode(true)
	ac := debug.Get()
	if ac.core.debug == nil {
		t.Error("debug mode was switched off by the first Get")
	}
	ac.Release()
	for _, on := range []bool{false, true} {
		// Left before the first arena, or after it.
		var left AllocatorPool
		left.EnableDebugMode(on)
		if on {
			left.Get().Release()
			left.EnableDebugMode(false)
		}
		ac := left.Get()
		if ac.core.debug != nil {
			t.Error("debug mode is still on")
		}
		*New[int](ac) = 1
		ac.Release()
		if s := left.Stats(); s.Releases != s.Gets || s.ChunksMade != 1 || left.chunkSize != defaultChunkSize {
			t.Errorf("after debug mode was set to %v first: %+v with chunks of %d bytes", on, s, left.chunkSize)
		}
	}
	if NewPool("", nil).Get() == nil {
		t.Error("no arena with a nil option")
	}
}

// TestZeroHandle: a handle that no pool lent is like a released one.
func TestZeroHandle(t *testing.T) {
	logger := &testLogger{}
	unlent.logger = logger
	defer func() { unlent.logger = nil }()
	for op, f := range map[string]func(ac *Allocator){
		"New":     func(ac *Allocator) { *New[int](ac) = 1 },
		"Release": (*Allocator).Release,
		"DecRef":  (*Allocator).DecRef,
		"IncRef":  (*Allocator).IncRef,
		"Fork": func(ac *Allocator) {
			if ac.Fork() != nil {
				t.Error("Fork gave a handle")
			}
		},
	} {
		logger.lines = nil
		var ac Allocator
		f(&ac)
		if !strings.Contains(logger.all(), op+": "+ErrReleased.Error()) {
			t.Errorf("%s: %q", op, logger.all())
		}
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, ErrInvalidSize) {
			t.Errorf("NewSlice panics with %v", err)
		}
	}()
	NewSlice[int](new(Allocator), -1, 0)
}

// TestNestedArenaIsZero: an arena that is lent while another one is out holds nothing of
// those that were lent there before.
func TestNestedArenaIsZero(t *testing.T) {
	p := quietPool(t)
	defer p.Get().Release()
	for round := range 3 * slabLen {
		ac := p.Get()
		b := NewSlice[byte](ac, 1000, 1000)
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("round %d: byte %d is %#x", round, i, b[i])
			}
			b[i] = 0xff
		}
		ac.Release()
	}
}

package lac

import (
	"errors"
	"testing"
)

// TestSecondReleaseWhileHeld: a Release gives back one reference, once. What others hold
// stays theirs, and the last DecRef ends the arena.
func TestSecondReleaseWhileHeld(t *testing.T) {
	for name, opts := range modes {
		p, _ := strictPool(t, opts...)
		releasedTwice(t, name, p)
	}
}

// releasedTwice tries that with more arenas of p, which has no misuse of its own, than a
// seat or a shard has handles.
func releasedTwice(t *testing.T, name string, p *AllocatorPool) {
	t.Helper()
	for round := range 3 * slabLen {
		ac := p.Get()
		ac.IncRef()
		n := New[int](ac)
		*n = 42
		if ac.Release(); !errors.Is(p.Err(), ErrHeld) {
			t.Fatalf("%s: the first Release reports %v", name, p.Err())
		}
		if ac.Release(); !errors.Is(p.Err(), ErrReleased) {
			t.Fatalf("%s: the second Release reports %v", name, p.Err())
		}
		other := p.Get()
		*New[int](other) = 7
		other.Release()
		if *n != 42 {
			t.Fatalf("%s: what is held became %d", name, *n)
		}
		misuses := p.Stats().Misuses
		if ac.DecRef(); p.Stats().Misuses != misuses {
			t.Fatalf("%s, round %d: the last DecRef reports %v", name, round, p.Err())
		}
	}
}

package offset

import (
	"math"
	"testing"
)

// TestFewRoom: so many blocks are placed, and no more, before the tables are made.
func TestFewRoom(t *testing.T) {
	f := NewFew(1<<20, 64)
	for want := manyRuns - 1; want >= 0; want-- {
		if got := f.Room(); got != want || f.tlsf != nil {
			t.Fatalf("room for %d blocks, want %d; tables: %v", got, want, f.tlsf != nil)
		}
		if f.Allocate(100) < 0 {
			t.Fatal("no room")
		}
	}
	if got := f.Room(); got != math.MaxInt || f.tlsf == nil {
		t.Errorf("room for %d blocks, tables: %v", got, f.tlsf != nil)
	}
	if f.Reset(); f.Room() != manyRuns-1 {
		t.Errorf("room for %d blocks after Reset", f.Room())
	}
}

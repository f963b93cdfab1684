package gomem

import (
	"testing"

	"github.com/gomem-go/gomem/internal/check"
)

// What a default build cannot know, shown for each kind of allocator. A debug
// build reports the first two.
func TestNotDetected(t *testing.T) {
	if check.Enabled {
		t.Skip("detected in a debug build")
	}
	eachKind(t, func(t *testing.T, k kind) {
		t.Run("a second free after the range was issued again", func(t *testing.T) {
			a := k.make(t)
			stay := a.Malloc(100)
			old := a.Malloc(100)
			a.Free(old)
			b := a.Malloc(100)
			if &b[0] != &old[0] {
				t.Skip("the range was not issued again")
			}
			if !a.Free(old) {
				t.Error("refused: better than the documentation says")
			}
			if a.Free(b) {
				t.Error("the owner's own free is true as well")
			}
			a.Free(stay)
		})
		t.Run("a write to memory that is free", func(t *testing.T) {
			a := k.make(t)
			stay := a.Malloc(100)
			old := a.Malloc(100)
			a.Free(old)
			old[0] = 1
			if err := a.Verify(); err != nil {
				t.Errorf("the tables are outside the memory, but %v", err)
			}
			a.Free(stay)
		})
		t.Run("a free over two live neighbours", func(t *testing.T) {
			if k.exact() {
				t.Skip("detected")
			}
			a := k.make(t)
			x, y := a.Malloc(100), a.Malloc(100)
			if !touching(x, y) {
				t.Skip("not neighbours")
			}
			if !a.Free(wild(x, 150)) {
				t.Error("refused: better than the documentation says")
			}
			if a.Free(y) || !a.Free(y[50:]) {
				t.Error("what was freed with x is free, and the rest is not")
			}
		})
	})
}

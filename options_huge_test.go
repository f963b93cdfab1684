package gomem

import (
	"errors"
	"math/bits"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// stingy is a source that has no large mappings, and takes note of the largest that it
// was asked for.
type stingy struct {
	backing.Source
	most int
}

func (s *stingy) Map(size int) ([]byte, error) {
	if s.most = max(s.most, size); size > 1<<20 {
		return nil, ErrOutOfMemory
	}
	return s.Source.Map(size)
}

// TestMoreThanAChunkCanHave: a block for which no placement has the numbers is refused
// before the system maps it, and a first chunk that is too large is made smaller.
func TestMoreThanAChunkCanHave(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("the address space is smaller")
	}
	for _, p := range []Placement{SizeClasses, TLSF} {
		var c settings
		p.config(&c)
		most := c.MaxChunk
		s := &stingy{Source: backing.Heap()}
		a := NewScalableMemoryAllocator(0, WithPlacement(p), WithBacking(s))
		for _, n := range []int{most + 1, 4 * most} {
			if b, err := a.TryMalloc(n); b != nil || !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("placement %d: TryMalloc(%d): %d bytes, %v", p, n, len(b), err)
			}
			if s.most > 1<<30 {
				t.Errorf("placement %d: TryMalloc(%d): asked for %d bytes", p, n, s.most)
			}
		}
		if _, err := a.TryMalloc(most &^ 63); !errors.Is(err, ErrOutOfMemory) || s.most != most&^63 {
			t.Errorf("placement %d: TryMalloc(%d): asked for %d bytes, %v", p, most&^63, s.most, err)
		}

		s.most = 0
		a = NewScalableMemoryAllocator(4*most, WithPlacement(p), WithBacking(s))
		if b := a.Malloc(100); len(b) != 100 || s.most != most&^63 {
			t.Errorf("placement %d: first chunk: %d bytes, asked for %d", p, len(b), s.most)
		}
		if err := errors.Join(a.Verify(), a.Close()); err != nil {
			t.Error(err)
		}
	}
}

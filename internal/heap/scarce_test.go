package heap

import (
	"errors"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// scarce is a source that has no large mappings.
type scarce struct {
	backing.Source
	most int // bytes
}

func (s *scarce) Map(size int) ([]byte, error) {
	if size > s.most {
		return nil, ErrOutOfMemory
	}
	return s.Source.Map(size)
}

// TestShortOfMemory: where there is no chunk of the usual size, one that just
// holds the request will do.
func TestShortOfMemory(t *testing.T) {
	source := &scarce{backing.Heap(), 1 << 30}
	h := new(Heap)
	h.Init(Config{Size: 1 << 20, Source: source, Placement: placements["tlsf"]})
	mustMalloc(t, h, 1<<20) // takes the first chunk whole
	source.most = 200 << 10
	before := h.Stats()
	mustMalloc(t, h, 100<<10)
	if s := h.Stats(); s.Chunks != before.Chunks+1 || s.Backing > before.Backing+source.most {
		t.Errorf("%+v after %+v", s, before)
	}
	before = h.Stats()
	if _, err := h.TryMalloc(300 << 10); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("a request that nothing can hold: %v", err)
	}
	if s := h.Stats(); s != before {
		t.Errorf("%+v after %+v", s, before)
	}
	if err := h.Verify(); err != nil {
		t.Error(err)
	}
}

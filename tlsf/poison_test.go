package tlsf_test

import (
	"testing"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/tlsf"
)

// buffer is a source that hands out memory of its own.
type buffer struct {
	backing.Source
	mem []byte
}

func (s *buffer) Map(size int) ([]byte, error) { return s.mem[:size:size], nil }
func (s *buffer) Unmap([]byte) error           { return nil }
func (s *buffer) PageSize() int                { return 4096 }

// TestCloseLeavesNoPoison: what a source gets back is its own again: built with -asan, an
// access would end the program otherwise.
func TestCloseLeavesNoPoison(t *testing.T) {
	src := &buffer{Source: backing.Heap(), mem: make([]byte, 1<<16)}
	pool, err := tlsf.New(1<<16, tlsf.WithBacking(src))
	if err != nil {
		t.Fatal(err)
	}
	b := mustAlloc(t, pool, 100)
	b[0] = 1
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range src.mem {
		src.mem[i]++
	}
}

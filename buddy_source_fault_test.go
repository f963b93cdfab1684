package gomem

import (
	"errors"
	"syscall"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

func TestChunkPoolFaults(t *testing.T) {
	inner := backing.NewFaulty(backing.Heap())
	p := NewChunkPool(inner)
	for _, n := range []int{5000, MaxBlockSize + 1} {
		inner.Fail(backing.OpMap, 1, syscall.ENOMEM)
		if mem, err := p.Map(n); mem != nil || !errors.Is(err, ErrOutOfMemory) || !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("Map(%d) = %d bytes, %v", n, len(mem), err)
		}
	}
	large, err := p.Map(MaxBlockSize + 1)
	if err != nil {
		t.Fatal(err)
	}
	inner.Fail(backing.OpUnmap, 1, syscall.EINVAL)
	if err := p.Unmap(large); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Unmap: %v", err)
	}
	if err := p.Unmap(large); err != nil {
		t.Errorf("Unmap again: %v", err)
	}
	// A segment that cannot go back serves on.
	var all [][]byte
	for range 4 {
		mem, err := p.Map(MaxBlockSize)
		if err != nil {
			t.Fatal(err)
		}
		mem[0] = 1
		all = append(all, mem)
	}
	inner.FailFrom(backing.OpUnmap, 1, syscall.EINVAL)
	for _, mem := range all {
		if err := p.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
	maps := inner.Calls(backing.OpMap)
	for range 4 {
		if mem, err := p.Map(MaxBlockSize); err != nil || !zero(mem) {
			t.Errorf("Map: zero %v, %v", zero(mem), err)
		}
	}
	if got := inner.Calls(backing.OpMap); got != maps {
		t.Errorf("%d more segments", got-maps)
	}
}

// TestChunkPoolTriesAgain: a segment that the source did not take back goes with the
// next one that becomes empty.
func TestChunkPoolTriesAgain(t *testing.T) {
	inner := backing.NewFaulty(backing.Heap())
	p := NewChunkPool(inner)
	var all [][]byte
	for segments := 0; segments < 3; segments, _ = inner.Live() {
		mem, err := p.Map(MaxBlockSize)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mem)
	}
	inner.Fail(backing.OpUnmap, 1, syscall.EINVAL)
	for _, mem := range all {
		if err := p.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
	if segments, bytes := inner.Live(); segments != 1 {
		t.Errorf("%d segments of %d bytes stay", segments, bytes)
	}
}

// panicsOnce is a source that panics when it is to unmap something for the first time.
type panicsOnce struct {
	backing.Source
	did bool
}

func (p *panicsOnce) Unmap(mem []byte) error {
	if !p.did {
		p.did = true
		panic("source")
	}
	return p.Source.Unmap(mem)
}

// A large mapping is still the caller's if the inner source panics in Unmap.
func TestChunkPoolUnmapPanics(t *testing.T) {
	inner := backing.NewFaulty(nil)
	p := NewChunkPool(&panicsOnce{Source: inner})
	mem, err := p.Map(MaxBlockSize + 1)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if r := recover(); r != "source" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = p.Unmap(mem)
	}()
	if err := p.Unmap(mem); err != nil {
		t.Error(err)
	}
	if n, _ := inner.Live(); n != 0 {
		t.Errorf("%d mappings left", n)
	}
}

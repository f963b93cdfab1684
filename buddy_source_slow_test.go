package gomem

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomem-go/gomem/backing"
)

// slowSource is a source whose calls may call back first.
type slowSource struct {
	backing.Source
	enter, leave func()
	maps, now    atomic.Int64
}

func (s *slowSource) Map(size int) ([]byte, error) {
	s.maps.Add(1)
	s.now.Add(1)
	if s.enter != nil {
		s.enter()
	}
	return s.Source.Map(size)
}

func (s *slowSource) Unmap(mem []byte) error {
	if s.leave != nil {
		s.leave()
	}
	s.now.Add(-1)
	return s.Source.Unmap(mem)
}

// mapMany maps n times size bytes of p.
func mapMany(t *testing.T, p backing.Source, n, size int) (all [][]byte) {
	t.Helper()
	for range n {
		mem, err := p.Map(size)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mem)
	}
	return all
}

func unmapAll(t *testing.T, p backing.Source, all ...[]byte) {
	t.Helper()
	for _, mem := range all {
		if err := p.Unmap(mem); err != nil {
			t.Error(err)
		}
	}
}

// usesPool maps and unmaps in p while another goroutine is in the inner source, and fails if
// that has to wait.
func usesPool(t *testing.T, p backing.Source) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		unmapAll(t, p, mapMany(t, p, 10, 5000)...)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a call that needs nothing of the inner source waits for it")
	}
}

// TestChunkPoolSlowSource: while the inner source maps or unmaps, mappings that have room
// come and go. Those that have none wait, and share the next segment.
func TestChunkPoolSlowSource(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		inner := &slowSource{Source: backing.Heap()}
		p := newChunkPool(inner, keeps)
		kept := mapMany(t, p, 1, 5000)
		full := mapMany(t, p, 1, MaxBlockSize) // the other half
		mapping, goOn := make(chan struct{}), make(chan struct{})
		inner.enter = func() {
			mapping <- struct{}{}
			<-goOn
		}
		var all sync.WaitGroup
		var more [2][][]byte
		for i := range more {
			all.Go(func() { more[i] = mapMany(t, p, 1, MaxBlockSize) })
		}
		<-mapping
		usesPool(t, p)
		inner.enter = nil
		close(goOn)
		all.Wait()
		if n := inner.maps.Load(); n != 2 {
			t.Errorf("keeps %v: %d segments for two blocks that wait for one", keeps, n-1)
		}
		unmapAll(t, p, full...)
		if keeps { // a segment that is empty, for the next one to have it unmapped
			unmapAll(t, p, kept...)
			kept = nil
		}
		unmapping := make(chan struct{})
		inner.leave = func() {
			inner.leave = nil
			usesPool(t, p)
			close(unmapping)
		}
		unmapAll(t, p, more[0]...)
		unmapAll(t, p, more[1]...)
		<-unmapping
		unmapAll(t, p, kept...)
		if n, want := inner.now.Load(), map[bool]int64{true: 1}[keeps]; n != want || len(p.segments) != int(want) || len(p.live) != 0 {
			t.Errorf("keeps %v: %d segments are mapped, %d known, with %d mappings", keeps, n, len(p.segments), len(p.live))
		}
	}
}

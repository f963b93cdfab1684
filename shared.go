package gomem

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/gomem-go/gomem/internal/check"
)

// ErrReleased: the last reference of a [SharedMemory] is gone, its bytes with it.
var ErrReleased = errors.New("shared memory was released")

// SharedMemory is a run of bytes that outlives the read that produced it: a
// reference-counted chain over the very blocks the source wrote into.
//
//	block A  [ … | frame 1 | frame 2 | fra ]      refs: reader, 1, 2, 3
//	block B  [ me 3 | frame 4 | … free …   ]      refs: reader, 3, 4
//
// It starts with one reference, the caller's. Each holder calls Release once;
// a block returns to its allocator when the last frame in it and the reader
// have let go. The bytes are shared: holders read them and do not write.
//
// Retain, Release, Memory and WriteTo may be called from any goroutine. The
// handle is recycled after the last Release: it answers with [ErrReleased]
// until at least 1,024 further frames have been read by the program, and for
// good when built with the tag gomem_debug. Drop the pointer with the reference.
type SharedMemory struct {
	// refs is the number of references, 0 when released. The reader sets it with a
	// plain store: whoever may look at the frame got it from the reader later. Only a
	// stale pointer can race with that, and the race detector may well say so.
	refs int32
	size int
	slab *sharedSlab

	// A frame in one block, as most are, is block and view, and its handle one
	// cache line. Any other has neither; its parts lie apart.
	block *sharedBlock
	view  [1][]byte
	parts *sharedParts
}

// sharedParts is what the frame of one handle is made of when it is not one view.
type sharedParts struct {
	blocks []*sharedBlock
	views  [][]byte

	inlineBlocks [2]*sharedBlock
	inlineViews  [2][]byte
}

// Retain adds a reference, for another holder that will call Release.
//
// Requires that the caller's own reference is still held. The error is
// [ErrReleased] when the last one is gone: bytes once released never come back.
// O(1), never allocates.
func (s *SharedMemory) Retain() error {
	for {
		n := atomic.LoadInt32(&s.refs)
		if n <= 0 {
			return ErrReleased
		}
		if atomic.CompareAndSwapInt32(&s.refs, n, n+1) {
			return nil
		}
	}
}

// Release gives one reference back. With the last one the bytes may be reused
// at once and every view of them is dead.
//
// The error is [ErrReleased], and nothing changes, when no reference is left.
// O(blocks of the frame), never allocates.
func (s *SharedMemory) Release() error {
	for {
		n := atomic.LoadInt32(&s.refs)
		if n <= 0 {
			return ErrReleased
		}
		if atomic.CompareAndSwapInt32(&s.refs, n, n-1) {
			if n == 1 {
				s.free()
			}
			return nil
		}
	}
}

func (s *SharedMemory) free() {
	if b := s.block; b != nil {
		s.block, s.view[0] = nil, nil
		b.drop(1)
	} else {
		s.parts.free()
	}
	s.slab.done(1)
}

func (p *sharedParts) free() {
	for i, b := range p.blocks {
		p.blocks[i], p.views[i] = nil, nil
		b.drop(1)
	}
	p.blocks, p.views = p.blocks[:0], p.views[:0]
	if cap(p.blocks) > keptBlocks {
		p.blocks, p.views = p.inlineBlocks[:0], p.inlineViews[:0]
	}
}

// list is the bytes in order: one view for each block.
func (s *SharedMemory) list() [][]byte {
	if s.block != nil {
		return s.view[:]
	}
	v := s.parts.views
	return v[:len(v):len(v)]
}

// Len is the number of bytes, 0 after the last Release. O(1).
func (s *SharedMemory) Len() int {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return 0
	}
	return s.size
}

// Memory gives the bytes in order as a chain of shared views, without a copy:
// one buffer for each block the frame lies in. They are valid until the
// caller's reference is released, and are to be read only.
//
// After the last Release the result is empty. O(1), never allocates; the list
// of buffers belongs to the frame, so clone it before changing its elements
// (net.Buffers.WriteTo does).
func (s *SharedMemory) Memory() Memory {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return Memory{}
	}
	return Memory{Size: s.size, Buffers: s.list()}
}

// WriteTo writes the bytes to w; on a *net.TCPConn or *net.UnixConn several
// blocks leave in one writev. It consumes nothing: every holder may write the
// same frame, at the same time.
//
// Returns the bytes written; the error is the writer's, [io.ErrShortWrite] when
// it stopped short without one, or [ErrReleased]. Never allocates itself.
func (s *SharedMemory) WriteTo(w io.Writer) (int64, error) {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return 0, ErrReleased
	}
	views := s.list()
	if len(views) > 1 && hasWritev(w) {
		return writev(w, views)
	}
	var total int64
	for _, v := range views {
		n, err := writeAll(w, v)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// writeList is the list that net.Buffers consumes, so that views stays whole.
type writeList struct{ all, rest net.Buffers }

var writeLists = sync.Pool{New: func() any { return new(writeList) }}

func writev(w io.Writer, views [][]byte) (int64, error) {
	l := writeLists.Get().(*writeList)
	l.all = append(l.all[:0], views...)
	l.rest = l.all
	n, err := l.rest.WriteTo(w)
	clear(l.all)
	writeLists.Put(l)
	return n, err
}

// sharedSlab holds the handles of consecutive frames. It is reused once every
// one of them has been released, and then only after quarantine.
type sharedSlab struct {
	handles [slabHandles]SharedMemory
	live    atomic.Int32 // handles not yet released, those not yet issued included
	parts   [slabHandles]sharedParts
}

const (
	keptBlocks     = 64 // longer lists are not kept with an idle handle
	slabHandles    = 16
	slabQuarantine = 1024 / slabHandles
)

// idleSlabs is a queue, oldest first, of slabs without a live handle. A handle
// that was just released is thus reused last, which is what lets a late Retain
// be answered with an error.
var idleSlabs struct {
	sync.Mutex
	ring []*sharedSlab
	head int
}

// done counts n handles out and retires the slab with the last.
func (s *sharedSlab) done(n int32) {
	if s.live.Add(-n) == 0 && !check.Enabled {
		s.retire()
	}
}

func (s *sharedSlab) retire() {
	q := &idleSlabs
	q.Lock()
	if q.head > len(q.ring)/2 && len(q.ring) == cap(q.ring) {
		n := copy(q.ring, q.ring[q.head:])
		clear(q.ring[n:])
		q.ring, q.head = q.ring[:n], 0
	}
	q.ring = append(q.ring, s)
	q.Unlock()
}

// newSlab takes the oldest idle slab, or makes one while fewer than
// slabQuarantine wait.
func newSlab() *sharedSlab {
	q := &idleSlabs
	q.Lock()
	var s *sharedSlab
	if len(q.ring)-q.head > slabQuarantine {
		s = q.ring[q.head]
		q.ring[q.head] = nil
		q.head++
	}
	q.Unlock()
	if s == nil {
		s = new(sharedSlab)
		for i := range s.handles {
			p := &s.parts[i]
			p.blocks, p.views = p.inlineBlocks[:0], p.inlineViews[:0]
			s.handles[i].slab, s.handles[i].parts = s, p
		}
	}
	s.live.Store(slabHandles)
	return s
}

package gomem

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
)

// keptParts is how many blocks a frame may lie in for its lists to serve the next one: as
// many as one of DefaultMaxFrameBytes in blocks of DefaultBufLen does, wherever it begins.
const keptParts = DefaultMaxFrameBytes/DefaultBufLen + 1

// ErrReleased: the last reference to a [SharedMemory] was released, and with it the
// bytes.
var ErrReleased = errors.New("shared memory was released")

var errReferences = fmt.Errorf("too many references: %w", ErrOverflow)

// SharedMemory is a run of bytes that outlives the read that produced it: a
// reference-counted chain over the same blocks that the source wrote into.
//
//	block A  [ … | frame 1 | frame 2 | fra ]      refs: reader, 1, 2, 3
//	block B  [ me 3 | frame 4 | … free …   ]      refs: reader, 3, 4
//
// It starts with one reference, the caller's. Each holder calls Release once;
// a block returns to its allocator when the last frame in it is released and
// the reader is done with it. The bytes are shared: holders must not write to
// them. Pass pointers: a copy counts no reference.
//
// Retain, Release, Memory and WriteTo may be called from any goroutine. The
// handle is reused some time after the last Release. Until then the handle returns
// [ErrReleased]: for at least the next 1,024 recycled frames, some of which may have been
// released before it, and forever if its allocator is in debug mode or the program is
// built with the tag gomem_debug. A frame is recycled when the block it begins in has
// gone back. Drop the pointer when you release the reference.
type SharedMemory struct {
	_ [0]sync.Mutex // so that go vet reports copies

	// refs is the number of references, 0 when released. The reader sets it with a
	// plain store: all others get the frame from the reader later. Only a stale
	// pointer can race with that, and the race detector may report it.
	refs int32
	size int
	home *sharedBlock // the header that the handle is part of, of the block the frame begins in
	view [1][]byte    // all of a frame in one block; the parts of any other are in home.across
}

// sharedParts is what a frame across blocks is made of.
type sharedParts struct {
	views  [][]byte
	blocks []*sharedBlock // the blocks behind the first

	inlineViews  [2][]byte
	inlineBlocks [1]*sharedBlock
	long         *longParts // where the lists are, if not inline
}

// longParts are the empty lists of a frame in more than two blocks. They are not kept in
// headers, which wait for many others before they serve again.
type longParts struct {
	views  [][]byte
	blocks []*sharedBlock
}

var longLists = sync.Pool{New: func() any { return new(longParts) }}

func (p *sharedParts) reset() { p.views, p.blocks = p.inlineViews[:0], p.inlineBlocks[:0] }

// Retain adds a reference, for another holder that will call Release.
//
// Requires that the caller's own reference is still held. The error is [ErrReleased]
// when the last reference is gone: released bytes never come back. At 2^31-1
// references, which only a forgotten Release reaches, it wraps [ErrOverflow]. On
// error nothing has changed. O(1), never allocates.
func (s *SharedMemory) Retain() error {
	for {
		n := atomic.LoadInt32(&s.refs)
		if uint32(n-1) >= math.MaxInt32-1 {
			if n > 0 {
				return errReferences
			}
			return ErrReleased
		}
		if atomic.CompareAndSwapInt32(&s.refs, n, n+1) {
			return nil
		}
	}
}

// Release gives one reference back. After the last one the bytes may be
// reused at once and no view of them is valid.
//
// The error is [ErrReleased], and nothing changes, when no reference is left; an
// allocator in debug mode reports that as misuse, too. O(blocks of the frame), never
// allocates.
func (s *SharedMemory) Release() error {
	return s.drop((*SharedMemory).free, (*SharedMemory).tooOften)
}

// drop is Release with the rare steps as parameters, as in nextByte.
func (s *SharedMemory) drop(free func(*SharedMemory), tooOften func(*SharedMemory) error) error {
	for {
		n := atomic.LoadInt32(&s.refs)
		if n <= 0 {
			return tooOften(s)
		}
		if atomic.CompareAndSwapInt32(&s.refs, n, n-1) {
			if n == 1 {
				free(s)
			}
			return nil
		}
	}
}

// tooOften reports the release of a frame that nobody holds, where its allocator is in
// debug mode.
func (s *SharedMemory) tooOften() error {
	if s.home == nil { // of no reader
		return ErrReleased
	}
	if h := s.home.allocator().engine(); h.Watched() {
		h.RefuseRelease(s.size, ErrReleased)
	}
	return ErrReleased
}

func (s *SharedMemory) free() {
	home := s.home
	if s.view[0] != nil {
		s.view[0] = nil
	} else {
		home.across.free()
	}
	home.drop(1)
}

func (p *sharedParts) free() {
	for i, b := range p.blocks {
		p.blocks[i] = nil
		b.drop(1)
	}
	clear(p.views)
	if l := p.long; l != nil {
		p.long = nil
		if cap(l.views) <= keptParts {
			longLists.Put(l)
		}
	}
	p.reset()
}

// room makes room for so many views.
func (p *sharedParts) room(views int) {
	if views <= len(p.inlineViews) {
		return
	}
	l := longLists.Get().(*longParts)
	if n := cap(l.views); n < views {
		n = max(views, min(2*n, keptParts))
		l.views, l.blocks = make([][]byte, 0, n), make([]*sharedBlock, 0, n)
	}
	p.long, p.views, p.blocks = l, l.views, l.blocks
}

// list is the bytes in order: one view for each block.
func (s *SharedMemory) list() [][]byte {
	if s.view[0] != nil {
		return s.view[:]
	}
	v := s.home.across.views
	return v[:len(v):len(v)]
}

// Len is the number of bytes, 0 after the last Release. O(1).
func (s *SharedMemory) Len() int {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return 0
	}
	return s.size
}

// Memory returns the bytes in order as a chain of shared views, without a
// copy: one buffer for each block the frame lies in. They are valid until the
// caller's reference is released, and must not be written to.
//
// After the last Release the result is empty. O(1), never allocates; the list
// of buffers belongs to the frame. Do not convert it to net.Buffers: its WriteTo clears
// the elements, and every other holder then sends nothing. Use WriteTo, or
// net.Buffers(slices.Clone(m.Buffers)).
func (s *SharedMemory) Memory() Memory {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return Memory{}
	}
	return Memory{Size: s.size, Buffers: s.list()}
}

// WriteTo writes the bytes to w, as [Memory.WriteTo] does: several blocks with writev if
// the system has it, and as one packet on a packet connection. It consumes nothing: all
// holders may write the same frame at the same time.
//
// It returns the number of bytes written. The error is that of w,
// [io.ErrShortWrite] if w stopped early without one, [ErrInvalidWrite] if its count is
// impossible, [ErrReleased], or [io.ErrUnexpectedEOF] if elements of the list of Memory
// were cleared, as net.Buffers does; what is left of the list is written. Allocates
// nothing itself, except for a packet that has to be copied together.
//
// To be able to go on after an error, such as a write deadline, write with a reader,
// which consumes what w took, until its Length is 0:
//
//	m := s.Memory()
//	rd := m.NewReader()
//	_, err := rd.WriteTo(w) // and again
func (s *SharedMemory) WriteTo(w io.Writer) (int64, error) {
	if atomic.LoadInt32(&s.refs) <= 0 {
		return 0, ErrReleased
	}
	return writeViews(w, s.list(), s.size)
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

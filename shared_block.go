package gomem

import (
	"sync"
	"sync/atomic"

	"github.com/gomem-go/gomem/internal/check"
)

// sharedBlock is one block of a reader: memory the source wrote into, the count
// of those who still look at it, and the handles of frames that begin in it. The
// header lives on the Go heap and is pooled; the memory belongs to alloc (nil: Go
// heap, or a packet that somebody else made).
//
// The reader takes blockBias references at once with a plain store and hands
// them to frames by counting in granted, which only it touches. So sharing a
// frame costs no atomic operation on the block; only letting go does, one for the
// bytes and the handle together.
//
//	frames alive = granted - (blockBias - refs)      while the reader holds it
//	frames alive = refs                              afterwards
//
// More frames than a header has handles for get theirs from further headers
// without memory. Each holds one reference to the first, which tail of the
// first leads to the latest of.
type sharedBlock struct {
	mem     []byte
	alloc   *ScalableMemoryAllocator
	refs    atomic.Int64
	granted int64        // references handed out; the reader's own field
	first   *sharedBlock // the header that this one continues, or nil
	tail    *sharedBlock // in a first header: where the next handle comes from
	issued  int          // handles handed out
	handles [blockHandles]SharedMemory
	across  sharedParts // of the frame that does not end in this block
}

const (
	// blockBias is more references than a reader can hand out of one block.
	blockBias = 1 << 40
	// blockHandles makes the header 768 bytes, a size class of the Go heap, and is
	// enough for a block of frames of 1.5 KiB and more.
	blockHandles = 12
	// handleRest is how many other handles a handle waits for before it serves again. A
	// header counts with all its handles when it retires, also with those that were
	// released earlier: to tell them apart would take a clock in each release.
	handleRest = 1024
	// handlesKept is how many others a handle waits for before its header may go to
	// the collector: the queue must not keep all that were ever in use at once.
	handlesKept = 2 * handleRest
)

// freshHeaders are those none of whose handles has to rest: reading in place needs
// no more.
var freshHeaders = sync.Pool{New: func() any {
	b := new(sharedBlock)
	for i := range b.handles {
		b.handles[i].home = b
	}
	b.across.reset()
	return b
}}

// usedHeaders is a queue, oldest first. A handle that was just released is thus
// reused last, which is what lets a late Retain be answered with an error.
var usedHeaders struct {
	sync.Mutex
	ring    []*sharedBlock
	head    int
	handles int // handed out by those in the ring
}

// newBlock puts a header on mem, owned by the caller. If it shares frames it
// takes a header that has rested, so that their number stays what it is.
func newBlock(mem []byte, alloc *ScalableMemoryAllocator, shares bool) *sharedBlock {
	var b *sharedBlock
	if shares {
		b = restedHeader()
	}
	if b == nil {
		b = freshHeaders.Get().(*sharedBlock)
	}
	b.mem, b.alloc, b.granted, b.tail = mem, alloc, 0, b
	b.refs.Store(blockBias)
	return b
}

func restedHeader() *sharedBlock {
	usedHeaders.Lock()
	b := oldestHeader(handleRest)
	usedHeaders.Unlock()
	return b
}

// oldestHeader takes the oldest header out of the queue if its handles waited for
// others, so many, else it returns nil. Who calls it holds the lock.
func oldestHeader(others int) *sharedBlock {
	q := &usedHeaders
	if q.head == len(q.ring) || q.handles-q.ring[q.head].issued < others {
		return nil
	}
	b := q.ring[q.head]
	q.ring[q.head] = nil
	q.head++
	q.handles -= b.issued
	b.issued = 0
	return b
}

// allocator is that of the memory, nil for the Go heap.
func (b *sharedBlock) allocator() *ScalableMemoryAllocator {
	if b.first != nil {
		b = b.first
	}
	return b.alloc
}

// retire pools a header that nobody refers to. In debug mode its handles stay released for
// good, and know whom to tell.
func (b *sharedBlock) retire() {
	if b.issued > 0 && (check.Enabled || b.allocator().engine().Watched()) {
		b.mem = nil
		return
	}
	b.mem, b.alloc, b.first, b.tail = nil, nil, nil, nil
	if b.issued == 0 {
		freshHeaders.Put(b)
		return
	}
	q := &usedHeaders
	q.Lock()
	if q.head > len(q.ring)/2 && len(q.ring) == cap(q.ring) {
		n := copy(q.ring, q.ring[q.head:])
		clear(q.ring[n:])
		q.ring, q.head = q.ring[:n], 0
	}
	q.ring = append(q.ring, b)
	q.handles += b.issued
	for old := oldestHeader(handlesKept); old != nil; old = oldestHeader(handlesKept) {
		freshHeaders.Put(old)
	}
	q.Unlock()
}

// handle takes a handle, which holds the block, for its reader.
func (b *sharedBlock) handle() *SharedMemory { return b.issue((*sharedBlock).extend) }

// issue is handle with the rare call as a parameter, as in nextByte.
func (b *sharedBlock) issue(extend func(*sharedBlock) *sharedBlock) *SharedMemory {
	t := b.tail
	if t.issued == blockHandles {
		t = extend(b)
	}
	s := &t.handles[t.issued]
	t.issued++
	t.granted++
	return s
}

// extend makes a further header the tail.
func (b *sharedBlock) extend() *sharedBlock {
	t := newBlock(nil, nil, true)
	t.first = b
	b.granted++
	b.leaveTail()
	b.tail = t
	return t
}

// leaveTail ends the reader's hold of a further header.
func (b *sharedBlock) leaveTail() {
	if t := b.tail; t != b {
		t.drop(blockBias - t.granted)
	}
}

// solo reports that nobody but the reader looks at the block. It may turn true
// at any time, and never turns false by itself.
func (b *sharedBlock) solo() bool { return b.granted == 0 || b.soloAgain() }

// soloAgain is solo for a block of which frames were handed out, kept out of line
// for the sake of those that read in place.
//
//go:noinline
func (b *sharedBlock) soloAgain() bool {
	if t := b.tail; t != b {
		return t.idle(0) && b.idle(1)
	}
	return b.idle(0)
}

// idle reports that of the references handed out all but n are back.
func (b *sharedBlock) idle(n int64) bool { return blockBias-b.refs.Load() == b.granted-n }

// leave ends the reader's hold. What lies behind used was never handed out; if
// frames keep the block and it is much, it goes back at once, so that a frame of a
// slow stream pins little more than what was read.
func (b *sharedBlock) leave(used int) {
	if rest := len(b.mem) - used; b.alloc != nil && rest >= len(b.mem)/4 && used > 0 && !b.solo() {
		b.alloc.FreeRest(&b.mem, used)
	}
	b.leaveTail()
	b.drop(blockBias - b.granted)
}

// drop gives n references back and frees the block with the last one.
func (b *sharedBlock) drop(n int64) {
	if b.refs.Add(-n) == 0 {
		b.free()
	}
}

func (b *sharedBlock) free() {
	if first := b.first; first != nil {
		b.retire()
		first.drop(1)
		return
	}
	b.alloc.Free(b.mem)
	b.retire()
}

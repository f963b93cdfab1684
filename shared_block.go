package gomem

import (
	"sync"
	"sync/atomic"
)

// sharedBlock is one block of a reader: memory the source wrote into, and the
// count of those who still look at it. The header lives on the Go heap and is
// pooled; the memory belongs to alloc (nil: Go heap, or a packet that somebody
// else made).
//
// The reader takes blockBias references at once with a plain store and hands
// them to frames by counting in granted, which only it touches. So sharing a
// frame costs no atomic operation on the block; only letting go does.
//
//	frames alive = granted - (blockBias - refs)      while the reader holds it
//	frames alive = refs                              afterwards
type sharedBlock struct {
	mem     []byte
	alloc   *ScalableMemoryAllocator
	refs    atomic.Int64
	granted int64 // references handed to frames; the reader's own field
}

// blockBias is more references than a reader can hand out of one block.
const blockBias = 1 << 40

var blockHeaders = sync.Pool{New: func() any { return new(sharedBlock) }}

// newBlock puts a header on mem, owned by the caller.
func newBlock(mem []byte, alloc *ScalableMemoryAllocator) *sharedBlock {
	b := blockHeaders.Get().(*sharedBlock)
	b.mem, b.alloc, b.granted = mem, alloc, 0
	b.refs.Store(blockBias)
	return b
}

// solo reports that nobody but the reader looks at the block. It may turn true
// at any time, and never turns false by itself.
func (b *sharedBlock) solo() bool {
	return b.granted == 0 || blockBias-b.refs.Load() == b.granted
}

// leave ends the reader's hold. What lies behind used was never handed out; if
// frames keep the block and it is much, it goes back at once, so that a frame of a
// slow stream pins little more than what was read.
func (b *sharedBlock) leave(used int) {
	if rest := len(b.mem) - used; b.alloc != nil && rest >= len(b.mem)/4 && used > 0 && !b.solo() {
		b.alloc.FreeRest(&b.mem, used)
	}
	b.drop(blockBias - b.granted)
}

// drop gives n references back and frees the block with the last one.
func (b *sharedBlock) drop(n int64) {
	if b.refs.Add(-n) == 0 {
		b.free()
	}
}

func (b *sharedBlock) free() {
	b.alloc.Free(b.mem)
	b.mem, b.alloc = nil, nil
	blockHeaders.Put(b)
}

package gomem

import (
	"bytes"
	"io"
)

const (
	// maxEmptyReads is how many times in a row a source may return (0, nil).
	maxEmptyReads = 100
	// slideMax is how many unread bytes are moved to the front of their block
	// rather than starting another: below that a copy is cheaper than a block.
	slideMax = 2 << 10
	// tailPart is the fraction of a block whose free end is worth a read.
	tailPart = 8
)

func (b *BufReader) blockLen() int {
	if b.BufLen <= 0 {
		return DefaultBufLen
	}
	return max(b.BufLen, minBufLen)
}

// least is how much room at the end of a block is worth a read. It is never zero,
// and no matter of the block that has the room: of one made for few bytes, as by
// merge and putBack, an eighth would be nothing, and a source that is given nothing
// to fill returns nothing.
func (b *BufReader) least() int { return b.blockLen() / tailPart }

// alloc is TryMalloc on Malloc's fast path.
func (b *BufReader) alloc(n int) ([]byte, error) {
	if mem := b.Allocator.Malloc(n); mem != nil {
		return mem, nil
	}
	return b.Allocator.TryMalloc(n)
}

// settle begins a call that leaves the fast path: views of earlier calls end,
// and an exhausted front gives way to the queue.
func (b *BufReader) settle() {
	if len(b.held) > 0 || b.queued > 0 {
		b.settleBlocks()
	}
}

func (b *BufReader) settleBlocks() {
	if b.queued > 0 && b.w-b.r <= b.queue.next().r {
		b.popFront() // its views end, too, before the call waits
	}
	if !b.HoldViews {
		b.dropHeld()
	}
}

// popFront retires the front and makes the next block the front. What is unread in
// the front merge took from there: it becomes unread again where it came from. It is
// written back only if the holder of a view changed it: a packet may be in memory that
// others read, too.
func (b *BufReader) popFront() {
	rest := b.buf[b.r:b.w]
	b.retireFront()
	s := b.queue.pop()
	b.queued -= s.w - s.r
	b.front, b.buf, b.r, b.w = s.blk, s.blk.mem, s.r-len(rest), s.w
	if !bytes.Equal(b.buf[b.r:b.r+len(rest)], rest) {
		copy(b.buf[b.r:], rest)
	}
}

// retireFront takes the front out of reading. If views of it may be out, it is let go
// at the next call, or at Release.
func (b *BufReader) retireFront() {
	switch {
	case b.front == nil:
	case b.viewless():
		b.front.leave(b.w)
	default:
		b.held = append(b.held, heldBlock{b.front, b.w})
	}
	b.front, b.buf, b.r, b.w, b.merged = nil, nil, 0, 0, false
}

// regular reports that the front is a block like others, none made for a single
// request. It stands apart from reusable so that both are inlined.
func (b *BufReader) regular() bool { return len(b.buf) == b.blockLen() }

// reusable reports that the bytes of the front before r are dead: no view and
// no frame looks at them.
func (b *BufReader) reusable() bool {
	return b.front != nil && !b.HoldViews && b.front.solo()
}

// newFront takes an empty block as the front, of which there is none.
func (b *BufReader) newFront() error {
	mem, err := b.alloc(b.blockLen())
	if err != nil {
		return err
	}
	b.front, b.buf = newBlock(mem, b.Allocator, b.shares), mem
	return nil
}

// more adds at least one unread byte, or returns why not. Views of earlier calls
// are dead by then, which settle saw to. Who calls it defers guard: once for a
// request, not for each of its reads, because a defer costs as much as the rest.
func (b *BufReader) more() error {
	if b.err != nil || b.src == nil || b.front == nil || !b.queue.empty() {
		return b.ended(b.moreBehind())
	}
	// The common case: one block. If nobody looks at what was read of it, it is
	// used again from the beginning.
	p := b.buf
	if unread, size := b.w-b.r, len(p); unread == 0 {
		if b.raw != nil || !b.regular() || !b.reusable() {
			return b.ended(b.fillEmpty())
		}
		b.r, b.w = 0, 0
	} else {
		if least := b.least(); size-b.w < least {
			if unread > slideMax || size-unread < least || !b.regular() || !b.reusable() {
				return b.fillNext()
			}
			b.slide()
		}
		p = p[b.w:]
	}
	b.pulling = true
	n, err := b.src.Read(p)
	b.pulling = false
	if uint(n-1) < uint(len(p)) {
		b.w += n
		b.total += int64(n)
		if err != nil { // spares the write barrier's question
			b.err = err
		}
		return nil
	}
	if n == 0 && err == nil {
		return b.ended(b.fillTail()) // which is patient
	}
	if n != 0 {
		err = invalidRead(n, len(p))
	}
	return b.ended(err)
}

// ended passes err on. After an error a reader without unread bytes needs no block: one
// whose stream has ended costs nothing, even if nobody recycles it.
func (b *BufReader) ended(err error) error {
	if err != nil && b.Buffered() == 0 {
		b.giveUpIdle()
	}
	return err
}

// giveUpIdle lets go of the front, if there is one and no views hold it.
func (b *BufReader) giveUpIdle() {
	if b.front != nil && (!b.HoldViews || b.viewless()) {
		b.giveUpFront()
	}
	b.shrink()
}

// moreBehind is more for the other cases: an error that waits, packets, an empty
// reader, and a request that spans blocks.
func (b *BufReader) moreBehind() error {
	switch {
	case b.err != nil:
		err := b.err
		b.err = nil
		return err
	case b.src == nil:
		return b.morePackets()
	case b.queue.empty():
		return b.fillEmpty()
	}
	last := b.queue.last()
	if len(last.blk.mem)-last.w < b.least() {
		return b.fillNext()
	}
	n, err := b.pull(last.blk.mem[last.w:])
	last.w += n
	b.queued += n
	return err
}

// slide moves the unread bytes of a reusable front to its beginning.
func (b *BufReader) slide() {
	b.w = copy(b.buf, b.buf[b.r:b.w])
	b.r = 0
}

// fillTail reads into the free end of the front.
func (b *BufReader) fillTail() error {
	n, err := b.pull(b.buf[b.w:])
	b.w += n
	return err
}

// fillNext reads into a further block behind all others.
func (b *BufReader) fillNext() error {
	mem, err := b.alloc(b.blockLen())
	if err != nil {
		return err
	}
	b.queue.push(segment{blk: newBlock(mem, b.Allocator, b.shares)})
	last := b.queue.last()
	n, err := b.pull(mem)
	if n == 0 {
		last.blk.leave(0)
		b.queue.dropLast()
		return err
	}
	last.w = n
	b.queued += n
	return err
}

// fillEmpty reads when nothing is unread: in place if nobody looks at the front,
// behind what is looked at otherwise.
func (b *BufReader) fillEmpty() error {
	b.rewind()
	if b.raw != nil {
		return b.fillIdle()
	}
	if b.front == nil {
		if err := b.newFront(); err != nil {
			return err
		}
	}
	return b.fillTail()
}

// rewind prepares a front without unread bytes for the next read: it starts over
// if it is reusable, and is given up if it has no room, or is one that merge made,
// which may be large.
func (b *BufReader) rewind() {
	if b.regular() && b.reusable() {
		b.r, b.w = 0, 0
	} else if b.merged || len(b.buf)-b.w < b.least() {
		b.giveUpFront()
	}
}

// vacateFront empties a front without unread bytes, for a read that needs none. It is
// kept for the next read, unless it may not be used again or the wait needs no block.
func (b *BufReader) vacateFront() {
	if b.raw != nil || !b.regular() || !b.reusable() {
		b.giveUpFront()
		return
	}
	b.r, b.w = 0, 0
	b.dropHeld() // as reusable says, no views are held
}

// giveUpFront lets go of a front without unread bytes, or whose unread bytes were
// copied.
func (b *BufReader) giveUpFront() {
	b.retireFront()
	if !b.HoldViews {
		b.dropHeld()
	}
	b.forgetViews() // of a front that nobody had views of, too
}

// pull asks the source for bytes until it has some. It returns n > 0 with a nil
// error, and keeps an error that came along for later; or 0 and the error. Who
// calls it defers guard.
func (b *BufReader) pull(p []byte) (int, error) {
	b.pulling = true
	n, err := b.src.Read(p)
	for range maxEmptyReads {
		if n != 0 || err != nil {
			break
		}
		n, err = b.src.Read(p)
	}
	b.pulling = false
	if uint(n-1) < uint(len(p)) {
		b.total += int64(n)
		b.err = err
		return n, nil
	}
	switch {
	case n != 0:
		err = invalidRead(n, len(p))
	case err == nil:
		err = io.ErrNoProgress
	}
	return 0, err
}

// guard gives all memory back if the source panicked, and the panic goes on.
func (b *BufReader) guard() {
	if b.pulling {
		b.pulling = false
		b.giveBack()
	}
}

// chain makes n bytes available, in as many blocks as they come in. Who calls it
// defers guard, and lets short name the end of the stream. It is inlined, for which
// more is a parameter, as in nextByte.
func (b *BufReader) chain(n int, more func(*BufReader) error) error {
	for b.Buffered() < n {
		if err := more(b); err != nil {
			return err
		}
	}
	return nil
}

// short names the end of the stream for what is left unread by a request that it
// cannot satisfy.
func (b *BufReader) short(err error) error { return truncated(err, b.Buffered()) }

// truncated names the end of the stream behind done bytes of a request.
func truncated(err error, done int) error {
	if err == io.EOF && done > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take removes n bytes, all present, and returns where they are: one view for
// each block. The list is reused by the next call.
func (b *BufReader) take(n int) [][]byte {
	b.forgetViews()
	for n > 0 {
		if b.r == b.w {
			b.popFront()
		}
		k := min(n, b.w-b.r)
		b.views = append(b.views, b.buf[b.r:b.r+k:b.r+k])
		b.r += k
		n -= k
	}
	return b.views
}

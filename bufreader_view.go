package gomem

import (
	"errors"
	"slices"
)

// Peek returns the next n bytes without consuming them: one contiguous view,
// valid until the next call on the reader.
//
// Requires 0 <= n <= MaxFrameBytes. Like bufio's Peek it returns the bytes that
// have arrived together with the error, [io.EOF] included: bytes with io.EOF mean that
// the input ended within what was asked for. [ErrInvalidSize], [*LimitError] and a lack
// of memory to join the bytes come without any. O(1) when the bytes lie in one block;
// otherwise they are copied, each a few times if results overlap in small steps. Beyond
// seven eighths of BufLen such steps move what is unread, as with bufio. Allocates a
// block when the bytes fit in no other.
func (b *BufReader) Peek(n int) ([]byte, error) { return b.ahead(n, (*BufReader).peekSlow) }

// ahead is the fast path of Peek, with the slow path as a parameter, as in nextByte.
func (b *BufReader) ahead(n int, out func(*BufReader, int) ([]byte, error)) (p []byte, err error) {
	if uint(n) > uint(b.w-b.r) || n > b.MaxFrameBytes {
		return out(b, n)
	}
	p = b.buf[b.r : b.r+n : b.r+n]
	return
}

func (b *BufReader) peekSlow(n int) ([]byte, error) {
	if err := b.checkFrame("Peek", n); err != nil {
		return nil, err
	}
	b.settle()
	err := b.flat(n)
	if err == nil {
		return b.buf[b.r : b.r+n : b.r+n], nil
	}
	have := b.Buffered()
	if have >= n { // there is no memory to join them
		return nil, err
	}
	if have > b.w-b.r {
		if merr := b.merge(have); merr != nil {
			return nil, errors.Join(err, merr)
		}
	}
	return b.buf[b.r:b.w:b.w], err
}

// Next consumes n bytes and returns them as one contiguous view, valid until the
// next call on the reader.
//
// Requires 0 <= n <= MaxFrameBytes. On error nothing is consumed:
// [io.ErrUnexpectedEOF] or [io.EOF] if there are not n bytes, [ErrInvalidSize],
// [*LimitError], or the source's. The cost is that of Peek.
func (b *BufReader) Next(n int) ([]byte, error) { return b.consume(n, (*BufReader).nextSlow) }

// consume is the fast path of Next, with the slow path as a parameter, as in nextByte.
func (b *BufReader) consume(n int, out func(*BufReader, int) ([]byte, error)) (p []byte, err error) {
	if uint(n) > uint(b.w-b.r) || n > b.MaxFrameBytes {
		return out(b, n)
	}
	p = b.buf[b.r : b.r+n : b.r+n]
	b.r += n
	return
}

func (b *BufReader) nextSlow(n int) ([]byte, error) { return b.flatView("Next", n) }

// flatView consumes n bytes and returns them as one view.
func (b *BufReader) flatView(op string, n int) ([]byte, error) {
	if err := b.checkFrame(op, n); err != nil {
		return nil, err
	}
	if b.w-b.r < n {
		b.settle()
		if err := b.flat(n); err != nil {
			return nil, b.short(err)
		}
	}
	v := b.buf[b.r : b.r+n : b.r+n]
	b.r += n
	return v, nil
}

// ReadRange consumes n bytes and passes them to yield where they lie: as a single
// view, or as one for each block, in order and never empty. The views are valid
// until the next call on the reader, which yield must not make. Nothing is
// copied. A nil yield consumes them only.
//
// On error nothing is consumed and yield is not called: [io.ErrUnexpectedEOF] or
// [io.EOF] if there are not n bytes, [ErrInvalidSize], or the source's. If yield
// panics, the n bytes count as read and the reader continues after them.
//
// More than MaxFrameBytes (without that limit, more than DefaultMaxFrameBytes) are not
// held together: they stream through one block as they arrive, and each view is valid
// only until yield returns. After an error, or a panic of yield, the bytes that yield was
// called with are consumed. Up to that limit all n bytes are held before the first call
// of yield: to pass a body on as it arrives, use [BufReader.CopyN].
//
// O(blocks) besides the source; allocates a block only when the bytes span blocks.
func (b *BufReader) ReadRange(n int, yield func([]byte)) error {
	return b.give(n, yield, (*BufReader).rangeSlow)
}

// give is the fast path of ReadRange, with the slow path as a parameter, as in nextByte.
func (b *BufReader) give(n int, yield func([]byte), out func(*BufReader, int, func([]byte)) error) error {
	if uint(n-1) >= uint(b.w-b.r) || yield == nil {
		return out(b, n, yield)
	}
	b.r += n
	yield(b.buf[b.r-n : b.r : b.r])
	return nil
}

func (b *BufReader) rangeSlow(n int, yield func([]byte)) error {
	if n <= 0 {
		if n < 0 {
			return invalidSize("ReadRange", n)
		}
		return nil
	}
	if yield == nil {
		yield = func([]byte) {}
	}
	limit := b.MaxFrameBytes
	if limit <= 0 {
		limit = DefaultMaxFrameBytes
	}
	if n > limit {
		return b.stream(n, yield)
	}
	defer b.guard()
	b.settle()
	if err := b.chain(n, (*BufReader).more); err != nil {
		return b.short(err)
	}
	if r := b.r; n <= b.w-r {
		b.r = r + n
		yield(b.buf[r : r+n : r+n])
		return nil
	}
	for _, v := range b.take(n) {
		yield(v)
	}
	return nil
}

// stream passes n bytes to yield through one block.
func (b *BufReader) stream(n int, yield func([]byte)) error {
	defer b.guard()
	since := b.sight()
	for left := n; left > 0; {
		b.settle()
		b.unseen(since)
		if b.r == b.w {
			if err := b.more(); err != nil {
				b.passed(since)
				return truncated(err, n-left)
			}
		}
		v := b.buf[b.r:b.w]
		v = v[:min(len(v), left)]
		b.r += len(v)
		left -= len(v)
		yield(v[:len(v):len(v)])
	}
	b.passed(since)
	return nil
}

// ReadBytes consumes n bytes and returns them as a chain of views. The views, and
// the list of buffers itself, are valid until the next call on the reader, or with
// HoldViews until Release. Up to BufLen bytes come as exactly one view, more as one
// for each block they lie in. Use ReadShared for bytes that must live longer.
//
// Requires 0 <= n <= MaxFrameBytes; errors as for Next, with nothing consumed. Up
// to BufLen the cost is that of Peek; beyond, O(blocks) besides the source,
// without a copy. With HoldViews it allocates the list.
func (b *BufReader) ReadBytes(n int) (Memory, error) {
	if n <= b.blockLen() {
		v, err := b.flatView("ReadBytes", n)
		if err != nil {
			return Memory{}, err
		}
		b.forgetViews()
		b.views = append(b.views, v)
	} else {
		if err := b.want("ReadBytes", n); err != nil {
			return Memory{}, err
		}
		b.take(n)
	}
	v := b.views
	if b.HoldViews { // the next call makes its list there
		v = slices.Clone(v)
	}
	return Memory{Size: n, Buffers: v[:len(v):len(v)]}, nil
}

// want makes n bytes available in any number of blocks.
func (b *BufReader) want(op string, n int) error {
	if err := b.checkFrame(op, n); err != nil {
		return err
	}
	b.settle()
	defer b.guard()
	return b.short(b.chain(n, (*BufReader).more))
}

// ReadShared consumes n bytes and returns them as shared memory, valid until its
// last Release whatever the reader does, even after Recycle. Nothing is copied; a
// frame that spans two blocks costs one more reference.
//
// To change the bytes before they are shared, such as to unmask them, write to the view
// of a Peek(n) that did not fail: ReadShared(n) then returns what the view holds, and
// does not fail either.
//
// A frame pins everything that was read into its blocks, so keeping a few bytes for
// long may cost up to BufLen: copy those instead. Requires 0 <= n <= MaxFrameBytes;
// errors as for Next, with nothing consumed. O(blocks) besides the source;
// allocates nothing once the program has a pool of handles, except for a frame in more
// than 1,025 blocks (16 MiB at the default size).
func (b *BufReader) ReadShared(n int) (*SharedMemory, error) {
	b.shares = true
	if uint(n-1) >= uint(b.w-b.r) || n > b.MaxFrameBytes {
		if err := b.want("ReadShared", n); err != nil {
			return nil, err
		}
		if n > b.w-b.r {
			return b.shareBlocks(n), nil
		}
	}
	if n == 0 {
		return emptyFrame(), nil
	}
	s := b.front.handle()
	r := b.r
	b.r = r + n
	s.size, s.view[0] = n, b.buf[r:r+n:r+n]
	s.refs = 1
	return s, nil
}

// emptyFrame makes a handle that keeps no block.
func emptyFrame() *SharedMemory {
	b := newBlock(nil, nil, true)
	s := b.handle()
	s.refs, s.size = 1, 0
	b.leave(0)
	return s
}

// shareBlocks makes a handle for n bytes that do not lie in the front alone.
func (b *BufReader) shareBlocks(n int) *SharedMemory {
	s := b.front.handle()
	p := &s.home.across
	p.room(b.parts(n))
	s.size = n
	for n > 0 {
		if b.r == b.w {
			b.popFront()
			b.front.granted++
			p.blocks = append(p.blocks, b.front)
		}
		k := min(n, b.w-b.r)
		p.views = append(p.views, b.buf[b.r:b.r+k:b.r+k])
		b.r += k
		n -= k
	}
	s.refs = 1
	return s
}

// parts is in how many blocks the next n bytes lie, all present.
func (b *BufReader) parts(n int) int {
	parts := 1
	for left := n - (b.w - b.r); left > 0; parts++ {
		s := &b.queue.list()[parts-1]
		left -= s.w - s.r
	}
	return parts
}

// ReadString consumes n bytes and returns a copy of them, owned by the caller.
//
// Requires 0 <= n <= MaxFrameBytes; errors as for Next, with nothing
// consumed. O(n); allocates the string after the bytes have arrived.
func (b *BufReader) ReadString(n int) (string, error) {
	since := b.sight()
	if err := b.want("ReadString", n); err != nil {
		return "", err
	}
	s := joined(b.take(n), n)
	b.passed(since)
	return s, nil
}

// joined copies n bytes of views into a string.
func joined(views [][]byte, n int) string {
	if len(views) == 1 {
		return string(views[0])
	}
	p := make([]byte, 0, n)
	for _, v := range views {
		p = append(p, v...)
	}
	return unsafeString(p)
}

package gomem

import (
	"io"
	"net"
	"sync"
)

// Defaults of a reader, chosen so that a public server can keep them.
const (
	// DefaultBufLen is the size of a block in bytes. 16 KiB takes a full TLS
	// record or a burst of TCP segments in one system call.
	DefaultBufLen = 16 << 10
	// DefaultMaxLineBytes bounds a line, its ending included.
	DefaultMaxLineBytes = 64 << 10
	// DefaultMaxHeaderBytes bounds a whole MIME header.
	DefaultMaxHeaderBytes = 256 << 10
	// DefaultMaxFrameBytes bounds what one call may hold in memory: 16 MiB, the
	// reach of the 24-bit lengths of FLV and RTMP.
	DefaultMaxFrameBytes = 16 << 20

	minBufLen = 16 // below that a number could not be read in place
)

// readerMemory is where readers take their blocks unless told otherwise. It is
// one for all, so that a block one connection gives back serves the next.
var readerMemory = sync.OnceValue(func() *ScalableMemoryAllocator {
	return NewScalableMemoryAllocator(1 << 20)
})

// BufReader reads a stream in place: the source writes into blocks of an
// allocator, and the methods hand out slices of those blocks instead of copies.
//
//	front block            queue                    (oldest → newest)
//	[ done | unread ]  →  [ unread ]  →  [ unread | free ]
//	       r        w
//
// # How long a result lives
//
// A view (ReadRange, ReadBytes, Peek, Next, ReadSlice, ReadUntil) is valid until
// the next call that reads, peeks or skips, and until Recycle or Reset; with
// HoldViews it is valid until Release. Its holder may write to it, up to its
// length; append copies. What must live longer is read with ReadShared: valid
// until its last Release. Strings, numbers and headers are copies, owned by the
// caller.
//
// # All or nothing
//
// A method that asks for n bytes takes all of them, or returns an error and
// takes none: [io.EOF] when the stream ended before the first, and
// [io.ErrUnexpectedEOF] when it ended inside. The bytes that were there stay and
// can still be read. Read, Skip, Discard, WriteTo and a ReadRange beyond
// MaxFrameBytes work through the stream instead, and say how far they came. Bytes
// that arrive together with an error are delivered before the error, and an error
// is delivered once: after a timeout the next call reads on.
//
// # Memory
//
// A reader without unread bytes or views that are in use, whose blocks nobody shares,
// holds at most one block. On a *net.TCPConn or *net.UnixConn under Unix it holds none
// while it waits for data: an idle connection costs no buffer. On other sources the
// block must be there before the wait begins. If the source panics, the blocks are
// given back and the panic goes on.
//
// The source is given room for an eighth of BufLen or more with each read, unless
// that completes a contiguous result (Peek, Next, ReadBytes) which takes up the
// rest of its block.
//
// The zero value has no source: its reads fail with [ErrRecycled] until Reset.
//
// A BufReader is used by one goroutine at a time; what ReadShared returns, and
// the allocator, may be used by any.
type BufReader struct {
	// Allocator gives the blocks. One for the whole program is preset; nil takes
	// them from the Go heap. May be changed at any time, blocks return to where
	// they came from.
	Allocator *ScalableMemoryAllocator
	// BufLen is the size of a block in bytes; zero or less means DefaultBufLen.
	BufLen int
	// Mouth is the channel given to NewBufReaderChan, else nil. Recycle closes it.
	Mouth chan []byte

	// MaxLineBytes bounds ReadLine and ReadSlice, MaxHeaderBytes bounds
	// ReadMIMEHeader, MaxFrameBytes bounds what Peek, Next, ReadBytes, ReadString
	// and ReadShared may ask for. Zero means the default, less than zero no limit.
	MaxLineBytes, MaxHeaderBytes, MaxFrameBytes int

	// HoldViews makes views valid until Release instead of until the next read,
	// the contract of bufiox.Reader. Set it before reading. Until Release all blocks
	// that were read are then held, but for those that a single call read which gives
	// no view of them: Skip, Discard, WriteTo, ReadNto, ReadBinary, ReadString,
	// ReadLine, and a ReadRange beyond MaxFrameBytes. Whoever reads by small calls
	// without views, as ReadByte, still calls Release now and then.
	HoldViews bool

	buf     []byte // memory of the front block; buf[r:w] is unread
	r, w    int
	front   *sharedBlock // nil: none held, then buf is nil and r == w == 0
	queue   segments     // blocks behind the front; not empty only if bytes are unread in them
	queued  int          // unread bytes in queue
	held    []heldBlock  // blocks that are read out, but may have views
	src     io.Reader    // the source, or nil
	feed    feeder       // the channel, or nil
	raw     *rawSource   // src again, where it can wait without a buffer
	pulling bool         // the source is running
	err     error        // arrived with bytes; delivered after them
	total   int64        // bytes taken from the source
	mark    int64        // total read when Release was last called
	views   [][]byte     // scratch of take
	shares  bool         // ReadShared was called
}

// segment is a block with its unread part.
type segment struct {
	blk  *sharedBlock
	r, w int
}

// heldBlock is a block that is read out, and how much of it was used.
type heldBlock struct {
	blk  *sharedBlock
	used int
}

// NewBufReader makes a reader over r with blocks of [DefaultBufLen].
//
// Recycle gives its memory back. O(1); the first block is taken with the first read.
func NewBufReader(r io.Reader) *BufReader {
	return NewBufReaderWithBufLen(r, DefaultBufLen)
}

// NewBufReaderWithBufLen makes a reader over r with blocks of bufLen bytes; any
// size works, zero or less means [DefaultBufLen], and less than 16 counts as 16.
//
// Recycle gives its memory back. O(1); the first block is taken with the first read.
func NewBufReaderWithBufLen(r io.Reader, bufLen int) *BufReader {
	b := newReader(bufLen)
	b.setSource(r)
	return b
}

// NewBufReaderChan makes a reader over the packets sent to feed. They become the
// blocks: nothing is copied unless a contiguous result spans packets, or packets of
// at most 512 bytes wait behind others, which are put together in blocks of 2 KiB, so
// that a peer that sends single bytes does not make each of them cost a block. The
// sender gives a packet away with the send. A closed channel is the end of the
// stream; an empty packet is none.
//
// Recycle closes feed. O(1).
func NewBufReaderChan(feed chan []byte) *BufReader {
	b := newReader(DefaultBufLen)
	if feed != nil {
		b.Mouth, b.feed = feed, packetFeed(feed)
	}
	return b
}

// NewBufReaderBuffersChan is like [NewBufReaderChan] for lists of packets; the
// sender gives away the packets, the list is only read. Recycle does not close
// feed, its sender does.
func NewBufReaderBuffersChan(feed chan net.Buffers) *BufReader {
	b := newReader(DefaultBufLen)
	if feed != nil {
		b.feed = buffersFeed(feed)
	}
	return b
}

func newReader(bufLen int) *BufReader {
	if bufLen <= 0 {
		bufLen = DefaultBufLen
	}
	return &BufReader{
		Allocator:      readerMemory(),
		BufLen:         bufLen,
		MaxLineBytes:   DefaultMaxLineBytes,
		MaxHeaderBytes: DefaultMaxHeaderBytes,
		MaxFrameBytes:  DefaultMaxFrameBytes,
	}
}

func (b *BufReader) setSource(r io.Reader) {
	b.src, b.raw = r, newRawSource(r)
}

// Reset gives the reader another source, as for the next connection: what was
// unread is dropped, views die, shared memory lives on. The settings stay, a
// channel is left open and forgotten. It also revives a recycled reader, and
// readies a zero BufReader, which takes its blocks from the Go heap.
//
// O(blocks held), allocates only what watching a *net.TCPConn or *net.UnixConn needs.
func (b *BufReader) Reset(r io.Reader) {
	b.giveBack()
	b.feed, b.Mouth = nil, nil
	b.err, b.total, b.mark = nil, 0, 0
	b.setSource(r)
}

// Recycle ends the use of the reader: blocks return to their allocator, views
// die, shared memory lives on until its last Release, Mouth is closed unless it
// is closed already. Whoever sends to Mouth must have stopped. Every read fails
// with [ErrRecycled] until Reset. Calling it again does nothing. O(blocks held).
func (b *BufReader) Recycle() {
	b.giveBack()
	feed := b.feed
	b.src, b.raw, b.feed, b.err = nil, nil, nil, nil
	if feed != nil {
		feed.close()
	}
}

// Release ends the life of all views handed out so far and sets ReadLen to 0;
// unread bytes stay. Needed only with HoldViews. It satisfies bufiox.Reader, so
// the argument is ignored and the result is nil. O(blocks held).
func (b *BufReader) Release(error) error {
	b.dropHeld()
	if b.HoldViews && b.r == b.w && b.front != nil && b.front.solo() {
		b.r, b.w = 0, 0
	}
	b.mark = b.total - int64(b.Buffered())
	return nil
}

// ReadLen is the number of bytes read since the last Release. O(1).
func (b *BufReader) ReadLen() int { return int(b.total - int64(b.Buffered()) - b.mark) }

// Buffered is the number of bytes that can be read without asking the source. O(1).
func (b *BufReader) Buffered() int { return b.w - b.r + b.queued }

// TotalRead is the number of bytes taken from the source since it was set; less
// Buffered, it is the position in the stream. O(1).
func (b *BufReader) TotalRead() int64 { return b.total }

// giveBack lets go of every block.
func (b *BufReader) giveBack() {
	b.dropHeld()
	if b.front != nil {
		b.front.leave(b.w)
	}
	for !b.queue.empty() {
		s := b.queue.pop()
		s.blk.leave(s.w)
	}
	b.front, b.buf, b.r, b.w, b.queued = nil, nil, 0, 0, 0
	clear(b.views[:cap(b.views)])
}

// dropHeld ends the views of read-out blocks.
func (b *BufReader) dropHeld() {
	for i, h := range b.held {
		h.blk.leave(h.used)
		b.held[i] = heldBlock{}
	}
	b.held = b.held[:0]
}

// sight is where a call begins that gives no view beyond its end.
type sight struct {
	front *sharedBlock
	held  int
}

// sight marks what views may be of: the front and what is held. There are none of the
// queue, for a block gets there without having been read, or by merge, which looks
// at it alone.
func (b *BufReader) sight() sight { return sight{b.front, len(b.held)} }

// unseen lets go of the blocks that were read out since, without a view of them.
//
// A block that came later than the one that was the front has another header, as that
// is held by then, and is not in use elsewhere; or it is held for longer than needed.
func (b *BufReader) unseen(since sight) {
	if len(b.held) > since.held {
		b.dropUnseen(since)
	}
}

func (b *BufReader) dropUnseen(since sight) {
	n := since.held
	for i := n; i < len(b.held); i++ {
		h := b.held[i]
		b.held[i] = heldBlock{}
		if h.blk == since.front {
			b.held[n] = h
			n++
		} else {
			h.blk.leave(h.used)
		}
	}
	b.held = b.held[:n]
}

func limitOf(field, preset int) int {
	switch {
	case field > 0:
		return field
	case field < 0:
		return int(^uint(0) >> 1)
	}
	return preset
}

// checkFrame refuses a size that a method may not hold in memory.
func (b *BufReader) checkFrame(op string, n int) error {
	if n < 0 {
		return ErrInvalidSize
	}
	if limit := limitOf(b.MaxFrameBytes, DefaultMaxFrameBytes); n > limit {
		return &LimitError{Op: op, Limit: "MaxFrameBytes", Max: limit, Size: n}
	}
	return nil
}

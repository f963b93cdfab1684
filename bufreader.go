package gomem

import (
	"io"
	"net"
	"sync"
)

// The defaults of a reader, chosen to be safe for a public server.
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

// readerMemory is where readers take their blocks unless told otherwise. All
// share it, so that a block that one connection gives back serves the next.
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
// A view (from ReadRange, ReadBytes, Peek, Next, ReadSlice or ReadUntil) is
// valid until the next call that reads, peeks or skips, and until Recycle or
// Reset; with HoldViews it is valid until Release, as is the list of ReadBytes. Its
// holder may write to it, up to its length; append copies. Use ReadShared for bytes
// that must live longer: they are valid until their last Release. Strings, numbers
// and headers are copies, owned by the caller.
//
// # All or nothing
//
// A method that asks for n bytes consumes all of them, or returns an error and
// consumes none: [io.EOF] if the stream ended before the first byte, and
// [io.ErrUnexpectedEOF] if it ended within them. The bytes that have arrived can
// still be read. Read, Skip, Discard, WriteTo, CopyN and a ReadRange beyond MaxFrameBytes
// instead consume bytes as they arrive, even those before an error. Bytes that arrive
// together with an error are delivered before the error, and an error is delivered once:
// after a timeout the next call reads on.
//
// # Memory
//
// While it waits for its source, a reader holds at most one block if it has no unread
// bytes, no views in use and no blocks with live frames. On a *net.TCPConn or
// *net.UnixConn under Unix it holds none: an idle connection costs no buffer. On other
// sources the block must be there before the wait begins. After an error, such as io.EOF,
// it holds none, whatever the source. Blocks under views of earlier calls are given back
// before the wait; a call that finds all it needs in the front block keeps them. If the
// source panics, the blocks are given back and the panic continues.
//
// Each read of the source gets room for an eighth of BufLen or more, unless it is for
// a contiguous result (Peek, Next, ReadBytes) of more than seven eighths of BufLen: then
// it gets what is left of the block.
//
// The zero value has no source: until Reset every read of a byte or more fails with
// [ErrRecycled].
//
// A BufReader must not be copied. It is for one goroutine at a time, and its source
// must not use it from within Read; any goroutine may use the results of ReadShared and
// the allocator.
type BufReader struct {
	// Allocator supplies the blocks. The default is one allocator for the whole
	// program, which nobody may recycle or close; nil means the Go heap. It may be
	// changed at any time: blocks return to where they came from. What others take
	// from it is theirs to free.
	Allocator *ScalableMemoryAllocator
	// BufLen is the size of a block in bytes; zero or less means DefaultBufLen, and less
	// than 16 counts as 16.
	BufLen int
	// Mouth is the channel given to NewBufReaderChan, else nil. Recycle closes it.
	Mouth chan []byte

	// MaxLineBytes bounds ReadLine and ReadSlice, MaxHeaderBytes bounds
	// ReadMIMEHeader, MaxFrameBytes bounds what Peek, Next, ReadBytes, ReadString
	// and ReadShared may ask for. Zero means the default, less than zero no limit.
	MaxLineBytes, MaxHeaderBytes, MaxFrameBytes int

	// HoldViews makes views, and the lists of ReadBytes, valid until Release instead of
	// until the next read, as bufiox.Reader requires. Set it before reading. All blocks
	// that were read are then held until Release, except those read entirely within one
	// call that returns no views of them: Skip, Discard, WriteTo, CopyN, ReadNto,
	// ReadBinary, ReadString, ReadLine, and a ReadRange beyond MaxFrameBytes. A program
	// that reads by small calls without views, such as ReadByte, must still call Release
	// now and then.
	HoldViews bool

	_       [0]sync.Mutex // so that go vet reports copies
	buf     []byte        // memory of the front block; buf[r:w] is unread
	r, w    int
	front   *sharedBlock // nil: none held, then buf is nil and r == w == 0
	queue   segments     // blocks behind the front; not empty only if bytes are unread in them
	queued  int          // unread bytes in queue
	held    []heldBlock  // blocks that are read out, but may have views
	src     io.Reader    // the source, or nil
	feed    feeder       // the channel, or nil
	raw     *rawSource   // src again, where it can wait without a buffer
	pulling bool         // the source is running
	merged  bool         // widen made the front, for one request
	err     error        // arrived with bytes; delivered after them
	total   int64        // bytes taken from the source
	mark    int64        // total read when Release was last called
	plain   int64        // where in the stream a call without views ended, see viewless
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
// r must be a stream. If r cuts off what does not fit, as a UDP connection does, a part
// of a message may be lost: send such messages to a reader from [NewBufReaderChan].
//
// Recycle gives its memory back: defer it. A reader that is dropped without Recycle,
// before it has returned an error or with bytes unread, leaks its blocks.
//
// While it waits on anything but a plain TCP or Unix connection, such as TLS or a
// wrapper, a reader keeps a block: where many readers are idle, use
// [NewBufReaderWithBufLen] with blocks of 4096 bytes. O(1); the first block is taken with
// the first read.
func NewBufReader(r io.Reader) *BufReader {
	return NewBufReaderWithBufLen(r, DefaultBufLen)
}

// NewBufReaderWithBufLen makes a reader over r with blocks of bufLen bytes; any
// size works, zero or less means [DefaultBufLen], and less than 16 counts as 16.
//
// Recycle gives its memory back, see [NewBufReader]. O(1); the first block is taken with
// the first read.
func NewBufReaderWithBufLen(r io.Reader, bufLen int) *BufReader {
	b := newReader(bufLen)
	b.setSource(r)
	return b
}

// NewBufReaderChan makes a reader over the packets sent to feed. The packets become
// the blocks: nothing is copied unless a contiguous result spans packets, or packets
// of at most 512 bytes wait behind others. Those are gathered in blocks of 2 KiB, so
// that single bytes from a peer do not cost a block each. Sending a packet gives it
// away. A closed channel is the end of the stream; an empty packet is not.
//
// Recycle closes feed. O(1).
func NewBufReaderChan(feed chan []byte) *BufReader {
	b := newReader(DefaultBufLen)
	if feed != nil {
		b.Mouth, b.feed = feed, packetFeed(feed)
	}
	return b
}

// NewBufReaderBuffersChan is like [NewBufReaderChan] for lists of packets. The
// sender gives away the packets; the list itself is only read. Recycle does
// not close feed: its sender does.
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

// Reset gives the reader another source, such as the next connection. Unread
// bytes are dropped, views end, shared memory lives on. The settings stay; a
// channel is forgotten, but not closed. Reset also makes a recycled reader
// usable again, and a zero BufReader, which takes its blocks from the Go
// heap.
//
// O(blocks held), allocates only what it takes to watch a *net.TCPConn or
// *net.UnixConn.
func (b *BufReader) Reset(r io.Reader) {
	b.giveBack()
	b.feed, b.Mouth = nil, nil
	b.err, b.total, b.mark, b.plain = nil, 0, 0, 0
	b.setSource(r)
}

// Recycle ends the use of the reader: blocks return to their allocator, views
// end, shared memory lives on until its last Release, and Mouth is closed unless
// it is closed already. Nobody may send to Mouth any more. Every read of a byte or more
// fails with [ErrRecycled] until Reset. Calling Recycle again does nothing. O(blocks held).
//
// While another goroutine reads, the source may be writing into a block: close the source
// or the channel, and Recycle where that read returns.
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
	b.forgetViews()
	if b.HoldViews && b.r == b.w && b.front != nil && b.front.solo() {
		b.r, b.w = 0, 0
		if !b.regular() { // made for one request, or a packet
			b.giveUpFront()
		}
	}
	b.mark = b.total - int64(b.Buffered())
	return nil
}

// ReadLen is the number of bytes read since the last Release, less those that
// UnreadByte put back: below zero if they had been read before it. O(1).
func (b *BufReader) ReadLen() int { return int(b.total - int64(b.Buffered()) - b.mark) }

// Buffered is the number of bytes that can be read without asking the source. O(1).
func (b *BufReader) Buffered() int { return b.w - b.r + b.queued }

// TotalRead is the number of bytes taken from the source since it was set.
// TotalRead minus Buffered is the position in the stream. O(1).
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
	b.front, b.buf, b.r, b.w, b.queued, b.merged = nil, nil, 0, 0, 0, false
	b.forgetViews()
	b.shrink()
}

// keptLists is how many blocks the lists of a reader that waits or was recycled have room
// for at most: as many as append makes room for on the way to those of a frame of 1 MiB.
const keptLists = 128

// shrink leaves the lists that a large frame needed to the garbage collector.
func (b *BufReader) shrink() {
	if len(b.held) == 0 && cap(b.held) > keptLists {
		b.held = nil
	}
	if len(b.views) == 0 && cap(b.views) > keptLists {
		b.views = nil
	}
	if b.queue.empty() && cap(b.queue.all) > keptLists {
		b.queue.all = nil
	}
}

// dropHeld ends the views of read-out blocks.
func (b *BufReader) dropHeld() {
	if len(b.held) == 0 {
		return
	}
	for i, h := range b.held {
		h.blk.leave(h.used)
		b.held[i] = heldBlock{}
	}
	b.held = b.held[:0]
	b.forgetViews()
}

// forgetViews clears the list of take, which would keep packets, and blocks of the Go
// heap, that are read out.
func (b *BufReader) forgetViews() {
	clear(b.views)
	b.views = b.views[:0]
}

// sight is where a call begins that gives no view beyond its end.
type sight struct {
	front *sharedBlock
	held  int
}

// sight marks what views may be of: the front and what is held. There are none of the
// queue, for a block gets there without having been read, and merge looks at it alone.
func (b *BufReader) sight() sight {
	if b.viewless() {
		return sight{nil, len(b.held)}
	}
	return sight{b.front, len(b.held)}
}

// viewless reports that there is no view of the front, which is read out: nothing was
// in it, or calls without views alone read it, so that the last one ended here. A view
// takes bytes, and so moves on, or leaves bytes unread. What was read and becomes unread
// again makes the place void.
func (b *BufReader) viewless() bool {
	return b.r == b.w && (b.w == 0 || b.total-int64(b.queued) == b.plain)
}

// passed ends a call that gave no view. It lets go of what was read out since, and
// remembers if the same is true of the front.
func (b *BufReader) passed(since sight) {
	b.unseen(since)
	if b.r == b.w && b.front != since.front {
		b.plain = b.total - int64(b.queued)
	}
}

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
	b.forgetViews()
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
		return invalidSize(op, n)
	}
	if limit := limitOf(b.MaxFrameBytes, DefaultMaxFrameBytes); n > limit {
		return &LimitError{Op: op, Limit: "MaxFrameBytes", Max: limit, Size: n}
	}
	return nil
}

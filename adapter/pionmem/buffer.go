// Package pionmem gives pion, the WebRTC stack, queues for received packets whose memory
// is what is in them. Each packet is a block of a gomem allocator that all streams share,
// and is freed when it is read. Pion's own queue, [packetio.Buffer], is a ring for each
// stream that grows and never shrinks.
//
//	packets := gomem.NewScalableMemoryAllocator(1<<20,
//		gomem.WithBacking(backing.Mmap()), // outside the Go heap
//		gomem.WithMaxBytes(256<<20))       // of all streams together
//	var settings webrtc.SettingEngine
//	settings.BufferFactory = pionmem.Factory(packets)
//	api := webrtc.NewAPI(webrtc.WithSettingEngine(settings))
//
// It requires webrtc v4.2.21 or srtp v3.1.0, the first ones on transport/v5, and adds no
// module but gomem to a program that has one of them. Before, the factory has another type.
//
// # Cost
//
// A packet takes 1.0 to 1.2 of the time that it takes in pion's queue if up to 100 are
// queued, 1.5 if 1,000 are. 1,000 streams that are idle after each had 200 packets of 1,200 bytes
// hold 0.006 of the memory that pion's queues hold, and 0.07 with ten packets each:
// BenchmarkPacket and BenchmarkHeld measure it.
//
// # Traps
//
//   - Packets that nobody reads stay queued, also after Close: up to 1 MB of a track that
//     is not read, and 100 kB where RTCP is not. When a connection ends pion forgets such
//     queues, and closes none with an srtp session. Their packets are freed once the
//     collector finds them; so they stay as long as the program refers to the session.
//   - A test that checks for leaks at its end, as package gomemtest does, must read each
//     stream until io.EOF before, or drop the connection and call runtime.GC until
//     nothing is live.
//   - Close or Recycle the allocator after the last queue, if at all: reading a packet of
//     a closed one faults if its memory was mapped, and its free is reported as misuse. A
//     program that only ends needs neither.
//   - If the allocator has no memory, packets are dropped as if the queue were full, which
//     pion does in silence. Streams that nobody reads can use up the limit of all; the
//     allocator's Stats tell how near it is.
package pionmem

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/pion/transport/v5/deadline"
	"github.com/pion/transport/v5/packetio"
)

const (
	framing   = 2         // what Size counts for a packet besides its bytes, as pion's queue does
	maxPacket = 1<<16 - 1 // bytes
	maxSize   = 4<<20 - 1 // bytes, where no limit is set
	rtpSize   = 1_000_000 // the limits that pion sets for queues of its own
	rtcpSize  = 100_000
)

var (
	errTooBig        = errors.New("packet too big")
	errTimeout error = timeoutError{packetio.ErrTimeout}
)

// timeoutError is the net.Error of pion's queue, whose type is not exported.
type timeoutError struct{ error }

func (e timeoutError) Unwrap() error { return e.error }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Factory returns a factory of queues over a, for webrtc.SettingEngine or srtp.Config.
// The queues have the limits of pion's own: 1,000,000 bytes for RTP, 100,000 for RTCP.
// For others, write a function that calls [NewBuffer] and sets them.
//
// Any goroutine may call the factory. It allocates nothing from a.
func Factory(a *gomem.ScalableMemoryAllocator) func(packetio.BufferPacketType, uint32) io.ReadWriteCloser {
	return func(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
		b := NewBuffer(a)
		b.limitSize = rtpSize
		if kind == packetio.RTCPBufferPacket {
			b.limitSize = rtcpSize
		}
		return b
	}
}

// Buffer is a queue of packets, in place of a [packetio.Buffer]. Any goroutine may call
// any method. The zero value is invalid: use [NewBuffer].
type Buffer struct {
	mu     sync.Mutex
	q      *queue // by itself, so that it can be emptied when the Buffer is garbage
	size   int    // bytes, with the framing
	closed bool

	limitCount, limitSize int

	notify   chan struct{} // has room for one: wakes one reader, who wakes the next
	deadline *deadline.Deadline
}

// NewBuffer returns an empty queue whose packets will be blocks of a, with the limit of
// 4 MiB that pion's queue has. If a is nil, they are on the Go heap. It allocates nothing
// from a, and half a KiB on the Go heap; the first packet takes as much again.
func NewBuffer(a *gomem.ScalableMemoryAllocator) *Buffer {
	b := &Buffer{
		q:        &queue{alloc: a},
		notify:   make(chan struct{}, 1),
		deadline: deadline.New(),
	}
	// Pion drops queues that hold packets: it leaves streams open when a session ends,
	// and nobody has to read what was queued at Close.
	runtime.AddCleanup(b, (*queue).drop, b.q)
	return b
}

// Write queues a copy of p, also of an empty one, and returns len(p). It never waits.
//
// The error is [packetio.ErrFull] if a limit is reached, and wraps that and the
// allocator's error if there is no memory: pion drops the packet then. It is
// [io.ErrClosedPipe] after Close, and another one for a packet above 65,535 bytes. On
// error nothing has changed. O(len(p)).
func (b *Buffer) Write(p []byte) (int, error) { return b.WriteWithAttributes(p, nil) }

// WriteWithAttributes is Write for a packet with attributes. The list is copied to the
// Go heap, what its values refer to is not. Pion calls it instead of Write.
func (b *Buffer) WriteWithAttributes(p []byte, attrs packetio.Attributes) (int, error) {
	if len(p) > maxPacket {
		return 0, errTooBig
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	limit := b.limitSize
	if limit <= 0 {
		limit = maxSize
	}
	if b.limitCount > 0 && b.q.count >= b.limitCount || len(p)+framing > limit-b.size {
		return 0, packetio.ErrFull
	}
	data, err := b.q.alloc.TryMalloc(len(p))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", packetio.ErrFull, err)
	}
	copy(data, p)
	b.q.push(data, attrs)
	b.size += len(p) + framing
	b.wake()
	return len(p), nil
}

// wake requires the mutex and an open queue.
func (b *Buffer) wake() {
	select {
	case b.notify <- struct{}{}:
	default:
	}
}

// Read takes the packet that was queued first, copies it to p and returns its length.
// It waits until there is one.
//
// If p is too short it is filled, the rest of the packet is lost, and the error is
// [io.ErrShortBuffer]. The error is [io.EOF] if the queue is closed and empty, and a
// net.Error that wraps [packetio.ErrTimeout] once the deadline has passed, also if there
// are packets. O(len(p)).
func (b *Buffer) Read(p []byte) (int, error) {
	n, _, err := b.ReadWithAttributes(p, nil)
	return n, err
}

// ReadWithAttributes is Read that also returns the attributes of the packet, in attrs if
// they fit there. It clears attrs; without a packet it returns nil. Pion calls it instead
// of Read.
func (b *Buffer) ReadWithAttributes(p []byte, attrs packetio.Attributes) (int, packetio.Attributes, error) {
	clear(attrs)
	select {
	case <-b.deadline.Done():
		return 0, nil, errTimeout
	default:
	}
	for {
		b.mu.Lock()
		if b.q.count > 0 {
			data, attrs := b.q.pop(attrs)
			b.size -= len(data) + framing
			if b.q.count > 0 && !b.closed {
				b.wake()
			}
			alloc := b.q.alloc
			b.mu.Unlock()

			n := copy(p, data)
			short := n < len(data)
			alloc.Free(data)
			if short {
				return n, attrs, io.ErrShortBuffer
			}
			return n, attrs, nil
		}
		closed := b.closed
		b.mu.Unlock()
		if closed {
			return 0, nil, io.EOF
		}
		select {
		case <-b.deadline.Done():
			return 0, nil, errTimeout
		case <-b.notify:
		}
	}
}

// Close ends the queue: Write fails from now on, and Read once the queue is empty.
// Readers that wait are woken. The packets in the queue are freed as they are read, or
// when the Buffer is garbage. Close returns nil, also if called again.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.notify)
	}
	return nil
}

// Count returns the number of packets in the queue.
func (b *Buffer) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.q.count
}

// Size returns the bytes of the packets in the queue, and two more for each, as pion's
// queue counts them. It has nothing to do with what their blocks take.
func (b *Buffer) Size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// SetLimitCount sets how many packets the queue takes; none that are in it are dropped.
// If n is not positive there is no limit.
func (b *Buffer) SetLimitCount(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limitCount = n
}

// SetLimitSize sets how large Size may grow; no packets are dropped. If n is not positive
// the limit is that of [NewBuffer]. Pion's build tag packetioSizeHardlimit changes nothing.
func (b *Buffer) SetLimitSize(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limitSize = n
}

// SetReadDeadline sets when Read gives up, also for those who wait already. The zero time
// means never. It returns nil.
func (b *Buffer) SetReadDeadline(t time.Time) error {
	b.deadline.Set(t)
	return nil
}

package relay

import (
	"net"
	"os"
	"sync"
	"time"
)

// Limits of a subscriber's queue and of one write.
const (
	queueBatches = 512
	writeBytes   = 256 << 10

	// A larger frame still passes, alone. Where the publisher waits, a short queue
	// is enough, and what is in it is still in the processor's cache.
	queueBytes     = 4 << 20
	queueBytesWait = 512 << 10
	stallTimeout   = 10 * time.Second // without a byte taken
	looks          = 8                // in that time
)

// subscriber sends a stream to one connection. The publisher's goroutine offers
// batches, the subscriber's own takes and writes them; between them is a ring
// whose slots each hold a reference.
//
//	offer → [ … | oldest … newest | … ] → take → writev → release
//
// When the ring is full the publisher waits, or in a relay for strangers drops
// batches until one starts with a key frame, so that what arrives can be decoded.
type subscriber struct {
	conn  net.Conn
	wait  bool // a full ring holds the publisher up
	limit int  // of bytes in the ring
	stall time.Duration

	mu       sync.Mutex
	filled   sync.Cond // something to take, or the end
	drained  sync.Cond // room again, or the end
	preamble []byte    // the file header, set once the stream is there
	ring     [queueBatches]*batch
	head, n  int // oldest batch, number of batches
	bytes    int // in the ring
	ended    bool
	closed   bool

	// Below: the publisher's, under the lock of the stream.
	skipping bool // until a key frame
	stale    bool // missed configuration
	joining  bool // what is skipped was never promised
	dropped  int  // frames

	// Below: the writer's.
	taken []*batch
	list  net.Buffers // what taken looks like to writev
	left  net.Buffers // the rest of list; writev consumes it
}

func newSubscriber(conn net.Conn, wait bool, stall time.Duration) *subscriber {
	s := &subscriber{conn: conn, wait: wait, limit: queueBytes, stall: stall}
	if wait {
		s.limit = queueBytesWait
	}
	s.filled.L, s.drained.L = &s.mu, &s.mu
	return s
}

// start gives the subscriber the file header. In a stream that is under way it
// then waits for a key frame.
func (s *subscriber) start(preamble []byte, underWay bool) {
	s.mu.Lock()
	s.preamble = preamble
	s.filled.Signal()
	s.mu.Unlock()
	s.skipping, s.stale, s.joining = underWay, underWay, underWay
}

// offer queues b or drops it, and returns how many frames were dropped. st is
// locked.
func (s *subscriber) offer(st *stream, b *batch) (dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skipping && st.canStart(b.first) {
		s.resume(st, b)
	}
	if !s.skipping && !s.room(1, b.bytes) {
		if s.wait {
			s.waitForRoom(b.bytes)
		} else {
			s.skipping = true
		}
	}
	switch {
	case s.closed:
		return 0
	case !s.skipping:
		s.put(b)
		s.filled.Signal()
		return 0
	}
	s.stale = s.stale || b.first.IsConfig()
	if s.joining {
		return 0
	}
	s.dropped += len(b.frames)
	return len(b.frames)
}

// resume ends the skipping before b, unless there is no room for it and the
// configuration that was missed.
func (s *subscriber) resume(st *stream, b *batch) {
	n, bytes := 1, b.bytes
	if s.stale {
		for _, c := range st.config {
			if c != nil {
				n++
				bytes += c.bytes
			}
		}
	}
	if s.closed || !s.room(n, bytes) {
		return
	}
	if s.stale {
		for _, c := range st.config {
			if c != nil {
				s.put(c)
			}
		}
	}
	s.skipping, s.stale, s.joining = false, false, false
}

// room reports whether n batches fit; an empty ring takes any number of bytes.
func (s *subscriber) room(n, bytes int) bool {
	return s.n == 0 || s.n+n <= queueBatches && s.bytes+bytes <= s.limit
}

// waitForRoom returns when there is room or the subscriber has left.
func (s *subscriber) waitForRoom(bytes int) {
	for !s.closed && !s.room(1, bytes) {
		s.drained.Wait()
	}
}

func (s *subscriber) put(b *batch) {
	b.retain()
	s.ring[(s.head+s.n)%queueBatches] = b
	s.n++
	s.bytes += b.bytes
}

// take moves batches into s.taken, after waiting for some, and returns the file
// header once. Both are empty at the end.
func (s *subscriber) take() (preamble []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.preamble == nil && s.n == 0 && !s.ended && !s.closed {
		s.filled.Wait()
	}
	if s.closed {
		return nil
	}
	preamble, s.preamble = s.preamble, nil
	for bytes := 0; s.n > 0 && bytes < writeBytes; {
		b := s.ring[s.head]
		s.ring[s.head] = nil
		bytes += b.bytes
		s.taken = append(s.taken, b)
		s.head = (s.head + 1) % queueBatches
		s.n--
		s.bytes -= b.bytes
	}
	s.drained.Signal()
	return preamble
}

// end lets the writer finish what is queued.
func (s *subscriber) end() {
	s.mu.Lock()
	s.ended = true
	s.filled.Signal()
	s.mu.Unlock()
}

// close gives back what is queued and refuses more.
func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for ; s.n > 0; s.n-- {
		s.ring[s.head].release()
		s.ring[s.head] = nil
		s.head = (s.head + 1) % queueBatches
	}
	s.bytes = 0
	s.filled.Signal()
	s.drained.Signal()
}

// write sends until the stream ends, nil, or the connection fails. Whatever
// happens, no batch is held afterwards.
func (s *subscriber) write(count *counters) error {
	defer s.close()
	for {
		s.list = s.list[:0]
		if preamble := s.take(); preamble != nil {
			s.list = append(s.list, preamble)
		}
		frames, bytes := 0, 0
		for _, b := range s.taken {
			s.list = append(s.list, b.pieces...)
			frames += len(b.frames)
			bytes += b.bytes
		}
		if len(s.list) == 0 {
			return nil
		}
		err := s.flush()
		for _, b := range s.taken {
			b.release()
		}
		clear(s.taken)
		s.taken = s.taken[:0]
		if err != nil {
			return err
		}
		count.framesOut.Add(int64(frames))
		count.bytesOut.Add(int64(bytes))
	}
}

// flush writes s.list in as few system calls as the kernel allows. A receiver
// may be slow as long as it takes something within s.stall; it is
// not limited where it holds its publisher up.
func (s *subscriber) flush() error {
	s.left = s.list
	for last := time.Now(); ; { // when it took something at the latest
		if !s.wait {
			// Where in this time it took something, the write does not tell.
			if err := s.conn.SetWriteDeadline(time.Now().Add(s.stall / looks)); err != nil {
				return err
			}
		}
		n, err := s.left.WriteTo(s.conn)
		if !os.IsTimeout(err) {
			return err
		}
		if n > 0 {
			last = time.Now()
		} else if time.Since(last) >= s.stall {
			return err
		}
	}
}

// watch waits until the client leaves: a write would find out only when there
// is something to send. What the client says is of no interest. Closing the
// connection ends it.
func (s *subscriber) watch() {
	var scratch [512]byte
	if s.conn.SetReadDeadline(time.Time{}) == nil {
		for {
			if _, err := s.conn.Read(scratch[:]); err != nil {
				break
			}
		}
	}
	s.close()
	s.conn.Close()
}

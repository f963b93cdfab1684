package relay

import (
	"net"
	"os"
	"sync"
	"time"
)

// Limits of a subscriber's queue and of one write.
const (
	queueFrames  = 512
	queueBytes   = 4 << 20 // a larger frame still passes, alone
	batchBytes   = 256 << 10
	stallTimeout = 10 * time.Second // without a byte taken
)

// subscriber sends frames to one connection. The publisher's goroutine offers
// frames, the subscriber's own takes and writes them; between them is a ring
// whose slots each hold a reference.
//
//	offer → [ … | oldest … newest | … ] → take → writev → release
//
// When the ring is full the publisher waits, or in a relay for strangers drops
// frames until the next key frame, so that what arrives can be decoded.
type subscriber struct {
	conn *net.TCPConn
	wait bool // a full ring holds the publisher up

	mu       sync.Mutex
	filled   sync.Cond // something to take, or the end
	drained  sync.Cond // room again, or the end
	preamble []byte    // the file header, set once the stream is there
	ring     [queueFrames]frame
	head, n  int // oldest frame, number of frames
	bytes    int // in the ring
	ended    bool
	closed   bool

	// Below: the publisher's, under the lock of the stream.
	skipping bool   // until a key frame
	stale    bool   // missed configuration
	joining  bool   // what is skipped was never promised
	dropped  uint64 // frames

	// Below: the writer's.
	batch []frame
	list  net.Buffers // what batch looks like to writev
	left  net.Buffers // the rest of list; writev consumes it
}

func newSubscriber(conn *net.TCPConn, wait bool) *subscriber {
	s := &subscriber{conn: conn, wait: wait, batch: make([]frame, 0, queueFrames)}
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

// offer queues what the subscriber should get of frames and returns how many of
// them it dropped. st is locked.
func (s *subscriber) offer(st *stream, frames []frame) (dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range frames {
		f := &frames[i]
		if s.closed {
			return dropped
		}
		if s.skipping && st.canStart(f.kind) {
			s.resume(st, f.size)
		}
		if !s.skipping && !s.room(1, f.size) {
			s.skipping = !s.wait || !s.waitForRoom(f.size)
		}
		if s.skipping {
			s.stale = s.stale || f.kind.IsConfig()
			if !s.joining {
				dropped++
			}
			continue
		}
		s.put(f)
	}
	s.dropped += uint64(dropped)
	if s.n > 0 {
		s.filled.Signal()
	}
	return dropped
}

// resume ends the skipping before a frame of the given size, unless there is no
// room for it and the configuration that was missed.
func (s *subscriber) resume(st *stream, size int) {
	frames := 1
	if s.stale {
		for i := range st.config {
			if c := &st.config[i]; c.size > 0 {
				frames++
				size += c.size
			}
		}
	}
	if !s.room(frames, size) {
		return
	}
	if s.stale {
		for i := range st.config {
			if c := &st.config[i]; c.size > 0 {
				s.put(c)
			}
		}
	}
	s.skipping, s.stale, s.joining = false, false, false
}

func (s *subscriber) room(frames, bytes int) bool {
	return s.n == 0 && frames <= queueFrames ||
		s.n+frames <= queueFrames && s.bytes+bytes <= queueBytes
}

// waitForRoom reports false if the subscriber left instead.
func (s *subscriber) waitForRoom(bytes int) bool {
	s.filled.Signal()
	for !s.closed && !s.room(1, bytes) {
		s.drained.Wait()
	}
	return !s.closed
}

func (s *subscriber) put(f *frame) {
	f.retain()
	s.ring[(s.head+s.n)%queueFrames] = *f
	s.n++
	s.bytes += f.size
}

// take moves frames into s.batch, after waiting for some, and returns the file
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
	for bytes := 0; s.n > 0 && bytes < batchBytes; {
		f := &s.ring[s.head]
		bytes += f.size
		s.bytes -= f.size
		s.batch = append(s.batch, *f)
		*f = frame{}
		s.head = (s.head + 1) % queueFrames
		s.n--
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
		s.head = (s.head + 1) % queueFrames
	}
	s.bytes = 0
	s.filled.Signal()
	s.drained.Signal()
}

// write sends until the stream ends, nil, or the connection fails. Whatever
// happens, no frame is held afterwards.
func (s *subscriber) write(count *counters) error {
	defer s.close()
	for {
		s.list = s.list[:0]
		if preamble := s.take(); preamble != nil {
			s.list = append(s.list, preamble)
		}
		bytes := 0
		for i := range s.batch {
			s.list = s.batch[i].appendTo(s.list)
			bytes += s.batch[i].size
		}
		if len(s.list) == 0 {
			return nil
		}
		err := s.flush()
		frames := len(s.batch)
		for i := range s.batch {
			s.batch[i].release()
		}
		s.batch = s.batch[:0]
		if err != nil {
			return err
		}
		count.framesOut.Add(int64(frames))
		count.bytesOut.Add(int64(bytes))
	}
}

// flush writes s.list in as few system calls as the kernel allows. A receiver
// may be slow as long as it takes something within stallTimeout.
func (s *subscriber) flush() error {
	s.left = s.list
	for {
		if !s.wait {
			if err := s.conn.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
				return err
			}
		}
		n, err := s.left.WriteTo(s.conn)
		if n > 0 && os.IsTimeout(err) {
			continue
		}
		return err
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

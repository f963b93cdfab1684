package relay

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/cmd/gomem/internal/flv"
)

// readSize is how much either engine asks the kernel for at once.
const readSize = 64 << 10

// An engine decides where the bytes of a frame live. Everything else, from the
// accept loop to the writev, is the same code for both.
type engine interface {
	name() string
	// open reads a connection.
	open(conn *net.TCPConn) source
	// memory tells what the engine keeps outside the Go heap.
	memory() memoryUse
	// close ends the engine after all its sources; the error says what was
	// still in use, or what its books do not agree on.
	close() error
}

// memoryUse is what an engine holds, in bytes.
type memoryUse struct {
	live    int64 // in frames and buffers
	backing int64 // taken from the operating system
}

// A source is the reading side of a connection, for one goroutine.
type source interface {
	// peek gives the next n bytes, a view until the next call on the source.
	// After an error, buffered tells how many there are.
	peek(n int) ([]byte, error)
	buffered() int
	skip(n int) error
	// frame takes the next n bytes as one frame with one reference. have is how
	// many there were, n unless it fails.
	frame(n int) (f frame, have int, err error)
	close()
}

// frame is one FLV tag with its trailer, and whether it is shared or plain is
// the difference between the engines. Whoever holds one releases it once.
type frame struct {
	size   int
	shared *gomem.SharedMemory // gomem: a counted view of the blocks the kernel wrote
	plain  []byte              // std: bytes of its own, left to the collector
}

// release gives the reference back and forgets the frame.
func (f *frame) release() {
	if f.shared != nil {
		if err := f.shared.Release(); err != nil {
			panic("relay: a frame was released twice: " + err.Error())
		}
	}
	*f = frame{}
}

// appendTo appends the pieces of the frame to list.
func (f *frame) appendTo(list net.Buffers) net.Buffers {
	if f.shared == nil {
		return append(list, f.plain)
	}
	return append(list, f.shared.Memory().Buffers...)
}

// trailer is the last four bytes of the frame as a number.
func (f *frame) trailer() uint32 {
	if f.shared == nil {
		return binary.BigEndian.Uint32(f.plain[len(f.plain)-flv.TrailerSize:])
	}
	pieces := f.shared.Memory().Buffers
	last := pieces[len(pieces)-1]
	if len(last) >= flv.TrailerSize {
		return binary.BigEndian.Uint32(last[len(last)-flv.TrailerSize:])
	}
	var v uint32
	for i, skip := 0, f.size-flv.TrailerSize; i < len(pieces); i++ {
		p := pieces[i]
		for _, c := range p[min(skip, len(p)):] {
			v = v<<8 | uint32(c)
		}
		skip -= min(skip, len(p))
	}
	return v
}

// gomemEngine reads into blocks of one allocator that all connections share,
// and hands out counted views of them.
type gomemEngine struct {
	memoryOfAll *gomem.ScalableMemoryAllocator
}

func newGomemEngine() engine {
	return &gomemEngine{gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))}
}

func (*gomemEngine) name() string { return "gomem" }

func (e *gomemEngine) open(conn *net.TCPConn) source {
	r := gomem.NewBufReaderWithBufLen(conn, readSize)
	r.Allocator = e.memoryOfAll
	r.MaxFrameBytes = flv.MaxTagSize
	return (*gomemSource)(r)
}

func (e *gomemEngine) memory() memoryUse {
	s := e.memoryOfAll.Stats()
	return memoryUse{live: int64(s.Live), backing: int64(s.Backing)}
}

func (e *gomemEngine) close() error {
	if err := e.memoryOfAll.Verify(); err != nil {
		return fmt.Errorf("the allocator's books are wrong: %w", err)
	}
	if live := e.memory().live; live != 0 {
		return fmt.Errorf("%d bytes are still in use after everyone left", live)
	}
	return e.memoryOfAll.Close()
}

type gomemSource gomem.BufReader

func (s *gomemSource) reader() *gomem.BufReader   { return (*gomem.BufReader)(s) }
func (s *gomemSource) peek(n int) ([]byte, error) { return s.reader().Peek(n) }
func (s *gomemSource) buffered() int              { return s.reader().Buffered() }
func (s *gomemSource) skip(n int) error           { return s.reader().Skip(n) }
func (s *gomemSource) close()                     { s.reader().Recycle() }

func (s *gomemSource) frame(n int) (frame, int, error) {
	m, err := s.reader().ReadShared(n)
	if err != nil {
		return frame{}, s.buffered(), err
	}
	return frame{size: n, shared: m}, n, nil
}

// stdEngine is the same server written the ordinary way: a bufio.Reader for each
// connection, a slice made for each frame, and the collector to clean up.
type stdEngine struct{}

func newStdEngine() engine { return stdEngine{} }

func (stdEngine) name() string      { return "std" }
func (stdEngine) memory() memoryUse { return memoryUse{} }
func (stdEngine) close() error      { return nil }

func (stdEngine) open(conn *net.TCPConn) source {
	return (*stdSource)(bufio.NewReaderSize(conn, readSize))
}

type stdSource bufio.Reader

func (s *stdSource) reader() *bufio.Reader      { return (*bufio.Reader)(s) }
func (s *stdSource) peek(n int) ([]byte, error) { return s.reader().Peek(n) }
func (s *stdSource) buffered() int              { return s.reader().Buffered() }
func (s *stdSource) close()                     {}

func (s *stdSource) skip(n int) error {
	_, err := s.reader().Discard(n)
	return err
}

func (s *stdSource) frame(n int) (frame, int, error) {
	b := make([]byte, n)
	have, err := io.ReadFull(s.reader(), b)
	if err != nil {
		return frame{}, have, err
	}
	return frame{size: n, plain: b}, n, nil
}

package gomem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/backing"
)

// inPackets is a reader over a stream that comes in packets of size bytes, all there
// from the beginning.
func inPackets(t *testing.T, stream []byte, size int) *BufReader {
	feed := make(chan []byte, len(stream)/size+1)
	for at := 0; at < len(stream); at += size {
		feed <- bytes.Clone(stream[at:min(at+size, len(stream))])
	}
	close(feed)
	return onItsOwn(t, NewBufReaderChan(feed))
}

// inBlocks is a reader over a stream in blocks of size bytes.
func inBlocks(t *testing.T, stream []byte, size int) *BufReader {
	return newTestReader(t, &chunked{data: stream, err: io.EOF}, size)
}

// TestWindows: a result that overlaps with the one before costs a few copies of each
// byte, not one for each result that it is in, wherever blocks end; and one that lies
// in a block costs none, whatever was before it.
func TestWindows(t *testing.T) {
	const total = 60_000
	stream := noise(total)
	for name, row := range map[string]struct {
		open func(t *testing.T, stream []byte, size int) *BufReader
		size int
	}{
		"packets of 513":   {inPackets, 513},
		"packets of 1400":  {inPackets, 1400},
		"packets of 16384": {inPackets, 16384},
		"blocks of 1024":   {inBlocks, 1024},
		"blocks of 16384":  {inBlocks, 16384},
	} {
		for _, w := range [][2]int{{4, 1}, {376, 188}, {1000, 1}, {1025, 7}, {3000, 10}, {3000, 513}, {16385, 100}, {5 * row.size, row.size}} {
			n, step := w[0], w[1]
			b := row.open(t, stream, row.size)
			most, at := int64(0), 0
			for ; at+n <= total; at += step {
				p, err := b.Peek(n)
				if err != nil || !bytes.Equal(p, stream[at:at+n]) {
					t.Fatalf("%s: Peek(%d) at %d gave %d bytes, %v, or others", name, n, at, len(p), err)
				}
				most = max(most, taken(b))
				if err := b.Skip(step); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.Next(total - at); err != nil {
				t.Fatal(err)
			}
			_, err := b.ReadByte()
			expectError(t, err, io.EOF)
			if got := taken(b); got > int64(row.size) {
				t.Errorf("%s: Peek(%d) and Skip(%d): %d bytes are held in the end", name, n, step, got)
			}
			got := b.Allocator.GetTotalMalloc()
			want := int64(6*total + 2*n)
			if strings.HasPrefix(name, "packets") && 8*n <= row.size {
				want = int64(8 * n * (total/row.size + 1)) // where packets meet, and nowhere else
			}
			if got > want {
				t.Errorf("%s: Peek(%d) and Skip(%d): %d bytes were taken for %d, want at most %d", name, n, step, got, at, want)
			}
			if want := int64(4*n + 3*row.size + gatherLen); most > want {
				t.Errorf("%s: Peek(%d) and Skip(%d): %d bytes at a time, want at most %d", name, n, step, most, want)
			}
		}
	}
}

// TestGrowingWindow: to look at one byte more each time, until it is enough, is not to
// copy all before it each time.
func TestGrowingWindow(t *testing.T) {
	const total = 3000
	stream := noise(total)
	for _, size := range []int{513, 600, 1400} {
		b := inPackets(t, stream, size)
		for n := range total + 1 {
			p, err := b.Peek(n)
			if err != nil || !bytes.Equal(p, stream[:n]) {
				t.Fatalf("packets of %d: Peek(%d) gave %d bytes, %v, or others", size, n, len(p), err)
			}
		}
		if got := b.Allocator.GetTotalMalloc(); got > 6*total {
			t.Errorf("packets of %d: %d bytes were taken for %d", size, got, total)
		}
	}
}

// TestWindowsAreTheHolders: what the holder of a view writes to it is what is read
// after it, if the view was not consumed, wherever blocks end.
func TestWindowsAreTheHolders(t *testing.T) {
	const total = 10_000
	for _, size := range []int{513, 1000, 5000} {
		for _, step := range []int{1, 60, 99} {
			b := inPackets(t, make([]byte, total), size)
			for at := 0; at+100 <= total; at += step {
				p, err := b.Peek(100)
				expectError(t, err, nil)
				for i, c := range p[:100-step] {
					if at > 0 && c != byte(at+i) {
						t.Fatalf("packets of %d: byte %d behind %d is %d", size, i, at, c)
					}
				}
				for i := range p {
					p[i] = byte(at + i)
				}
				expectError(t, b.Skip(step), nil)
			}
		}
	}
}

// TestWindowsOfFrames: frames and views that are kept stay as they were while windows
// move on over the same blocks.
func TestWindowsOfFrames(t *testing.T) {
	const total = 40_000
	stream := noise(total)
	for _, hold := range []bool{false, true} {
		for _, size := range []int{100, 513, 1400, 5000} {
			for name, open := range map[string]func(*testing.T, []byte, int) *BufReader{"packets": inPackets, "blocks": inBlocks} {
				what := fmt.Sprintf("%s of %d, hold %v", name, size, hold)
				b := open(t, stream, size)
				b.HoldViews = hold
				var frames []*SharedMemory
				var views, inFrames, inViews [][]byte
				for at, n := 0, 1; at+n+700 < total; at, n = at+n, n*7%1009+1 {
					p, err := b.Peek(n + 600)
					if err != nil || !bytes.Equal(p, stream[at:at+n+600]) {
						t.Fatalf("%s: Peek(%d) at %d: %v, or other bytes", what, n+600, at, err)
					}
					if hold {
						views, inViews = append(views, p), append(inViews, stream[at:at+n+600])
					}
					s, err := b.ReadShared(n)
					expectError(t, err, nil)
					frames, inFrames = append(frames, s), append(inFrames, stream[at:at+n])
				}
				for i, p := range views {
					if !bytes.Equal(p, inViews[i]) {
						t.Fatalf("%s: view %d changed", what, i)
					}
				}
				for i, s := range frames {
					m := s.Memory()
					if !bytes.Equal(m.ToBytes(), inFrames[i]) {
						t.Fatalf("%s: frame %d changed", what, i)
					}
					expectError(t, s.Release(), nil)
				}
				expectError(t, b.Release(nil), nil)
			}
		}
	}
}

// scarce is a source that has no memory for a few requests.
type scarce struct {
	backing.Source
	fails int
}

func (s *scarce) Map(n int) ([]byte, error) {
	if s.fails > 0 {
		s.fails--
		return nil, backing.ErrOutOfMemory
	}
	return s.Source.Map(n)
}

// TestPeekWithoutMemory: bytes that no memory is left to join come as an error alone,
// never as another number of bytes than was asked for.
func TestPeekWithoutMemory(t *testing.T) {
	for fails := range 20 { // of the tries to get memory, of which a request makes some
		const n = 1500
		feed := make(chan net.Buffers, 1)
		feed <- net.Buffers{make([]byte, 1000), make([]byte, 1000)}
		close(feed)
		b := NewBufReaderBuffersChan(feed)
		b.Allocator = NewScalableMemoryAllocator(1<<16, WithBacking(&scarce{backing.Heap(), fails}))
		p, err := b.Peek(n)
		if err == nil && len(p) != n || err != nil && (len(p) != 0 || !errors.Is(err, backing.ErrOutOfMemory)) {
			t.Errorf("Peek(%d) gave %d bytes with %v", n, len(p), err)
		}
		b.Recycle()
	}
}

package gomem

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// halting is a source that fails once at some offsets of its stream, and sees that
// each read has room for an eighth of a block.
type halting struct {
	t     *testing.T
	read  func(p []byte) (int, error)
	fail  func() error
	halts []int
	at    int
	least int
}

func (h *halting) Read(p []byte) (int, error) {
	if len(p) < h.least {
		h.t.Errorf("room for %d bytes at offset %d", len(p), h.at)
	}
	if len(h.halts) > 0 {
		if h.at == h.halts[0] {
			h.halts = h.halts[1:]
			return 0, h.fail()
		}
		p = p[:min(len(p), h.halts[0]-h.at)]
	}
	n, err := h.read(p)
	h.at += n
	return n, err
}

// errAgain passes, as a timeout does: the call can be made again, or another.
var errAgain = errors.New("not now")

// offered passes reads on to src and sees that each has room for least bytes. After
// some, by the sizes in fails, it says errAgain, along with the bytes or alone.
type offered struct {
	t     *testing.T
	src   io.Reader
	least int
	fails []byte
	at    int
}

func (o *offered) Read(p []byte) (int, error) {
	if len(p) < o.least {
		o.t.Fatalf("the source was given room for %d bytes", len(p))
	}
	n, err := o.src.Read(p)
	if len(o.fails) > 0 && err == nil {
		if o.at++; o.fails[o.at%len(o.fails)]%4 == 0 {
			err = errAgain
		}
	}
	return n, err
}

// roomStream is what every way to read finds something in: a header, a line, and
// the delimiters, behind bytes that may be skipped.
var roomStream = append([]byte(strings.Repeat("x", 30)+": v\n\n\x00\x01\x02"), bytes.Repeat([]byte("stream"), 6_000)...)

// onHeap serves roomStream from memory, onPipe over a net.Pipe whose deadline
// passes where the source shall fail.
func onHeap(t *testing.T) *halting {
	return &halting{t: t, read: bytes.NewReader(roomStream).Read, fail: func() error { return os.ErrDeadlineExceeded }}
}

func onPipe(t *testing.T) *halting {
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	go func() {
		_, _ = far.Write(roomStream)
		_ = far.Close()
	}()
	return &halting{t: t, read: near.Read, fail: func() error {
		_ = near.SetReadDeadline(time.Now().Add(-time.Second))
		_, err := near.Read(make([]byte, 1))
		_ = near.SetReadDeadline(time.Time{})
		return err
	}}
}

// fewBytes are the ways to a front of fewer than 8 bytes that is full: each leaves
// one of n bytes, or refuses to.
var fewBytes = map[string]func(b *BufReader, src *halting, n int) error{
	"ReadNto cut": func(b *BufReader, src *halting, n int) error {
		src.halts = []int{n}
		return b.ReadNto(1<<15, make([]byte, 1<<15))
	},
	"ReadBinary cut": func(b *BufReader, src *halting, n int) error {
		src.halts = []int{n}
		_, err := b.ReadBinary(make([]byte, 1<<15))
		return err
	},
	"Peek across": func(b *BufReader, src *halting, n int) error {
		err := spread(b, src, n)
		_, perr := b.Peek(n)
		return errors.Join(err, perr)
	},
	"Next across": func(b *BufReader, src *halting, n int) error {
		err := spread(b, src, n)
		_, nerr := b.Next(n)
		return errors.Join(err, nerr)
	},
	"ReadBytes across": func(b *BufReader, src *halting, n int) error {
		err := spread(b, src, n)
		_, nerr := b.ReadBytes(n)
		return errors.Join(err, nerr)
	},
	"ReadUntil across": func(b *BufReader, src *halting, n int) error {
		err := spread(b, src, n)
		_, uerr := b.ReadUntil(bytes.Repeat([]byte{'x'}, n), 0)
		return errors.Join(err, uerr)
	},
	"ReadBE64 across": func(b *BufReader, src *halting, n int) error {
		err := spread(b, src, n)
		_, nerr := b.ReadBE64(n)
		return errors.Join(err, nerr)
	},
}

// spread leaves n unread bytes in two blocks, the first of which somebody keeps.
func spread(b *BufReader, src *halting, n int) error {
	size := b.blockLen()
	src.halts = []int{size + n/2}
	s, err := b.ReadShared(size - (n+1)/2)
	if err != nil {
		return err
	}
	defer s.Release()
	return b.ReadRange(size, func([]byte) {})
}

// TestFullBlockOfFewBytes: whatever left a reader with a front of 1 to 7 bytes and
// no room behind them, each way to read goes on from there.
func TestFullBlockOfFewBytes(t *testing.T) {
	for way, leave := range fewBytes {
		for name := range readers {
			t.Run(way+"/"+name, func(t *testing.T) {
				for n := 1; n < 8; n++ {
					goOn(t, onHeap(t), leave, name, n, n%2 == 0)
					goOn(t, onHeap(t), leave, name, n, n%2 != 0)
				}
				goOn(t, onPipe(t), leave, name, 3, false)
				goOn(t, onPipe(t), leave, name, 4, true)
			})
		}
	}
}

// goOn leaves n bytes, reads by the name and then the rest, which must be all.
func goOn(t *testing.T, src *halting, leave func(*BufReader, *halting, int) error, name string, n int, hold bool) {
	t.Helper()
	b := NewBufReaderWithBufLen(src, 16)
	b.Allocator = NewScalableMemoryAllocator(1 << 16)
	defer b.Recycle()
	b.HoldViews, src.least = hold, 16/8
	if err := leave(b, src, n); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes are not left: %v", n, err)
	}
	if err := readers[name](b); err != nil && (name != "stream" || err != io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes were left, hold %v: %v", n, hold, err)
	}
	want := roomStream[b.TotalRead()-int64(b.Buffered()):]
	rest, err := io.ReadAll(b)
	if err != nil || !bytes.Equal(rest, want) {
		t.Errorf("%d bytes were left, hold %v: then %d bytes, %v, want %d", n, hold, len(rest), err, len(want))
	}
}

// careless takes for granted that there is room for what it has to say, as the mock
// network of the article on BufReader does.
type careless struct {
	data        []byte
	least, most int
	rng         *rand.Rand
}

func (c *careless) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:c.least+c.rng.IntN(c.most-c.least+1)], c.data)
	c.data = c.data[n:]
	return n, nil
}

// TestErrorComesOnce: an error that came along with bytes follows them, and then
// the next bytes.
func TestErrorComesOnce(t *testing.T) {
	src := &offered{t: t, src: &chunked{data: []byte("ab"), sizes: []byte{1}, err: io.EOF}, fails: []byte{0}}
	b := newTestReader(t, src, 0)
	for _, want := range []byte("ab") {
		c, err := b.ReadByte()
		expectRead(t, "ReadByte", c, err, want, nil)
		_, err = b.ReadByte()
		expectError(t, err, errAgain)
	}
	_, err := b.ReadByte()
	expectError(t, err, io.EOF)
}

// contiguous is n, or half of it if that is what leaves room in a block.
func contiguous(n int) int {
	if n > DefaultBufLen*7/8 && n <= DefaultBufLen {
		return n / 2
	}
	return n
}

// TestCarelessSource: a block of the default length leaves room for 2 KiB whatever
// is read, kept, peeked at and held, but for results that take up their block.
func TestCarelessSource(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	want := noise(1 << 20)
	for _, most := range []int{128, 512, 2048} {
		for _, hold := range []bool{false, true} {
			b := newTestReader(t, &careless{data: want, least: most / 8, most: most, rng: rng}, 0)
			b.HoldViews = hold
			var got bytes.Buffer
			var kept []*SharedMemory
			for got.Len()+1<<17 < len(want) {
				n := rng.IntN(2 << rng.IntN(17))
				var views [][]byte
				var err error
				switch rng.IntN(8) {
				case 0:
					err = b.ReadRange(n, func(p []byte) { views = append(views, p) })
				case 1:
					var m Memory
					n = contiguous(n)
					m, err = b.ReadBytes(n)
					views = m.Buffers
				case 2:
					var s *SharedMemory
					if s, err = b.ReadShared(n); err == nil {
						views, kept = s.Memory().Buffers, append(kept, s)
					}
				case 3:
					views = [][]byte{make([]byte, n)}
					err = b.ReadNto(n, views[0])
				case 4:
					n = contiguous(n)
					if _, err = b.Peek(n); err == nil {
						views = append(views, nil)
						views[0], err = b.Next(n / 2)
					}
				case 5:
					var line []byte
					line, err = b.ReadSlice('\n')
					views = [][]byte{line}
				case 6:
					var s string
					s, err = b.ReadString(n)
					views = [][]byte{[]byte(s)}
				default:
					views = [][]byte{make([]byte, n)}
					n, err = b.Read(views[0])
					views[0] = views[0][:n]
				}
				if err != nil {
					t.Fatalf("at byte %d: %v", got.Len(), err)
				}
				for _, v := range views {
					got.Write(v)
				}
				if hold && rng.IntN(10) == 0 {
					_ = b.Release(nil)
				}
				if len(kept) > 20 {
					_ = kept[0].Release()
					kept = kept[1:]
				}
			}
			for _, s := range kept {
				if err := s.Release(); err != nil {
					t.Error(err)
				}
			}
			if !bytes.Equal(got.Bytes(), want[:got.Len()]) {
				t.Errorf("chunks of up to %d, hold %v: the bytes differ", most, hold)
			}
			b.Recycle()
		}
	}
}

// TestBlockStaysOverLongReads: a read past the block takes none and gives none back,
// and the byte before it cannot be unread.
func TestBlockStaysOverLongReads(t *testing.T) {
	const blockLen = 1000
	b := newTestReader(t, &endless{1 << 20}, blockLen)
	p := make([]byte, 3*blockLen)
	for range 20 {
		_, err := b.ReadBE32(4)
		expectError(t, err, nil)
		expectError(t, b.ReadNto(len(p), p), nil)
		expectError(t, b.UnreadByte(), ErrInvalidUnread)
		for b.Buffered() > 0 { // so that Read goes past it as well
			_, err = b.Read(p)
			expectError(t, err, nil)
		}
		_, err = b.Read(p)
		expectError(t, err, nil)
		expectError(t, b.UnreadByte(), ErrInvalidUnread)
	}
	if got := b.Allocator.GetTotalMalloc(); got != blockLen {
		t.Errorf("%d bytes were allocated for blocks of %d", got, blockLen)
	}
}

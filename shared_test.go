package gomem

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gomem-go/gomem/internal/check"
)

// TestSharedRandomly keeps frames of all sizes, most of them far smaller than a
// block, and lets them go in random order on other goroutines.
func TestSharedRandomly(t *testing.T) {
	const seed = 42
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	want := noise(1 << 19)
	b := newTestReader(t, &chunked{data: want, sizes: []byte{255, 3, 90}, err: io.EOF}, 2048)
	type frame struct {
		s  *SharedMemory
		at int
	}
	let := make(chan frame, 8)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for f := range let {
				m := f.s.Memory()
				if !bytes.Equal(m.ToBytes(), want[f.at:f.at+m.Size]) || m.Size != f.s.Len() {
					t.Errorf("the frame at %d changed", f.at)
				}
				expectError(t, f.s.Release(), nil)
			}
		})
	}
	var kept []frame
	for at := 0; at < len(want); {
		n := rng.IntN(40)
		switch rng.IntN(100) {
		case 0:
			n = rng.IntN(9000)
		case 1: // go on in place, over a reader that holds the last block alone
			for _, f := range kept {
				let <- f
			}
			kept = kept[:0]
		}
		n = min(n, len(want)-at)
		s, err := b.ReadShared(n)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, frame{s, at})
		at += n
		for len(kept) > 300 {
			i := rng.IntN(len(kept))
			let <- kept[i]
			kept[i] = kept[len(kept)-1]
			kept = kept[:len(kept)-1]
		}
	}
	for _, f := range kept {
		let <- f
	}
	close(let)
	wg.Wait()
	_, err := b.ReadByte() // ends what the last call might have lent
	expectError(t, err, io.EOF)
	if n := taken(b); n > 2048 {
		t.Errorf("%d bytes are taken by a reader without frames", n)
	}
}

// TestSharedInPlace: a block is used again as long as its frames are let go, and
// kept by any of them, the first as the last.
func TestSharedInPlace(t *testing.T) {
	b := newTestReader(t, &endless{1 << 30}, 256)
	for kept := range 40 {
		var hold *SharedMemory
		for i := range 40 {
			s, err := b.ReadShared(6)
			if err != nil {
				t.Fatal(err)
			}
			if i == kept {
				hold = s
				continue
			}
			expectError(t, s.Release(), nil)
		}
		if n := taken(b); n > 512 {
			t.Fatalf("%d bytes are taken with frame %d kept", n, kept)
		}
		expectError(t, hold.Release(), nil)
		expectError(t, hold.Release(), ErrReleased)
		if _, err := b.Next(b.Buffered() + 1); err != nil {
			t.Fatal(err)
		}
		if n := taken(b); n > 512 {
			t.Fatalf("%d bytes are taken after frame %d", n, kept)
		}
	}
}

// TestSharedEmpty: a frame of no bytes keeps no block.
func TestSharedEmpty(t *testing.T) {
	b := newTestReader(t, &endless{1000}, 0)
	for range 100 {
		s, err := b.ReadShared(0)
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Memory(); s.Len() != 0 || m.Size != 0 || len(m.Buffers) != 0 || taken(b) != 0 {
			t.Fatalf("an empty frame has %d bytes in %d parts, %d taken", s.Len(), len(m.Buffers), taken(b))
		}
		expectError(t, s.Retain(), nil)
		expectError(t, s.Release(), nil)
		expectError(t, s.Release(), nil)
		expectError(t, s.Retain(), ErrReleased)
	}
}

// TestCountOfReferences: no reference is taken that the count has no room for, and the
// frame lives on with those that there are.
func TestCountOfReferences(t *testing.T) {
	b := newTestReader(t, strings.NewReader("frame"), 0)
	s, err := b.ReadShared(5)
	if err != nil {
		t.Fatal(err)
	}
	s.refs = math.MaxInt32 - 1
	expectError(t, s.Retain(), nil)
	expectError(t, s.Retain(), ErrOverflow)
	expectRead(t, "Len", s.Len(), nil, 5, nil)
	expectError(t, s.Release(), nil)
	expectError(t, s.Retain(), nil)
	s.refs = 1
	expectError(t, s.Release(), nil)
	expectError(t, s.Retain(), ErrReleased)
}

// TestSharedWriteTo: a frame is written whole, by any holder, as often as it likes;
// where the writer stops, the count is what it took and the error says why.
func TestSharedWriteTo(t *testing.T) {
	want := noise(600)
	b := newTestReader(t, bytes.NewReader(want), 256)
	for _, n := range []int{100, 500} { // in one block, and across
		s, err := b.ReadShared(n)
		if err != nil {
			t.Fatal(err)
		}
		frame := want[:n]
		want = want[n:]
		var out bytes.Buffer
		for range 2 {
			out.Reset()
			m, err := s.WriteTo(&out)
			expectRead(t, "WriteTo", m, err, int64(n), nil)
			expectRead(t, "the bytes", out.Bytes(), nil, frame, nil)
		}
		for stop := range n {
			for _, c := range []struct {
				count     int
				err, want error
				taken     int
			}{
				{0, errReset, errReset, stop},
				{0, nil, io.ErrShortWrite, stop},
				{-1 - stop, nil, ErrInvalidWrite, 0},
				{1000, nil, ErrInvalidWrite, 0},
			} {
				left := stop
				m, err := s.WriteTo(writerFunc(func(p []byte) (int, error) {
					if len(p) <= left {
						left -= len(p)
						return len(p), nil
					}
					return left + c.count, c.err
				}))
				expectError(t, err, c.want)
				if c.count == 0 && m != int64(c.taken) {
					t.Fatalf("WriteTo = %d of a writer that took %d of %d", m, c.taken, n)
				}
			}
		}
		expectError(t, s.Release(), nil)
		m, err := s.WriteTo(io.Discard)
		expectRead(t, "WriteTo", m, err, int64(0), ErrReleased)
	}
}

// writerFunc answers each Write by itself.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSharedKeepsNothing: a released handle keeps no block alive, nor a list.
func TestSharedKeepsNothing(t *testing.T) {
	for _, blocks := range []int{2, 3, 100, keptParts, 2 * keptParts} {
		b := newTestReader(t, &endless{1 << 30}, 16)
		s, err := b.ReadShared(16 * blocks)
		if err != nil {
			t.Fatal(err)
		}
		parts := &s.home.across
		views, held := parts.views, parts.blocks
		if len(views) != blocks || len(held) != blocks-1 {
			t.Fatalf("%d views and %d blocks of a frame in %d", len(views), len(held), blocks)
		}
		expectError(t, s.Release(), nil)
		for i := range views {
			if views[i] != nil || i < len(held) && held[i] != nil {
				t.Fatalf("part %d of %d is still there", i, blocks)
			}
		}
		if cap(parts.views) > 2 || parts.long != nil || len(parts.views)+len(parts.blocks) != 0 {
			t.Errorf("a list of %d views is kept", cap(parts.views))
		}
	}
}

// TestSharedGivesBackTheRest: of a block that a frame keeps, the reader gives back what
// it never read, if that is a quarter or more.
func TestSharedGivesBackTheRest(t *testing.T) {
	for n, want := range map[int]int64{1: 1, 768: 768, 769: 1024, 1024: 1024} {
		b := newTestReader(t, bytes.NewReader(noise(n)), 1024)
		s, err := b.ReadShared(n)
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
		if got := taken(b); got != want {
			t.Errorf("a frame of %d bytes keeps %d, want %d", n, got, want)
		}
		expectError(t, s.Release(), nil)
	}
}

// TestSharedHandlesRest: frames that are let go make no new headers, and a handle
// waits for as many others as is promised before it serves again.
func TestSharedHandlesRest(t *testing.T) {
	if check.Enabled {
		t.Skip("its handles never serve again")
	}
	b := newTestReader(t, &endless{math.MaxInt}, 64)
	seen := make(map[*SharedMemory]int)
	made := 0
	waiting := len(usedHeaders.ring) - usedHeaders.head // of other tests
	most := blockHandles*waiting + 10*handleRest
	rounds := 4 * most
	for i := range rounds {
		s, err := b.ReadShared(i % 100)
		if err != nil {
			t.Fatal(err)
		}
		if last, ok := seen[s]; !ok {
			made++
		} else if i-last <= handleRest-blockHandles { // those of the front block may have been before it
			t.Fatalf("a handle serves again after %d others", i-last-1)
		}
		seen[s] = i
		expectError(t, s.Release(), nil)
	}
	if made > most {
		t.Errorf("%d frames took %d handles, want at most %d", rounds, made, most)
	}
	if n := len(usedHeaders.ring); n > most {
		t.Errorf("the queue of headers has %d places", n)
	}
}

// TestHeadersOfShortReaders: readers that come and go leave no more headers behind than
// have to rest.
func TestHeadersOfShortReaders(t *testing.T) {
	for range 2 * handlesKept {
		b := newTestReader(t, &endless{100}, 64)
		_, err := b.Peek(1) // takes a block before it is known that frames will be kept
		expectError(t, err, nil)
		s, err := b.ReadShared(10)
		expectError(t, err, nil)
		expectError(t, s.Release(), nil)
		b.Recycle()
	}
	usedHeaders.Lock()
	defer usedHeaders.Unlock()
	if n := usedHeaders.handles; n >= handlesKept+blockHandles {
		t.Errorf("%d handles rest, want less than %d", n, handlesKept+blockHandles)
	}
}

package gomem

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
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

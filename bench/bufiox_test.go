package bench

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/gomem-go/gomem"
)

var _ bufiox.Reader = (*gomem.BufReader)(nil)

// TestBufReaderIsABufioxReader runs one random program on a BufReader and on
// bufiox's own reader: both return the same bytes and counts, and what Next and
// Peek returned stays as it was until Release.
func TestBufReaderIsABufioxReader(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	stream := make([]byte, 1<<20)
	for i := range stream {
		stream[i] = byte(random.Uint32())
	}
	ours := gomem.NewBufReaderWithBufLen(iotest.HalfReader(bytes.NewReader(stream)), 4096)
	defer ours.Recycle()
	ours.HoldViews = true
	theirs := bufiox.NewDefaultReader(bytes.NewReader(stream))
	type view struct{ got, want []byte }
	var views []view
	for step := 0; ; step++ {
		n := random.IntN(3000)
		got, err := apply(ours, step%5, n)
		want, wantErr := apply(theirs, step%5, n)
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("step %d, %d bytes: %x, %v; want %x, %v", step, n, got, err, want, wantErr)
		}
		if err != nil {
			return // the end of the stream
		}
		if ours.ReadLen() != theirs.ReadLen() {
			t.Fatalf("step %d: ReadLen %d, want %d", step, ours.ReadLen(), theirs.ReadLen())
		}
		views = append(views, view{got, bytes.Clone(want)})
		if random.IntN(10) > 0 {
			continue
		}
		for _, v := range views {
			if !bytes.Equal(v.got, v.want) {
				t.Fatalf("step %d: a view of %d bytes changed before Release", step, len(v.got))
			}
		}
		views = views[:0]
		if err, wantErr := ours.Release(nil), theirs.Release(nil); err != nil || wantErr != nil {
			t.Fatalf("Release: %v, %v", err, wantErr)
		}
	}
}

// apply runs one operation and returns the bytes that it showed.
func apply(r bufiox.Reader, op, n int) ([]byte, error) {
	switch op {
	case 0:
		return r.Peek(n)
	case 1:
		return nil, r.Skip(n)
	case 2:
		b := make([]byte, n)
		_, err := r.ReadBinary(b)
		return b, err
	}
	return r.Next(n)
}

// TestBufReaderEndsAsBufiox: a frame that the stream cuts off is an error, and
// an empty stream is io.EOF.
func TestBufReaderEndsAsBufiox(t *testing.T) {
	for _, n := range []int{0, 5} {
		r := gomem.NewBufReader(bytes.NewReader(make([]byte, n)))
		_, err := r.Next(10)
		if want := map[int]error{0: io.EOF, 5: io.ErrUnexpectedEOF}[n]; err != want {
			t.Errorf("Next(10) of %d bytes: %v, want %v", n, err, want)
		}
		r.Recycle()
	}
}

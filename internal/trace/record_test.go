package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// record allocates n bytes through r.
func record(t *testing.T, r *Recorder, n int) []byte {
	t.Helper()
	b, err := r.Malloc(func() ([]byte, error) { return make([]byte, n), nil })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func free(t *testing.T, r *Recorder, b []byte) {
	t.Helper()
	if err := r.Free(b, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestRecorderWritesWhatADecoderReads(t *testing.T) {
	var out bytes.Buffer
	r := NewRecorder(&out)
	a, b, c := record(t, r, 100), record(t, r, 3<<20), record(t, r, 7)
	free(t, r, b[2<<20:]) // the tail of a block of many pages
	free(t, r, a)
	free(t, r, b[:1<<20])
	free(t, r, b[1<<20:2<<20])
	if _, err := r.Malloc(func() ([]byte, error) { return nil, errors.New("no room") }); err == nil {
		t.Error("the error of the allocation is lost")
	}
	if err := r.Free(c, func() error { return errors.New("refused") }); err == nil {
		t.Error("the error of the free is lost")
	}
	free(t, r, make([]byte, 9)) // of a block from before
	record(t, r, 0)
	r.Reset()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(&out, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{100, 3 << 20, 7, FreeBit, FreeBit | 1, FreeBit | 2}; !slices.Equal(got.Ops, want) || got.Recorded != len(want) {
		t.Errorf("recorded %x, want %x", got.Ops, want)
	}
}

// The first word of a recording is not taken for text or for gzip, whatever it is.
func TestRecorderBeginsLikeNothingElse(t *testing.T) {
	for _, c := range []struct{ size, want uintptr }{
		{0x8b1f, 0x8b1f}, {0x7f8b1f, 0x7f8b1f}, // begin with the first two bytes of gzip
		{0x088b1f, 0x088b20}, {0x1f088b1f, 0x1f088b20}, {0x20088b1f, 0x20088b1f},
		{0x23, 0x23}, {0x0ac3bc23, 0x0ac3bc24}, {0x23bfbbef, 0x23bfbbf0}, {0x6dfeff, 0x6dff00}, {0x2300fffe, 0x2300ffff},
		{0x0a0a0a0a, 0x0a0a0a0b}, {0x20202020, 0x2020207f}, {0x7e7e7e7e, 0x7e7e7e7f},
	} {
		var out bytes.Buffer
		r := NewRecorder(&out)
		r.add(1<<20, c.size)
		r.add(1, 0x088b1f)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(bytes.NewReader(out.Bytes()), Limits{})
		if err != nil {
			t.Errorf("%#x: %v", c.size, err)
			continue
		}
		if want := []uint32{uint32(c.want), 0x088b1f}; !slices.Equal(got.Sizes, want) {
			t.Errorf("%#x: recorded %#x, want %#x", c.size, got.Sizes, want)
		}
		got.Sizes, got.Ops[0] = nil, uint32(c.size)
		var again bytes.Buffer
		if err := got.EncodeBinary(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), out.Bytes()) {
			t.Errorf("%#x: encoded % x, want % x", c.size, again.Bytes(), out.Bytes())
		}
	}
}

// A free may reach over several blocks, and what a reset freed is the place of others.
func TestRecorderFreesAcrossBlocks(t *testing.T) {
	var out bytes.Buffer
	r := NewRecorder(&out)
	room := make([]byte, 300)
	place := func(from, to int) {
		t.Helper()
		if _, err := r.Malloc(func() ([]byte, error) { return room[from:to], nil }); err != nil {
			t.Fatal(err)
		}
	}
	for at := 0; at < len(room); at += 100 {
		place(at, at+100)
	}
	free(t, r, room[50:220]) // of the second all
	free(t, r, room[:50])
	r.Reset()
	place(0, 300)
	free(t, r, room[220:])
	free(t, r, room[:220])
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(&out, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{100, 100, 100, FreeBit | 1, FreeBit, FreeBit | 2, 300, FreeBit | 3}; !slices.Equal(got.Ops, want) {
		t.Errorf("recorded %x, want %x", got.Ops, want)
	}
}

// The byte behind a block is another's.
func TestRecorderTellsNeighbours(t *testing.T) {
	const at, page = 1 << 20, 4096
	var out bytes.Buffer
	r := NewRecorder(&out)
	r.add(at, 100)
	r.add(at+100, 100)
	if got := r.drop(at+100, 300); got != 100 {
		t.Errorf("%d bytes of the second", got)
	}
	if got := r.drop(at+100, 1); got != 0 {
		t.Errorf("%d bytes between what is left", got)
	}
	if got := r.drop(at+99, 1); got != 1 {
		t.Errorf("%d bytes at the end of the first", got)
	}
	// From the last byte of a page over all of the next to the first of a third.
	r.add(2*at-1, page+2)
	if got := r.drop(2*at+page, 1); got != 1 {
		t.Errorf("%d bytes at the end of the third", got)
	}
	r.Reset()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if want := encode(100, 100, FreeBit|1, page+2); !bytes.HasPrefix(out.Bytes(), want) || out.Len() != len(want)+8 {
		t.Errorf("recorded % x, want % x", out.Bytes(), want)
	}
}

// What was freed of a block is the place of others before the rest of it goes.
func TestRecorderTellsBlocksInTheRoomOfOthers(t *testing.T) {
	var out bytes.Buffer
	r := NewRecorder(&out)
	whole := record(t, r, 10000)
	place := func(from, to int) []byte {
		t.Helper()
		b, err := r.Malloc(func() ([]byte, error) { return whole[from:to], nil })
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	free(t, r, whole[100:200])
	free(t, r, whole[5000:]) // now it is [0,100) and [200,5000)
	one, two := place(110, 190), place(5000, 9000)
	free(t, r, one)
	free(t, r, whole[:100])
	free(t, r, two[1:])
	free(t, r, whole[200:5000])
	three := place(0, 5000)
	free(t, r, three[1:2])
	free(t, r, three[3:4])
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Reset()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(&out, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{10000, 80, 4000, FreeBit | 1, FreeBit, 5000}
	tail := slices.Sorted(slices.Values(got.Ops[min(len(want), len(got.Ops)):]))
	if !slices.Equal(got.Ops[:len(want)], want) || !slices.Equal(tail, []uint32{FreeBit | 2, FreeBit | 3}) || got.Recorded != 8 {
		t.Errorf("recorded %x and %x, %d in all", got.Ops[:len(want)], tail, got.Recorded)
	}
}

// writer passes the first calls on, and panics in the one after them.
type writer struct {
	to    *bytes.Buffer
	calls int
}

func (w *writer) Write(p []byte) (int, error) {
	if w.calls--; w.calls == -1 {
		panic("no more")
	}
	return w.to.Write(p)
}

// A writer that panics once has lost an operation: what would come after it names
// other blocks, so nothing does.
func TestRecorderEndsWhereItsWriterPanics(t *testing.T) {
	const perWrite = 64 << 10 / 4
	var out bytes.Buffer
	r := NewRecorder(&writer{&out, 1})
	panics := 0
	for range 5 * perWrite {
		func() {
			defer func() {
				if recover() != nil {
					panics++
				}
			}()
			record(t, r, 1)
		}()
	}
	if err := r.Close(); !errors.Is(err, errPanicked) || panics != 1 {
		t.Errorf("Close: %v after %d panics", err, panics)
	}
	if got, err := Decode(&out, Limits{}); err != nil || got.Recorded != perWrite {
		t.Errorf("of %d operations before the panic: %+v, %v", perWrite, got, err)
	}
}

// What was recorded before the ids ran out is written, and the first failure counts.
func TestRecorderOutOfIDs(t *testing.T) {
	for _, room := range []int{0, 4, 64} {
		full := errors.New("no room")
		var out bytes.Buffer
		r := NewRecorder(writerFunc(func(p []byte) (int, error) {
			if n := min(len(p), room); n < len(p) {
				return n, full
			}
			return out.Write(p)
		}))
		b := record(t, r, 5)
		r.next = FreeBit - 1
		record(t, r, 6)
		free(t, r, b)
		record(t, r, 7)
		record(t, r, 8)
		err := r.Close()
		if room < 12 {
			if !errors.Is(err, full) {
				t.Errorf("room for %d bytes: Close: %v", room, err)
			}
			continue
		}
		if want := encode(5, 6, FreeBit); !errors.Is(err, errTooMany) || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("Close: %v; wrote % x, want % x", err, out.Bytes(), want)
		}
	}
}

// A trace is read as far as it is written: to the last id.
func TestLastIDIsRead(t *testing.T) {
	b := builder{next: FreeBit - 1}
	if err := b.addLine("malloc 2147483647 5"); err != nil {
		t.Errorf("the last id: %v", err)
	}
	if err := b.add(5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRecorderKeepsOrderAcrossGoroutines(t *testing.T) {
	const seed, workers, steps = 5, 4, 2000
	t.Logf("seed %d", seed)
	var out bytes.Buffer
	r := NewRecorder(&out)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			var live [][]byte
			for range steps {
				if len(live) < 20 || random.IntN(2) == 0 {
					b, _ := r.Malloc(func() ([]byte, error) { return make([]byte, 1+random.IntN(9000)), nil })
					live = append(live, b)
					continue
				}
				b := live[len(live)-1]
				live = live[:len(live)-1]
				cut := random.IntN(len(b) + 1)
				for _, part := range [][]byte{b[cut:], b[:cut]} {
					if err := r.Free(part, func() error { return nil }); err != nil {
						t.Error(err)
					}
				}
			}
			for _, b := range live {
				if err := r.Free(b, func() error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(&out, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Recorded != len(got.Ops) || len(got.Ops) != 2*len(got.Sizes) {
		t.Errorf("%d of %d operations recorded for %d blocks: something was never freed", got.Recorded, len(got.Ops), len(got.Sizes))
	}
}

type failingWriter struct{ after int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.after -= len(p); w.after < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

func TestRecorderReportsAFullDisk(t *testing.T) {
	r := NewRecorder(&failingWriter{after: 100_000})
	for range 50_000 {
		free(t, r, record(t, r, 16))
	}
	if err := r.Close(); err == nil {
		t.Error("Close after a failed write: no error")
	}
}

// TestLengthsFind: the range that has a byte is found wherever it begins, and none else.
func TestLengthsFind(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var l lengths
		var owner []recorded // by byte
		at, shift := uintptr(rng.IntN(100)), rng.IntN(10)
		owner = append(owner, make([]recorded, at)...)
		for id := range uint32(100) {
			b := recorded{at, at + uintptr(1+rng.IntN(1<<shift)), id + 1}
			switch rng.IntN(3) {
			case 0:
				b.end = b.start + 1<<shift
			case 1:
				shift = rng.IntN(10)
			}
			l.add(b)
			if rng.IntN(3) > 0 {
				owner = append(owner, slices.Repeat([]recorded{b}, int(b.end-b.start))...)
			} else {
				l.remove(b)
				owner = append(owner, make([]recorded, b.end-b.start)...)
			}
			at = b.end
		}
		for at, want := range owner {
			got, ok := l.find(uintptr(at), uintptr(1+rng.IntN(1000)))
			if ok != (want.id > 0) || ok && got != want {
				t.Fatalf("byte %d: found %v, %v, want %v", at, got, ok, want)
			}
		}
	}
}

// BenchmarkRecorderFreesFromTheEnd: the price of a tail does not depend on how much is
// in front of it.
func BenchmarkRecorderFreesFromTheEnd(b *testing.B) {
	for _, size := range []uintptr{1 << 20, 64 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("size=%dMiB", size>>20), func(b *testing.B) {
			r := NewRecorder(io.Discard)
			const at, tail = 1 << 20, 4096
			left := uintptr(0)
			for b.Loop() {
				if left < 2*tail {
					r.Reset()
					r.add(at, size)
					left = size
				}
				left -= tail
				r.drop(at+left, tail)
			}
		})
	}
}

package gomem

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// duel drives a BufReader and a bufio.Reader over the same stream and compares
// every result. The bufio side gets the stream whole, this side in pieces.
type duel struct {
	t    *testing.T
	own  *BufReader
	std  *bufio.Reader
	size int // of the stream
	kept []*SharedMemory
	want [][]byte // what each kept frame must still say at the end
}

// same compares what was read and how it ended; want is used only without error.
func (d *duel) same(op string, n int, got, want []byte, err, wantErr error) {
	d.t.Helper()
	if err != wantErr {
		d.t.Fatalf("%s(%d): error %v, want %v", op, n, err, wantErr)
	}
	if wantErr == nil && !bytes.Equal(got, want) {
		d.t.Fatalf("%s(%d) = %q, want %q", op, n, got, want)
	}
}

// expect takes n bytes off the bufio side, all or none, after this side came to
// err. What failed for once must have taken nothing, and nothing is expected.
func (d *duel) expect(n int, err error) ([]byte, error) {
	if err == errAgain {
		return nil, err
	}
	p, err := d.std.Peek(n)
	if err == io.EOF && len(p) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	p = bytes.Clone(p)
	_, err = d.std.Discard(n)
	return p, err
}

// follow makes the bufio side skip what this side took, at most n bytes, of a call
// that goes through the stream and failed on its way.
func (d *duel) follow(n int) {
	d.t.Helper()
	ahead := int(d.own.TotalRead()) - d.own.Buffered() - d.at()
	if ahead < 0 || ahead > n {
		d.t.Fatalf("took %d bytes of %d", ahead, n)
	}
	_, _ = d.std.Discard(ahead)
}

// at is where the bufio side is in the stream.
func (d *duel) at() int { return d.size - d.std.Buffered() }

// duelOps are the methods, each with an argument 0 … 255.
var duelOps = []func(d *duel, n int){
	func(d *duel, n int) {
		c, err := d.own.ReadByte()
		if err == errAgain {
			return
		}
		want, wantErr := d.std.ReadByte()
		d.same("ReadByte", 0, []byte{c}, []byte{want}, err, wantErr)
		if n%2 == 1 && err == nil {
			d.same("UnreadByte", 0, nil, nil, d.own.UnreadByte(), d.std.UnreadByte())
		}
	},
	func(d *duel, n int) {
		got, err := d.own.Peek(n)
		want, wantErr := d.std.Peek(n)
		if err == errAgain {
			want, wantErr = want[:min(len(got), len(want))], err
		}
		d.same("Peek", n, got, want, err, wantErr)
		if !bytes.Equal(got, want) {
			d.t.Fatalf("Peek(%d) = %q with %v, want %q", n, got, err, want)
		}
	},
	func(d *duel, n int) {
		got, err := d.own.Next(n)
		want, wantErr := d.expect(n, err)
		d.same("Next", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		var views [][]byte
		err := d.own.ReadRange(n, func(p []byte) { views = append(views, p) })
		want, wantErr := d.expect(n, err)
		d.same("ReadRange", n, bytes.Join(views, nil), want, err, wantErr)
	},
	func(d *duel, n int) {
		m, err := d.own.ReadBytes(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadBytes", n, bytes.Join(m.Buffers, nil), want, err, wantErr)
		if err == nil && n <= d.own.blockLen() && len(m.Buffers) != 1 {
			d.t.Fatalf("ReadBytes(%d) in %d views", n, len(m.Buffers))
		}
	},
	func(d *duel, n int) {
		s, err := d.own.ReadShared(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadShared", n, nil, nil, err, wantErr)
		if err == nil {
			d.kept, d.want = append(d.kept, s), append(d.want, want)
		}
	},
	func(d *duel, n int) {
		s, err := d.own.ReadString(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadString", n, []byte(s), want, err, wantErr)
	},
	func(d *duel, n int) {
		got := make([]byte, n)
		err := d.own.ReadNto(n, got)
		want, wantErr := d.expect(n, err)
		d.same("ReadNto", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		err := d.own.Skip(n)
		if err == errAgain {
			d.follow(n)
			return
		}
		k, wantErr := d.std.Discard(n)
		if wantErr == io.EOF && k > 0 {
			wantErr = io.ErrUnexpectedEOF
		}
		d.same("Skip", n, nil, nil, err, wantErr)
	},
	func(d *duel, n int) {
		k, err := d.own.Discard(n)
		if err == errAgain {
			d.follow(k)
			return
		}
		want, wantErr := d.std.Discard(n)
		if k != want || err != wantErr {
			d.t.Fatalf("Discard(%d) = %d, %v, want %d, %v", n, k, err, want, wantErr)
		}
	},
	func(d *duel, n int) {
		got := make([]byte, n)
		k, err := d.own.Read(got)
		if n > 0 && k == 0 && err == nil || k > n {
			d.t.Fatalf("Read(%d) = %d, nil", n, k)
		}
		want, wantErr := d.expect(k, err)
		if err != nil && err != errAgain {
			_, wantErr = d.std.Peek(1)
		}
		d.same("Read", n, got[:k], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%8 + 1
		v, err := d.own.ReadBE64(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadBE64", n, binary.BigEndian.AppendUint64(nil, v)[8-n:], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%8 + 1
		v, err := d.own.ReadLE64(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadLE64", n, binary.LittleEndian.AppendUint64(nil, v)[:n], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%4 + 1
		v, err := d.own.ReadBE32(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadBE32", n, binary.BigEndian.AppendUint32(nil, v)[4-n:], want, err, wantErr)
	},
	func(d *duel, n int) {
		v, k, err := d.own.ReadLEB128()
		if err == errAgain {
			return
		}
		p, perr := d.std.Peek(10)
		want, size := binary.Uvarint(p)
		wantErr := perr
		switch {
		case size < 0, size == 0 && len(p) == 10:
			if !errors.Is(err, ErrOverflow) {
				d.t.Fatalf("ReadLEB128 of % x: %v", p, err)
			}
			return
		case size > 0:
			wantErr = nil
		case len(p) > 0:
			wantErr = io.ErrUnexpectedEOF
		}
		if err != wantErr || v != want || k != size {
			d.t.Fatalf("ReadLEB128 of % x = %d, %d, %v, want %d, %d, %v", p, v, k, err, want, size, wantErr)
		}
		_, _ = d.std.Discard(size)
	},
	func(d *duel, n int) {
		line, err := d.own.ReadLine()
		if err == errAgain {
			return
		}
		want, _, wantErr := d.std.ReadLine()
		d.same("ReadLine", 0, []byte(line), want, err, wantErr)
	},
	func(d *duel, n int) {
		got, err := d.own.ReadSlice(byte(n))
		if err == errAgain {
			return
		}
		want, wantErr := d.std.ReadSlice(byte(n))
		d.same("ReadSlice", n, got, want, err, wantErr)
		if !bytes.Equal(got, want) {
			d.t.Fatalf("ReadSlice(%d) = %q with %v, want %q", n, got, err, want)
		}
	},
	func(d *duel, n int) {
		delim := []byte{byte(n) & 3, byte(n) >> 7}
		got, err := d.own.ReadUntil(delim, 0)
		if err == errAgain {
			return
		}
		all, _ := d.std.Peek(d.std.Buffered())
		want, wantErr := []byte(nil), io.EOF
		if i := bytes.Index(all, delim); i >= 0 {
			want, wantErr = d.expect(i+len(delim), err)
		} else if len(all) > 0 {
			wantErr = io.ErrUnexpectedEOF
		}
		d.same("ReadUntil", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		if n > 4 {
			return // it ends the stream
		}
		var got, want bytes.Buffer
		_, err := d.own.WriteTo(&got)
		if err == errAgain {
			want, _ := d.expect(got.Len(), nil)
			d.same("WriteTo", 0, got.Bytes(), want, nil, nil)
			return
		}
		_, wantErr := d.std.WriteTo(&want)
		d.same("WriteTo", 0, got.Bytes(), want.Bytes(), err, wantErr)
	},
}

// runDuel plays ops over data, which arrives in pieces of the given sizes.
func runDuel(t *testing.T, data, sizes, ops []byte, bufLen int, mode byte) {
	mem := NewScalableMemoryAllocator(1 << 16)
	var own *BufReader
	src := &offered{t: t, src: &chunked{data: data, sizes: sizes, err: io.EOF, with: mode&1 != 0}}
	if mode&2 != 0 {
		own = NewBufReaderChan(packetsOf(data, sizes))
		own.BufLen = bufLen
	} else {
		if mode&8 != 0 {
			src.fails = sizes
		}
		own = NewBufReaderWithBufLen(src, bufLen)
	}
	own.Allocator, own.HoldViews = mem, mode&4 != 0
	d := &duel{t: t, own: own, size: len(data), std: bufio.NewReaderSize(bytes.NewReader(data), len(data)+512)}
	_, _ = d.std.Peek(1) // the model looks at what is buffered: everything
	for len(ops) >= 2 {
		src.least = own.blockLen() / 8
		if int(ops[1]) > own.blockLen()*7/8 {
			src.least = 1 // of a block that its result takes up
		}
		duelOps[int(ops[0])%len(duelOps)](d, int(ops[1]))
		ops = ops[2:]
		if p := own.TotalRead() - int64(own.Buffered()); p != int64(d.at()) {
			t.Fatalf("at byte %d, want %d", p, d.at())
		}
	}
	own.Recycle()
	for i, s := range d.kept {
		m := s.Memory()
		if got := bytes.Join(m.Buffers, nil); !bytes.Equal(got, d.want[i]) || m.Size != len(got) {
			t.Fatalf("frame %d became %q, was %q", i, got, d.want[i])
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if live := mem.GetTotalMalloc() - mem.GetTotalFree(); live != 0 {
		t.Fatalf("%d bytes are still taken", live)
	}
	if err := mem.Verify(); err != nil {
		t.Fatal(err)
	}
	_ = mem.Close()
}

// packetsOf is a closed channel that holds data in packets of the given sizes.
func packetsOf(data, sizes []byte) chan []byte {
	src := &chunked{data: data, sizes: sizes, err: io.EOF}
	var list [][]byte
	for len(src.data) > 0 && len(list) < 1<<16 {
		p := make([]byte, 256)
		n, _ := src.Read(p)
		list = append(list, p[:n])
	}
	list = append(list, src.data)
	ch := make(chan []byte, len(list))
	for _, p := range list {
		ch <- p
	}
	close(ch)
	return ch
}

func FuzzBufReader(f *testing.F) {
	f.Add([]byte("hello\r\nworld\n\x00\x80\x80\x01tail"), []byte{1, 0, 3, 7}, []byte{15, 0, 3, 4, 0, 1, 17, 9}, byte(16), byte(0))
	f.Add(noise(2000), []byte{255, 1, 64}, []byte{5, 200, 1, 255, 5, 255, 3, 100, 2, 250, 8, 255, 18, 0}, byte(100), byte(1))
	f.Add(noise(600), []byte{9}, []byte{5, 20, 1, 55, 5, 25, 3, 100, 2, 50, 16, 200, 10, 255}, byte(0), byte(2))
	f.Add(noise(900), []byte{200}, []byte{2, 20, 1, 155, 5, 225, 4, 100, 7, 250, 11, 200, 14, 255}, byte(40), byte(4))
	f.Add(noise(900), []byte{3, 4, 200}, []byte{7, 20, 15, 0, 5, 14, 3, 10, 1, 4, 2, 30, 7, 255}, byte(16), byte(8))
	f.Fuzz(func(t *testing.T, data, sizes, ops []byte, bufLen, mode byte) {
		if len(data) > 1<<14 || len(ops) > 1<<12 {
			t.Skip("too long to be told apart from the shorter ones")
		}
		if !bytes.ContainsFunc(sizes, func(r rune) bool { return r != 0 }) {
			sizes = nil // nothing but empty reads is another test
		}
		runDuel(t, data, sizes, ops, int(bufLen), mode)
	})
}

// TestBufReaderAgainstBufio is the fuzz target over random programs.
func TestBufReaderAgainstBufio(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	random := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32()) >> (rng.Uint32() % 8)
		}
		return p
	}
	for range 100 + 1400/byteStep {
		data, sizes, ops := random(rng.IntN(4000)), random(1+rng.IntN(9)), random(2*rng.IntN(60))
		sizes[0] |= 1
		runDuel(t, data, sizes, ops, 1+rng.IntN(255), byte(rng.IntN(16)))
	}
}

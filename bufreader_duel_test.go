package gomem

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"reflect"
	"testing"
)

// duel drives a BufReader and a bufio.Reader over the same stream and compares
// every result. The bufio side gets the stream whole, this side in pieces.
type duel struct {
	t    *testing.T
	own  *BufReader
	std  *bufio.Reader
	data []byte // the stream
	size int    // of the stream
	kept []*SharedMemory
	want [][]byte // what each kept frame must still say at the end
	lent []lent   // the views that HoldViews keeps
	back bool     // UnreadByte must work now, if bytes were consumed
}

// lend remembers views that HoldViews keeps, at the place where they are in the stream.
func (d *duel) lend(at int, views ...[]byte) {
	for _, p := range views {
		if d.own.HoldViews {
			d.lent = append(d.lent, lent{p, at})
		}
		at += len(p)
	}
}

// returned ends the views of HoldViews, which must be as they were.
func (d *duel) returned() {
	d.t.Helper()
	for _, v := range d.lent {
		if !bytes.Equal(v.p, d.data[v.at:v.at+len(v.p)]) {
			d.t.Fatalf("the view of %d bytes at %d changed", len(v.p), v.at)
		}
	}
	d.lent = d.lent[:0]
	if err := d.own.Release(nil); err != nil || d.own.ReadLen() != 0 {
		d.t.Fatalf("Release: %v, ReadLen %d", err, d.own.ReadLen())
	}
}

// refused reports that n bytes are more than MaxFrameBytes, which err must say.
func (d *duel) refused(op string, n int, err error) bool {
	d.t.Helper()
	most := d.own.MaxFrameBytes
	if most <= 0 || n <= most {
		return false
	}
	if got, ok := err.(*LimitError); !ok || *got != (LimitError{op, "MaxFrameBytes", most, n}) {
		d.t.Fatalf("%s(%d) with MaxFrameBytes %d: %v", op, n, most, err)
	}
	return true
}

// endless reports that a delim is not among the bytes that MaxLineBytes allows, which
// err must say. It returns where the delim ends, 0 if there is none.
func (d *duel) endless(op string, delim []byte, err error) (int, bool) {
	d.t.Helper()
	end, have := 0, d.size-d.at()
	if i := bytes.Index(d.data[d.at():], delim); i >= 0 {
		end, have = i+len(delim), i+len(delim)-1
	}
	most := d.own.MaxLineBytes
	if most <= 0 || have < most {
		return end, false
	}
	got, ok := err.(*LimitError)
	if !ok || got.Op != op || got.Limit != "MaxLineBytes" || got.Max != most || got.Size <= most {
		d.t.Fatalf("%s up to %q, which ends at %d of %d, with MaxLineBytes %d: %v", op, delim, end, d.size-d.at(), most, err)
	}
	return end, true
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
	straight := n >= d.own.blockLen() && (op == "Read" || op == "ReadNto" || op == "ReadBinary")
	d.back = err == nil && op != "WriteTo" && !straight
}

// again unreads the last byte and reads it once more.
func (d *duel) again() {
	d.t.Helper()
	if err := d.own.UnreadByte(); err != nil {
		d.t.Fatalf("at byte %d: %v", d.at(), err)
	}
	if c, err := d.own.ReadByte(); err != nil || c != d.data[d.at()-1] {
		d.t.Fatalf("the byte before %d is %q, %v, want %q", d.at(), c, err, d.data[d.at()-1])
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

// stream reads a range beyond MaxFrameBytes, which consumes what it yields.
func (d *duel) stream(n int) {
	var got []byte
	at := d.at()
	err := d.own.ReadRange(n, func(p []byte) {
		if got = append(got, p...); len(p) == 0 {
			d.t.Fatal("an empty view")
		}
	})
	d.follow(n)
	want, wantErr := d.data[at:min(at+n, d.size)], error(nil)
	switch {
	case err == errAgain:
		want, wantErr = d.data[at:d.at()], err
	case len(want) == 0:
		wantErr = io.EOF
	case len(want) < n:
		wantErr = io.ErrUnexpectedEOF
	}
	if err != wantErr || !bytes.Equal(got, want) || d.at() != at+len(want) {
		d.t.Fatalf("ReadRange(%d) at %d of %d gave %d bytes, %v, want %d, %v", n, at, d.size, len(got), err, len(want), wantErr)
	}
}

// number compares v with the number that value makes of the next n bytes.
func (d *duel) number(op string, n, v int, err error, value func(p []byte) uint64) {
	d.t.Helper()
	if p, _ := d.std.Peek(n); len(p) == n && err != errAgain && value(bytes.Clone(p)) > math.MaxInt {
		expectError(d.t, err, ErrOverflow)
		return
	}
	want, wantErr := d.expect(n, err)
	d.same(op, n, nil, nil, err, wantErr)
	if err == nil && uint64(v) != value(want) {
		d.t.Fatalf("%s(%d) = %#x of % x", op, n, v, want)
	}
}

// failingWriter writes to one that stops after n/4 bytes, in one of the ways there are.
func (d *duel) failingWriter(n int) {
	left, at := n/4, d.at()
	var got []byte
	k, err := d.own.WriteTo(writerFunc(func(p []byte) (int, error) {
		if len(p) <= left {
			got = append(got, p...)
			left -= len(p)
			return len(p), nil
		}
		switch n % 4 {
		case 0:
			return -1, nil
		case 1:
			return len(p) + 1, errReset
		}
		got = append(got, p[:left]...)
		if n%4 == 2 {
			return left, nil
		}
		return left, errReset
	}))
	wantErr := []error{ErrInvalidWrite, ErrInvalidWrite, io.ErrShortWrite, errReset}[n%4]
	switch {
	case err == errAgain:
		wantErr = err
	case at+len(got) == d.size:
		wantErr = nil
	case n%4 > 1 && len(got) != n/4:
		d.t.Fatalf("WriteTo stopped after %d of %d bytes", len(got), n/4)
	}
	want, _ := d.expect(len(got), nil)
	d.same("WriteTo", n, got, want, err, wantErr)
	if k != int64(len(got)) {
		d.t.Fatalf("WriteTo = %d, %v, where %d bytes were taken", k, err, len(got))
	}
}

// headerLines reads a header as a reader does that has it all in one block.
func (d *duel) headerLines(int) {
	other := NewBufReader(bytes.NewReader(d.data[d.at():]))
	defer other.Recycle()
	other.MaxLineBytes = d.own.MaxLineBytes
	want, wantErr := other.ReadMIMEHeader()
	got, err := d.own.ReadMIMEHeader()
	if err == errAgain {
		d.follow(int(other.TotalRead()) - other.Buffered())
		return
	}
	for _, err := range []error{err, wantErr} {
		if limit, ok := err.(*LimitError); ok {
			limit.Size = limit.Max // how much was seen of it depends on the pieces
		}
	}
	if !reflect.DeepEqual(err, wantErr) || !reflect.DeepEqual(got, want) {
		d.t.Fatalf("a header = %q, %v, want %q, %v", got, err, want, wantErr)
	}
	_, _ = d.std.Discard(int(other.TotalRead()) - other.Buffered())
}

// runDuel plays ops over data, which arrives in pieces of the given sizes. The bits of
// mode: the end comes with the last bytes, packets, HoldViews, a source that fails now
// and then, UnreadByte after each call.
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
	d := &duel{t: t, own: own, data: data, size: len(data), std: bufio.NewReaderSize(bytes.NewReader(data), len(data)+512)}
	_, _ = d.std.Peek(1) // the model looks at what is buffered: everything
	for len(ops) >= 2 {
		src.least = own.blockLen() / 8
		if int(ops[1]) > own.blockLen()*7/8 {
			src.least = 1 // of a block that its result takes up
		}
		at := d.at()
		d.back = false
		duelOps[int(ops[0])%len(duelOps)](d, int(ops[1]))
		ops = ops[2:]
		if mode&16 != 0 && d.back && d.at() > at {
			d.again()
		}
		if p := own.TotalRead() - int64(own.Buffered()); p != int64(d.at()) {
			t.Fatalf("at byte %d, want %d", p, d.at())
		}
	}
	d.returned()
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

package gomem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"testing"
)

func TestG03SkipAcrossBuffers(t *testing.T) {
	for _, c := range []struct {
		lens []int
		skip int
	}{{[]int{1, 5, 5}, 3}, {[]int{5, 1, 6}, 7}, {[]int{1, 2, 3}, 6}} {
		var list [][]byte
		data := sequence(12)
		for start := 0; len(c.lens) > 0; c.lens = c.lens[1:] {
			list = append(list, data[start:start+c.lens[0]])
			start += c.lens[0]
		}
		r := NewReadableBuffersFromBytes(list...)
		if err := r.Skip(c.skip); err != nil {
			t.Errorf("%v: Skip(%d) = %v", list, c.skip, err)
		}
		b, err := r.ReadByte()
		if c.skip == r.Size {
			if err != io.EOF {
				t.Errorf("%v: ReadByte after Skip(%d) = %d, %v, want EOF", list, c.skip, b, err)
			}
		} else if b != data[c.skip] || err != nil {
			t.Errorf("%v: ReadByte after Skip(%d) = %d, %v", list, c.skip, b, err)
		}
	}
}

func TestM17SkipZeroAtEnd(t *testing.T) {
	r := NewReadableBuffersFromBytes(sequence(3), sequence(3), sequence(5))
	if err := r.Skip(3); err != nil {
		t.Fatal(err)
	}
	if b, err := r.ReadByte(); b != 1 || err != nil {
		t.Errorf("ReadByte = %d, %v", b, err)
	}
	r.MoveToEnd()
	if err := r.Skip(0); err != nil {
		t.Errorf("Skip(0) at the end = %v", err)
	}
}

func TestG04CopyHonoursPosition(t *testing.T) {
	r := NewReadableBuffersFromBytes([]byte("header:"), []byte("body"))
	if _, err := r.ReadBytes(7); err != nil {
		t.Fatal(err)
	}
	if got := string(r.ToBytes()); got != "body" {
		t.Errorf("ToBytes = %q", got)
	}
	buf := make([]byte, 4)
	if r.CopyTo(buf); string(buf) != "body" {
		t.Errorf("CopyTo gives %q", buf)
	}
	for _, want := range []string{"body", ""} {
		var out bytes.Buffer
		n, err := io.Copy(&out, &r)
		if int(n) != len(want) || err != nil || out.String() != want || r.Length != 0 {
			t.Errorf("io.Copy = %d, %v: %q, want %q; Length %d", n, err, out.String(), want, r.Length)
		}
	}
}

func TestG27EmptyBuffers(t *testing.T) {
	at := func() *MemoryReader {
		r := NewReadableBuffersFromBytes(nil, []byte{}, []byte{1, 2}, nil)
		return &r
	}
	b1, e1 := at().ReadByte()
	b2, e2 := at().ReadBE(2)
	b3, n3, e3 := at().LEB128Unmarshal()
	var b4 byte
	e4 := at().ReadByteTo(&b4)
	b5, e5 := at().ReadByteMask(1)
	b6 := at().GetCurrent()
	if b1 != 1 || b2 != 0x102 || b3 != 1 || n3 != 1 || b4 != 1 || b5 != 1 || len(b6) != 2 {
		t.Errorf("values %v %#x %v/%v %v %v %v", b1, b2, b3, n3, b4, b5, b6)
	}
	if err := errors.Join(e1, e2, e3, e4, e5); err != nil {
		t.Error(err)
	}
}

func TestG28Unread(t *testing.T) {
	r := NewReadableBuffersFromBytes(sequence(3))
	if _, err := r.ReadByte(); err != nil {
		t.Fatal(err)
	}
	if err := r.TryUnread(2); !errors.Is(err, ErrInvalidUnread) {
		t.Errorf("Unread(2) = %v", err)
	}
	if err := r.TryUnread(-1); !errors.Is(err, ErrInvalidSize) {
		t.Errorf("Unread(-1) = %v", err)
	}
	if r.Length != 2 || r.Offset() != 1 {
		t.Errorf("a refused Unread moved the reader: Length %d Offset %d", r.Length, r.Offset())
	}
	if err := r.UnreadByte(); err != nil || r.Length != 3 {
		t.Errorf("UnreadByte = %v, Length %d", err, r.Length)
	}
	if err := r.TryUnread(math.MaxInt); !errors.Is(err, ErrInvalidUnread) {
		t.Errorf("Unread(MaxInt) = %v", err)
	}
}

func TestG29LEB128(t *testing.T) {
	type row struct {
		enc  []byte
		want uint64
		err  error
	}
	var rows []row
	for shift := range 64 {
		for _, v := range []uint64{1 << shift, 1<<shift - 1, math.MaxUint64 >> shift} {
			rows = append(rows, row{enc: binary.AppendUvarint(nil, v), want: v})
		}
	}
	rows = append(rows,
		row{enc: []byte{0x81, 0x00}, want: 1},
		row{enc: append(bytes.Repeat([]byte{0x80}, 9), 0), want: 0},
		row{enc: bytes.Repeat([]byte{0x80}, 20), err: ErrOverflow},
		row{enc: append(bytes.Repeat([]byte{0xff}, 9), 2), err: ErrOverflow},
		row{enc: append(bytes.Repeat([]byte{0xff}, 9), 0x81, 0), err: ErrOverflow},
		row{enc: []byte{0x80, 0x80}, err: io.ErrUnexpectedEOF},
		row{enc: []byte{}, err: io.EOF},
	)
	for _, c := range rows {
		if c.err == nil && bits.UintSize == 32 && c.want > math.MaxUint32 {
			c.err = ErrOverflow
		}
		for frags := 1; frags <= max(len(c.enc), 1); frags++ {
			r := NewReadableBuffersFromBytes(append(cut(c.enc, frags), nil)...)
			v, n, err := r.LEB128Unmarshal()
			if c.err != nil {
				if !errors.Is(err, c.err) || n != 0 || r.Length != len(c.enc) {
					t.Fatalf("%x in %d buffers: %d, %d, %v, %d left; want %v", c.enc, frags, v, n, err, r.Length, c.err)
				}
			} else if uint64(v) != c.want || n != len(c.enc) || err != nil || r.Length != 0 {
				t.Fatalf("%x in %d buffers: %d, %d, %v, %d left; want %d", c.enc, frags, v, n, err, r.Length, c.want)
			}
		}
	}
}

func TestG30ReadBE(t *testing.T) {
	data := []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}
	for frags := 1; frags <= 8; frags++ {
		at := func() *MemoryReader {
			r := NewReadableBuffersFromBytes(cut(data, frags)...)
			return &r
		}
		for _, n := range []int{-1, 5, 8, 9} {
			r := at()
			_, errBE := r.ReadBE(n)
			_, errLE := r.ReadLE(n)
			if !errors.Is(errBE, ErrInvalidSize) || !errors.Is(errLE, ErrInvalidSize) || r.Length != 8 {
				t.Errorf("ReadBE(%d) = %v, ReadLE = %v, %d left", n, errBE, errLE, r.Length)
			}
		}
		r := at()
		_, errBE := r.ReadBE64(9)
		_, errLE := r.ReadLE64(9)
		if !errors.Is(errBE, ErrInvalidSize) || !errors.Is(errLE, ErrInvalidSize) || r.Length != 8 {
			t.Errorf("ReadBE64(9) = %v, ReadLE64(9) = %v", errBE, errLE)
		}
		be4, _ := at().ReadBE(4)
		le4, _ := at().ReadLE(4)
		be3, _ := at().ReadBE(3)
		le3, _ := at().ReadLE(3)
		be8, _ := at().ReadBE64(8)
		le8, _ := at().ReadLE64(8)
		if be4 != 0x12345678 || le4 != 0x78563412 || be3 != 0x123456 || le3 != 0x563412 ||
			be8 != 0x123456789abcdef0 || le8 != 0xf0debc9a78563412 {
			t.Errorf("%d buffers: %x %x %x %x %x %x", frags, be4, le4, be3, le3, be8, le8)
		}
		if err := r.Skip(6); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadBE(4); err != io.ErrUnexpectedEOF || r.Length != 2 {
			t.Errorf("ReadBE(4) of 2 bytes = %v, %d left", err, r.Length)
		}
		if v, err := r.ReadBE(0); v != 0 || err != nil {
			t.Errorf("ReadBE(0) = %d, %v", v, err)
		}
	}
}

func TestG32ClipFront(t *testing.T) {
	data := sequence(6)
	for _, list := range fragmentations(data) {
		for pos := range len(data) + 1 {
			for more := range len(data) - pos + 1 {
				callers := append([][]byte(nil), list...)
				r := NewReadableBuffersFromBytes(callers...)
				kept := *r.Memory
				if err := r.Skip(pos); err != nil {
					t.Fatal(err)
				}
				var dropped []byte
				r.ClipFront(func(b []byte) bool {
					if len(b) == 0 {
						t.Errorf("%v at %d: ClipFront yields an empty piece", list, pos)
					}
					dropped = append(dropped, b...)
					return false
				})
				if !bytes.Equal(dropped, data[:pos]) {
					t.Fatalf("%v at %d: ClipFront drops %v", list, pos, dropped)
				}
				checkMemory(t, r.Memory, string(data[pos:]))
				checkMemory(t, &kept, string(data))
				if n := r.Count(); n > 0 && pos > 0 && len(r.Buffers[0]) == 0 && len(list[len(list)-n]) > 0 {
					t.Errorf("%v at %d: what was yielded whole is still in the chain", list, pos)
				}
				for i := range list {
					if !bytes.Equal(callers[i], list[i]) {
						t.Fatalf("ClipFront at %d changed the caller's buffer %d of %v to %v", pos, i, list, callers[i])
					}
				}
				if err := r.TryUnread(1); !errors.Is(err, ErrInvalidUnread) {
					t.Fatalf("Unread after ClipFront = %v", err)
				}
				if err := r.Skip(more); err != nil {
					t.Fatal(err)
				}
				r.ClipFront(nil)
				checkMemory(t, r.Memory, string(data[pos+more:]))
				r.PushOne([]byte{99})
				r.Length++
				checkPosition(t, &r, append(append([]byte(nil), data[pos+more:]...), 99), 0)
				checkMemory(t, &kept, string(data))
			}
		}
	}
}

func TestG36ReaderEdges(t *testing.T) {
	r := NewReadableBuffersFromBytes([]byte{1})
	if _, err := r.ReadBytes(-1); !errors.Is(err, ErrInvalidSize) {
		t.Errorf("ReadBytes(-1) = %v", err)
	}
	if err := r.Skip(-1); !errors.Is(err, ErrInvalidSize) || r.Length != 1 {
		t.Errorf("Skip(-1) = %v, %d left", err, r.Length)
	}
	r.RangeN(-1, func([]byte) { t.Error("RangeN(-1) yields") })
	if _, err := r.ReadBytes(math.MaxInt); err != io.ErrUnexpectedEOF {
		t.Errorf("ReadBytes(MaxInt) = %v", err)
	}
	r.MoveToEnd()
	if b, err := r.ReadBytes(0); len(b) != 0 || err != nil {
		t.Errorf("ReadBytes(0) at the end = %v, %v", b, err)
	}
	if b := r.GetCurrent(); b != nil {
		t.Errorf("GetCurrent at the end = %v", b)
	}
}

// TestMoveToEndIsLength: what the program adds to Length afterwards is read next.
func TestMoveToEndIsLength(t *testing.T) {
	for name, move := range map[string]func(r *MemoryReader){
		"MoveToEnd": (*MemoryReader).MoveToEnd,
		"Range nil": func(r *MemoryReader) { r.Range(nil) },
		"Range":     func(r *MemoryReader) { r.Range(func([]byte) {}) },
		"Skip":      func(r *MemoryReader) { _ = r.Skip(r.Length) },
	} {
		m := NewMemory([]byte("abc"))
		r := m.NewReader()
		m.Push([]byte("de"), []byte("fg"))
		move(&r)
		if r.Length != 0 || r.GetCurrent() != nil {
			t.Errorf("%s: %d bytes are left", name, r.Length)
		}
		r.Length += 2
		if b, err := r.ReadBytes(2); string(b) != "de" || err != nil {
			t.Errorf("%s: then %q, %v, want de", name, b, err)
		}
		r.Length += 2
		r.Length-- // "f" alone is to be read
		move(&r)
		if err := r.TryUnread(2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := r.ReadBytes(2); string(b) != "ef" || err != nil {
			t.Errorf("%s: unread %q, %v, want ef", name, b, err)
		}
	}
}

// TestRangeOfWhatIsGone: Range calls nothing and leaves nothing to read when what was
// being read is taken away, and the next buffer if that is still there.
func TestRangeOfWhatIsGone(t *testing.T) {
	for name, take := range map[string]func(r *MemoryReader){
		"Memory is nil":       func(r *MemoryReader) { r.Memory = nil },
		"Memory is another":   func(r *MemoryReader) { r.Memory = new(Memory) },
		"Memory is reset":     func(r *MemoryReader) { r.Memory.Reset() },
		"buffer is shortened": func(r *MemoryReader) { r.Buffers[0] = r.Buffers[0][:1] },
	} {
		r := NewReadableBuffersFromBytes([]byte("abc"), []byte("def"))
		if err := r.Skip(2); err != nil {
			t.Fatal(err)
		}
		take(&r)
		r.Range(func(b []byte) { t.Errorf("%s: Range yields %q", name, b) })
		want := 0
		if name == "buffer is shortened" {
			want = 4
		}
		if r.Length != want {
			t.Errorf("%s: %d bytes left, want %d", name, r.Length, want)
		}
	}
	r := NewReadableBuffersFromBytes([]byte("abc"))
	var got []byte
	r.Range(func(b []byte) { got = append(got, b...) })
	r.PushOne([]byte("d"))
	r.Length++
	if err := r.TryUnread(1); err != nil {
		t.Error(err)
	}
	r.Range(func(b []byte) { got = append(got, b...) })
	if string(got) != "abccd" {
		t.Errorf("Range yields %q", got)
	}
}

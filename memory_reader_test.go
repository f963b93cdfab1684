package gomem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// fragmentations yields every way to cut data into buffers, each also with an
// empty buffer before, between and after.
func fragmentations(data []byte) [][][]byte {
	var all [][][]byte
	for mask := range 1 << max(len(data)-1, 0) {
		var plain, holes [][]byte
		holes = append(holes, nil)
		start := 0
		for i := 1; i <= len(data); i++ {
			if i == len(data) || mask>>(i-1)&1 == 1 {
				plain = append(plain, data[start:i:i])
				holes = append(holes, data[start:i:i], []byte{})
				start = i
			}
		}
		all = append(all, plain, holes)
	}
	return all
}

func sequence(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// wantEnd is the error of a read of n bytes where left are left.
func wantEnd(n, left int) error {
	switch {
	case n < 0:
		return ErrInvalidSize
	case n <= left:
		return nil
	case left == 0:
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

// TestMemoryReaderAllCuts runs every method at every position of every cut of
// a short sequence, with every count, against the sequence itself.
func TestMemoryReaderAllCuts(t *testing.T) {
	const size = 7
	data := sequence(size)
	ops := map[string]func(r *MemoryReader, n int) ([]byte, error){
		"ReadBytes": func(r *MemoryReader, n int) ([]byte, error) { return r.ReadBytes(n) },
		"Skip": func(r *MemoryReader, n int) ([]byte, error) {
			at := r.Offset()
			if err := r.Skip(n); err != nil {
				return nil, err
			}
			return data[at : at+n], nil
		},
		"ReadBE64": func(r *MemoryReader, n int) ([]byte, error) {
			v, err := r.ReadBE64(n)
			if err != nil {
				return nil, err
			}
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], v)
			return b[8-n:], nil
		},
		"ReadLE64": func(r *MemoryReader, n int) ([]byte, error) {
			v, err := r.ReadLE64(n)
			if err != nil {
				return nil, err
			}
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			return b[:n], nil
		},
		"ReadByteTo": func(r *MemoryReader, n int) ([]byte, error) {
			if n < 0 {
				return nil, ErrInvalidSize
			}
			b := make([]byte, n)
			to := make([]*byte, n)
			for i := range to {
				to[i] = &b[i]
			}
			err := r.ReadByteTo(to...)
			if err != nil && !bytes.Equal(b, make([]byte, n)) {
				return b, fmt.Errorf("targets written although it failed: %w", err)
			}
			return b, err
		},
		"Read": func(r *MemoryReader, n int) ([]byte, error) {
			if err := wantEnd(n, r.Length); err != nil {
				return nil, err
			}
			b := make([]byte, n)
			_, err := io.ReadFull(r, b)
			return b, err
		},
		"RangeN": func(r *MemoryReader, n int) ([]byte, error) {
			if err := wantEnd(n, r.Length); err != nil {
				return nil, err
			}
			var b []byte
			r.RangeN(n, func(p []byte) { b = append(b, p...) })
			return b, nil
		},
	}
	for _, list := range fragmentations(data) {
		for pos := range size + 1 {
			for n := -1; n <= size+1; n++ {
				for name, op := range ops {
					r := NewReadableBuffersFromBytes(list...)
					if err := r.Skip(pos); err != nil {
						t.Fatalf("%v: Skip(%d): %v", list, pos, err)
					}
					got, err := op(&r, n)
					want := wantEnd(n, size-pos)
					if !errors.Is(err, want) {
						t.Fatalf("%v at %d: %s(%d) = %v, want %v", list, pos, name, n, err, want)
					}
					end := pos
					if want == nil {
						end += n
						if !bytes.Equal(got, data[pos:end]) {
							t.Fatalf("%v at %d: %s(%d) = %v", list, pos, name, n, got)
						}
					}
					checkPosition(t, &r, data, end)
				}
			}
		}
	}
}

// checkPosition fails unless r stands at pos of data, and unreading to any
// earlier position works.
func checkPosition(t *testing.T, r *MemoryReader, data []byte, pos int) {
	t.Helper()
	if r.Length != len(data)-pos || r.Offset() != pos || !bytes.Equal(r.ToBytes(), data[pos:]) {
		t.Fatalf("%v: Length %d Offset %d rest %v, want position %d", r.Buffers, r.Length, r.Offset(), r.ToBytes(), pos)
	}
	for back := range pos + 1 {
		c := *r
		if err := c.TryUnread(back); err != nil || !bytes.Equal(c.ToBytes(), data[pos-back:]) || c.Offset() != pos-back {
			t.Fatalf("%v at %d: Unread(%d): %v, rest %v", r.Buffers, pos, back, err, c.ToBytes())
		}
	}
	for _, back := range []int{pos + 1, pos + 1000} {
		c := *r
		if err := c.TryUnread(back); !errors.Is(err, ErrInvalidUnread) || c.Length != r.Length || c.Offset() != pos {
			t.Fatalf("%v at %d: Unread(%d): %v, now at %d", r.Buffers, pos, back, err, c.Offset())
		}
	}
}

// TestMemoryReaderWholeRest covers the methods that take no count.
func TestMemoryReaderWholeRest(t *testing.T) {
	const size = 6
	data := sequence(size)
	for _, list := range fragmentations(data) {
		for pos := range size + 1 {
			at := func() MemoryReader {
				r := NewReadableBuffersFromBytes(list...)
				if err := r.Skip(pos); err != nil {
					t.Fatal(err)
				}
				return r
			}
			rest := data[pos:]

			r := at()
			var b []byte
			r.Range(func(p []byte) { b = append(b, p...) })
			if !bytes.Equal(b, rest) {
				t.Fatalf("%v at %d: Range gives %v", list, pos, b)
			}
			checkPosition(t, &r, data, size)

			r = at()
			r.Range(nil)
			checkPosition(t, &r, data, size)

			r = at()
			r.RangeN(pos, nil)
			checkPosition(t, &r, data, min(2*pos, size))

			r = at()
			b = nil
			for cur := r.GetCurrent(); cur != nil; cur = r.GetCurrent() {
				if popped := r.Pop(); !bytes.Equal(popped, cur) || len(cur) != cap(cur) {
					t.Fatalf("%v at %d: GetCurrent %v, Pop %v", list, pos, cur, popped)
				}
				b = append(b, cur...)
			}
			if !bytes.Equal(b, rest) || r.Pop() != nil {
				t.Fatalf("%v at %d: Pop gives %v", list, pos, b)
			}

			r = at()
			buf := make([]byte, size)
			r.CopyTo(buf)
			if want := append(slices.Clone(rest), make([]byte, pos)...); !bytes.Equal(buf, want) {
				t.Fatalf("%v at %d: CopyTo gives %v", list, pos, buf)
			}
			restMemory, all := NewMemory(rest), NewMemory(data)
			if !r.Equal(&restMemory) || r.Equal(&all) != (pos == 0) || r.Equal(nil) != (pos == size) {
				t.Fatalf("%v at %d: Equal does not compare what is left", list, pos)
			}
			checkPosition(t, &r, data, pos)

			var out bytes.Buffer
			if n, err := r.WriteTo(&out); int(n) != len(rest) || err != nil || !bytes.Equal(out.Bytes(), rest) {
				t.Fatalf("%v at %d: WriteTo = %d, %v: %v", list, pos, n, err, out.Bytes())
			}
			checkPosition(t, &r, data, size)

			r = at()
			for i, want := range rest {
				got, err := r.ReadByteMask(0x3f)
				if got != want || err != nil {
					t.Fatalf("%v at %d: ReadByteMask = %d, %v", list, pos+i, got, err)
				}
				checkPosition(t, &r, data, pos+i+1)
			}
			if _, err := r.ReadByte(); err != io.EOF {
				t.Fatalf("ReadByte at the end: %v", err)
			}
			r.MoveToEnd()
			checkPosition(t, &r, data, size)
			if r.GetCurrent() != nil {
				t.Fatal("GetCurrent at the end is not nil")
			}
		}
	}
}

func TestMemoryReaderStandard(t *testing.T) {
	for _, list := range fragmentations(sequence(8)) {
		r := NewReadableBuffersFromBytes(list...)
		if err := iotest.TestReader(&r, sequence(8)); err != nil {
			t.Fatalf("%v: %v", list, err)
		}
	}
	large := bytes.Repeat(sequence(251), 40)
	for _, frags := range []int{1, 2, 7, 100, 4096} {
		r := NewReadableBuffersFromBytes(cut(large, frags)...)
		if err := iotest.TestReader(&r, large); err != nil {
			t.Fatalf("%d buffers: %v", frags, err)
		}
	}
}

func TestMemoryReaderZero(t *testing.T) {
	var r MemoryReader
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read = %d, %v", n, err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("Read(nil) = %d, %v", n, err)
	}
	_, errByte := r.ReadByte()
	_, _, errNum := r.LEB128Unmarshal()
	if errByte != io.EOF || errNum != io.EOF || r.Skip(1) != io.EOF || r.Skip(0) != nil {
		t.Errorf("errors at the end: %v %v", errByte, errNum)
	}
	if err := r.UnreadByte(); !errors.Is(err, ErrInvalidUnread) {
		t.Errorf("UnreadByte = %v", err)
	}
	if n, err := r.WriteTo(io.Discard); n != 0 || err != nil {
		t.Errorf("WriteTo = %d, %v", n, err)
	}
	r.Range(func([]byte) { t.Error("Range yields") })
	r.ClipFront(nil)
	r.MoveToEnd()
	r.Reset()
	if r.Offset() != 0 || r.GetCurrent() != nil || r.Pop() != nil || len(r.ToBytes()) != 0 {
		t.Error("a zero reader holds something")
	}
}

// A Length that promises more than the Memory has is a caller's error; it must
// end in an error.
func TestMemoryReaderFalseLength(t *testing.T) {
	at := func() *MemoryReader {
		r := NewReadableBuffersFromBytes([]byte{1, 2}, []byte{0x83})
		r.Length += 5
		return &r
	}
	_, e1 := at().ReadBytes(5)
	_, e2 := at().ReadBE(4)
	e3 := at().Skip(5)
	_, e4 := io.ReadAll(at())
	_, e5 := at().WriteTo(io.Discard)
	r := at()
	r.RangeN(3, nil)
	_, e6 := r.ReadByte()
	r = at()
	r.RangeN(2, nil)
	_, _, e7 := r.LEB128Unmarshal()
	e8 := at().ReadByteTo(make([]*byte, 4)...)
	r = at()
	r.RangeN(3, nil)
	_, _, e9 := r.LEB128Unmarshal()
	r = at()
	r.Length -= 4 // one too many
	_, e10 := r.WriteTo(io.Discard)
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10} {
		if err != io.ErrUnexpectedEOF {
			t.Errorf("case %d: %v, want %v", i+1, err, io.ErrUnexpectedEOF)
		}
	}
	r = at()
	r.Range(nil)
	r = at()
	r.Range(func([]byte) {})
	if got := at().ToBytes(); len(got) != 3 {
		t.Errorf("ToBytes gives %v", got)
	}
	if other := NewMemory(make([]byte, 8)); at().Equal(&other) {
		t.Error("bytes that are not there are equal to others")
	}
	same := NewMemory([]byte{1, 2, 0x83})
	same.Size += 5
	if at().Equal(&same) {
		t.Error("bytes that are not there are equal to others that are not")
	}
	r = at()
	if _, err := r.ReadLE64(8); err == nil || r.Offset() != 0 {
		t.Errorf("a number that is not all there leaves the reader at %d, %v", r.Offset(), err)
	}
}

// A Memory that is emptied under its reader, or taken from it, is a caller's error too:
// what the reader holds may still be read, and then it ends.
func TestMemoryReaderLosesMemory(t *testing.T) {
	for i, lose := range []func(*MemoryReader){
		func(r *MemoryReader) { r.Memory.Reset() },
		func(r *MemoryReader) { r.Memory = nil },
	} {
		for pos := range 5 {
			var m Memory
			m.Push([]byte{1, 2}, []byte{3, 4})
			r := m.NewReader()
			if err := r.Skip(pos); err != nil {
				t.Fatal(err)
			}
			lose(&r)
			r.ClipFront(func([]byte) bool { t.Error("ClipFront yields"); return true })
			if err := r.TryUnread(pos); pos > 2 && err == nil {
				t.Errorf("way %d, at %d: Unread reaches a buffer that is gone", i, pos)
			}
			r.Range(func([]byte) {})
			if _, err := r.ReadByte(); err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Errorf("way %d, at %d: ReadByte = %v", i, pos, err)
			}
			r.MoveToEnd()
		}
	}
}

// A buffer pushed while reading is read once Length says so.
func TestMemoryReaderGrows(t *testing.T) {
	var m Memory
	r := m.NewReader()
	for i := range byte(20) {
		if _, err := r.ReadByte(); err != io.EOF {
			t.Fatalf("ReadByte before byte %d: %v", i, err)
		}
		m.PushOne([]byte{i, i})
		r.Length += 2
		v, err := r.ReadBE(2)
		if err != nil || v != uint32(i)*0x101 {
			t.Fatalf("ReadBE(2) = %#x, %v", v, err)
		}
	}
	if err := r.TryUnread(40); err != nil || r.Offset() != 0 {
		t.Errorf("Unread(40) = %v, at %d", err, r.Offset())
	}
}

func TestMemoryReaderRangeMayRead(t *testing.T) {
	r := NewReadableBuffersFromBytes([]byte{1, 2}, []byte{3, 4}, []byte{5})
	var got []byte
	r.Range(func(b []byte) {
		got = append(got, b...)
		if b[0] == 1 {
			c, err := r.ReadByte()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
	})
	if !bytes.Equal(got, sequence(5)) || r.Length != 0 {
		t.Errorf("got %v, %d left", got, r.Length)
	}
}

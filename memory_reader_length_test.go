package gomem

import (
	"bytes"
	"io"
	"testing"
)

// TestMemoryReaderLowerLength: a Length that was lowered is the end, for each method
// and wherever the buffers are cut.
func TestMemoryReaderLowerLength(t *testing.T) {
	const size = 6
	data := sequence(size)
	for _, list := range fragmentations(data) {
		for pos := range size + 1 {
			for n := range size - pos + 1 {
				at := func() *MemoryReader {
					r := NewReadableBuffersFromBytes(list...)
					if err := r.Skip(pos); err != nil {
						t.Fatal(err)
					}
					r.Length = n
					return &r
				}
				want := data[pos : pos+n]
				for name, read := range wholeReads {
					r := at()
					got, err := read(r)
					if err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%v at %d, %d left: %s gives %v, %v", list, pos, n, name, got, err)
					}
					if r.Length != 0 && r.Length != n {
						t.Fatalf("%v at %d, %d left: %d left after %s", list, pos, n, r.Length, name)
					}
				}
				end := wantEnd(n+1, n)
				_, e1 := at().ReadBytes(n + 1)
				e2 := at().Skip(n + 1)
				_, e3 := at().ReadBE64(n + 1)
				_, e4 := at().ReadLE64(n + 1)
				e5 := at().ReadByteTo(make([]*byte, n+1)...)
				e6 := end
				if n < 4 {
					_, e6 = at().ReadBE(n + 1)
				}
				for i, err := range []error{e1, e2, e3, e4, e5, e6} {
					if err != end {
						t.Fatalf("%v at %d, %d left: one byte more, case %d: %v, want %v", list, pos, n, i+1, err, end)
					}
				}
				whole := NewMemory(data[pos:])
				if rest := NewMemory(want); !at().Equal(&rest) || n < size-pos && at().Equal(&whole) {
					t.Fatalf("%v at %d, %d left: Equal looks beyond", list, pos, n)
				}
			}
		}
	}
}

// wholeReads are the ways to get at all that is left.
var wholeReads = map[string]func(r *MemoryReader) ([]byte, error){
	"Read": func(r *MemoryReader) ([]byte, error) { return io.ReadAll(r) },
	"ReadByte": func(r *MemoryReader) (b []byte, err error) {
		for {
			c, err := r.ReadByteMask(0x7f)
			if err == io.EOF {
				return b, nil
			}
			if err != nil {
				return b, err
			}
			b = append(b, c)
		}
	},
	"LEB128": func(r *MemoryReader) (b []byte, err error) {
		for {
			v, _, err := r.LEB128Unmarshal()
			if err == io.EOF {
				return b, nil
			}
			if err != nil {
				return b, err
			}
			b = append(b, byte(v))
		}
	},
	"ReadBytes": func(r *MemoryReader) ([]byte, error) { return r.ReadBytes(r.Length) },
	"Range": func(r *MemoryReader) (b []byte, err error) {
		r.Range(func(p []byte) { b = append(b, p...) })
		return b, nil
	},
	"RangeN": func(r *MemoryReader) (b []byte, err error) {
		r.RangeN(100, func(p []byte) { b = append(b, p...) })
		return b, nil
	},
	"Pop": func(r *MemoryReader) (b []byte, err error) {
		for p := r.Pop(); p != nil; p = r.Pop() {
			b = append(b, p...)
		}
		return b, nil
	},
	"ToBytes": func(r *MemoryReader) ([]byte, error) { return r.ToBytes(), nil },
	"CopyTo": func(r *MemoryReader) ([]byte, error) {
		p := make([]byte, 100)
		r.CopyTo(p)
		return bytes.TrimRight(p, "\x00"), nil
	},
	"WriteTo": func(r *MemoryReader) ([]byte, error) {
		var b bytes.Buffer
		_, err := r.WriteTo(writerFunc(func(p []byte) (int, error) {
			if len(p) == 0 {
				return 0, io.ErrShortWrite // nothing is no reason to write
			}
			return b.Write(p)
		}))
		return b.Bytes(), err
	},
}

// TestClipFrontAtTheEndOfABuffer: it allocates nothing there, and a Memory of which
// nothing is left keeps no list of buffers.
func TestClipFrontAtTheEndOfABuffer(t *testing.T) {
	inlinedOnly(t)
	list := [][]byte{{1, 2}, {3}, {4, 5}}
	allocs := leastAllocs(100, func() {
		m := Memory{Buffers: list, Size: 5}
		r := m.NewReader()
		for _, b := range list {
			_ = r.Skip(len(b))
			r.ClipFront(nil)
		}
		if m.Size != 0 || m.Buffers != nil {
			t.Errorf("%d bytes in %d buffers are left", m.Size, len(m.Buffers))
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestRangeNLeavesMemoryInPlace: a Memory and a reader that are variables of a function
// stay on its stack, so a chain is sent in parts without an allocation.
func TestRangeNLeavesMemoryInPlace(t *testing.T) {
	inlinedOnly(t)
	data := sequence(10)
	var parts int
	allocs := leastAllocs(100, func() {
		parts = 0
		m := NewMemory(data)
		r := m.NewReader()
		for r.Length > 0 {
			r.RangeN(4, func([]byte) { parts++ })
		}
	})
	if allocs != 0 || parts != 3 {
		t.Errorf("%v allocations for %d parts", allocs, parts)
	}
}

// TestRangeNOfChangedMemory: what is no longer in the chain is not yielded.
func TestRangeNOfChangedMemory(t *testing.T) {
	for _, change := range []func(m *Memory){
		func(m *Memory) { m.Reset() },
		func(m *Memory) { m.Buffers = m.Buffers[:0] },
		func(m *Memory) { m.Buffers[0] = m.Buffers[0][:2] },
	} {
		m := NewMemory(sequence(8))
		r := m.NewReader()
		if _, err := r.ReadBytes(2); err != nil {
			t.Fatal(err)
		}
		change(&m)
		r.RangeN(4, func(b []byte) { t.Errorf("yielded %v", b) })
	}
}

// TestReadableBuffersAreKept: the list of buffers is not copied, and not changed either.
func TestReadableBuffersAreKept(t *testing.T) {
	inlinedOnly(t)
	one, two, three := sequence(2), sequence(3), sequence(4)
	allocs := leastAllocs(100, func() {
		r := NewReadableBuffersFromBytes(one, two, three)
		for r.Length > 0 {
			if _, err := r.ReadByte(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	list := [][]byte{one, two, three}
	r := NewReadableBuffersFromBytes(list[:2]...)
	r.PushOne(sequence(1))
	r.UpdateBuffer(0, nil)
	for i, want := range [][]byte{one, two, three} {
		if !bytes.Equal(list[i], want) {
			t.Errorf("buffer %d of the list is now %v", i, list[i])
		}
	}
}

// TestMemoryReaderNegativeLength: less than nothing is the end as well.
func TestMemoryReaderNegativeLength(t *testing.T) {
	for _, pos := range []int{0, 2, 3} {
		for name, read := range wholeReads {
			r := NewReadableBuffersFromBytes([]byte{1, 2, 3}, []byte{4, 5})
			if err := r.Skip(pos); err != nil {
				t.Fatal(err)
			}
			r.Length = -1
			if b, err := read(&r); len(b) > 0 || err != nil && name != "ReadBytes" {
				t.Errorf("%s at %d gives %v, %v", name, pos, b, err)
			}
			var none Memory
			if !r.Equal(&none) || r.Skip(1) != io.EOF {
				t.Errorf("%s at %d: something is left", name, pos)
			}
			if r.MoveToEnd(); r.Length != 0 && r.Length != -1 {
				t.Errorf("%s at %d: %d bytes are left", name, pos, r.Length)
			}
		}
	}
}

// TestNumbersAtTheLimit: the longest encoding is read wherever its buffer ends, a longer
// one and a wider number are refused, and what is refused is not consumed.
func TestNumbersAtTheLimit(t *testing.T) {
	longest := append([]byte{0x81}, bytes.Repeat([]byte{0x80}, maxLEB128-1)...) // 1, but for the end
	for rest := range 3 {
		data := append(bytes.Clone(longest), make([]byte, rest)...)
		data[maxLEB128-1] = 0
		r := NewReadableBuffersFromBytes(data)
		r.GetCurrent() // the buffer is entered
		r.Length = maxLEB128 - 1
		_, _, err := r.LEB128Unmarshal()
		expectRead(t, "a number cut off", r.Length, err, maxLEB128-1, io.ErrUnexpectedEOF)
		r.Length = len(data)
		v, n, err := r.LEB128Unmarshal()
		expectRead(t, "the longest number", [3]int{int(v), n, r.Length}, err, [3]int{1, maxLEB128, rest}, nil)

		data = append(bytes.Clone(longest), make([]byte, rest+1)...)
		r = NewReadableBuffersFromBytes(data)
		r.GetCurrent()
		_, _, err = r.LEB128Unmarshal()
		expectRead(t, "a longer number", r.Length, err, len(data), ErrOverflow)
	}
	r := NewReadableBuffersFromBytes(make([]byte, 20))
	r.GetCurrent()
	_, err := r.ReadBE(5)
	expectRead(t, "ReadBE(5)", r.Length, err, 20, ErrInvalidSize)
	_, err = r.ReadLE(5)
	expectRead(t, "ReadLE(5)", r.Length, err, 20, ErrInvalidSize)
	_, err = r.ReadBE64(9)
	expectRead(t, "ReadBE64(9)", r.Length, err, 20, ErrInvalidSize)
	_, err = r.ReadLE64(9)
	expectRead(t, "ReadLE64(9)", r.Length, err, 20, ErrInvalidSize)
}

package gomem

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzMemoryReader decodes a fragmentation and a program of reads from its
// input and runs the program on a MemoryReader and a bytes.Reader side by side.
func FuzzMemoryReader(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte{3, 0, 2, 9}, []byte{0, 1, 1, 2, 2, 3, 3, 1, 4, 2, 5, 1, 6, 4})
	f.Add([]byte{0, 0, 1, 0, 0}, []byte{4, 1, 5, 1, 7, 0, 0, 0})
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1}, []byte{1, 5, 5, 3, 7, 0, 2, 2, 5, 9, 3, 255})
	f.Add([]byte{200, 1, 55}, []byte{6, 90, 4, 200, 7, 0, 1, 7, 8, 0})
	f.Fuzz(func(t *testing.T, lens, program []byte) {
		if len(lens) > 64 || len(program) > 512 {
			t.Skip("longer inputs show nothing new")
		}
		var list [][]byte
		var data []byte
		for i, n := range lens {
			b := make([]byte, int(n))
			for j := range b {
				b[j] = byte(i*31 + j*7)
			}
			list = append(list, b)
			data = append(data, b...)
		}
		r := NewReadableBuffersFromBytes(list...)
		oracle := bytes.NewReader(data)
		base := 0 // bytes clipped off the front
		for pc := 0; pc+1 < len(program); pc += 2 {
			op, n := program[pc]%9, int(program[pc+1])
			left := oracle.Len()
			want := make([]byte, min(n, left))
			take := func() []byte {
				if _, err := io.ReadFull(oracle, want); err != nil {
					t.Fatal(err)
				}
				return want
			}
			var got []byte
			var err error
			switch op {
			case 0:
				n = 1
				want = make([]byte, min(1, left))
				var b byte
				if b, err = r.ReadByte(); err == nil {
					got = []byte{b}
				}
			case 1:
				got = make([]byte, n)
				var m int
				if m, err = r.Read(got); err == io.EOF && n > 0 && left > 0 {
					t.Fatalf("Read(%d) of %d = EOF", n, left)
				}
				got = got[:m]
				n, err = m, nil
			case 2:
				got, err = r.ReadBytes(n)
			case 3:
				if err = r.Skip(n); err == nil {
					got = data[len(data)-left:][:n]
				}
			case 4:
				n = min(n, left)
				r.RangeN(n, func(b []byte) { got = append(got, b...) })
			case 5:
				consumed := len(data) - left - base
				if err = r.TryUnread(n); n > consumed {
					if !errors.Is(err, ErrInvalidUnread) {
						t.Fatalf("Unread(%d) of %d = %v", n, consumed, err)
					}
				} else if _, serr := oracle.Seek(int64(-n), io.SeekCurrent); err != nil || serr != nil {
					t.Fatalf("Unread(%d) of %d = %v", n, consumed, err)
				}
				n, want, err = 0, nil, nil
			case 6:
				n %= 9
				want = make([]byte, min(n, left))
				var v uint64
				if v, err = r.ReadBE64(n); err == nil {
					for i := n - 1; i >= 0; i-- {
						got = append(got, byte(v>>(8*i)))
					}
				}
			case 7:
				var clipped []byte
				r.ClipFront(func(b []byte) bool { clipped = append(clipped, b...); return true })
				if at := len(data) - left; !bytes.Equal(clipped, data[base:at]) {
					t.Fatalf("ClipFront drops %v, want %v", clipped, data[base:at])
				} else {
					base = at
				}
				n, want = 0, nil
			case 8:
				got, n, want = r.Pop(), 0, nil
				n = len(got)
				want = make([]byte, n)
			}
			if werr := wantEnd(n, left); !errors.Is(err, werr) {
				t.Fatalf("operation %d of %d bytes with %d left: %v, want %v", op, n, left, err, werr)
			} else if werr == nil && !bytes.Equal(got, take()) {
				t.Fatalf("operation %d of %d bytes: %v, want %v", op, n, got, want)
			}
			if r.Length != oracle.Len() || r.Offset() != len(data)-base-oracle.Len() {
				t.Fatalf("after operation %d: Length %d Offset %d, want %d left", op, r.Length, r.Offset(), oracle.Len())
			}
		}
		if rest := r.ToBytes(); !bytes.Equal(rest, data[len(data)-oracle.Len():]) {
			t.Fatalf("the rest is %v", rest)
		}
	})
}

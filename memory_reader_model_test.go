package gomem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// readerModel is a MemoryReader beside what it should be: all bytes of its Memory
// in one piece, a position and a length.
type readerModel struct {
	t      *testing.T
	r      MemoryReader
	all    []byte
	pos    int
	length int
	next   byte // the byte to be pushed next
}

func newReaderModel(t *testing.T, lens []byte) *readerModel {
	m := &readerModel{t: t}
	var list [][]byte
	for _, n := range lens {
		list = append(list, m.fresh(int(n)))
	}
	m.r = NewReadableBuffersFromBytes(list...)
	m.length = len(m.all)
	return m
}

// fresh is a buffer of n bytes, which become the last of all.
func (m *readerModel) fresh(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		m.next += 47
		b[i] = m.next >> (m.next & 3)
	}
	m.all = append(m.all, b...)
	return b
}

// left is what is to be read.
func (m *readerModel) left() []byte { return m.all[m.pos : m.pos+m.length] }

// read consumes n bytes, as the call op, which gave got, should have, and checks its
// error, that of a request for n bytes.
func (m *readerModel) read(op string, n int, got []byte, err error) {
	m.t.Helper()
	if want := wantEnd(n, m.length); !errors.Is(err, want) || want == nil && err != nil {
		m.t.Fatalf("%s of %d bytes, %d left: %v, want %v", op, n, m.length, err, want)
	}
	if err != nil {
		return
	}
	if want := m.left()[:n]; !bytes.Equal(got, want) {
		m.t.Fatalf("%s(%d) = %v, want %v", op, n, got, want)
	}
	m.pos += n
	m.length -= n
}

// number is read for one that is refused if it is of more than most bytes.
func (m *readerModel) number(op string, n, most int, got []byte, err error) {
	m.t.Helper()
	if n <= most {
		m.read(op, n, got, err)
	} else if !errors.Is(err, ErrInvalidSize) {
		m.t.Fatalf("%s(%d) = %v", op, n, err)
	}
}

func (m *readerModel) unread(op string, n int, err error) {
	m.t.Helper()
	if n > m.pos {
		if !errors.Is(err, ErrInvalidUnread) {
			m.t.Fatalf("%s(%d), %d read: %v", op, n, m.pos, err)
		}
		return
	}
	if err != nil {
		m.t.Fatalf("%s(%d), %d read: %v", op, n, m.pos, err)
	}
	m.pos -= n
	m.length += n
}

// check compares all that can be seen without reading.
func (m *readerModel) check(op string) {
	m.t.Helper()
	r := &m.r
	if r.Length != m.length || r.Size != len(m.all) || r.Offset() != len(m.all)-m.length {
		m.t.Fatalf("after %s: Length %d Size %d Offset %d, want %d of %d", op, r.Length, r.Size, r.Offset(), m.length, len(m.all))
	}
	if got := r.ToBytes(); !bytes.Equal(got, m.left()) || got == nil || cap(got) != len(got) {
		m.t.Fatalf("after %s: %v is left, want %v", op, got, m.left())
	}
	if got := r.GetCurrent(); len(got) != cap(got) || !bytes.HasPrefix(m.left(), got) || (got == nil) != (m.length == 0) {
		m.t.Fatalf("after %s: GetCurrent is %v, want the beginning of %v", op, got, m.left())
	}
	if got := r.Memory.ToBytes(); !bytes.Equal(got, m.all) {
		m.t.Fatalf("after %s: the Memory holds %v, want %v", op, got, m.all)
	}
}

// readerOps are the methods, each with an argument 0 … 255. The first nine have the
// places that programs committed earlier know them by.
var readerOps = []struct {
	name string
	do   func(m *readerModel, n int)
}{
	{"ReadByte", func(m *readerModel, _ int) {
		b, err := m.r.ReadByte()
		m.read("ReadByte", 1, []byte{b}, err)
	}},
	{"Read", func(m *readerModel, n int) {
		got := make([]byte, n)
		k, err := m.r.Read(got)
		if k != min(n, m.length) || k == 0 && n > 0 && err != io.EOF {
			m.t.Fatalf("Read(%d) of %d = %d, %v", n, m.length, k, err)
		}
		if k > 0 || n == 0 {
			m.read("Read", k, got[:k], err)
		}
	}},
	{"ReadBytes", func(m *readerModel, n int) {
		got, err := m.r.ReadBytes(n)
		if m.read("ReadBytes", n, got, err); err == nil && n > 0 {
			got[0]++ // which nobody else sees
		}
	}},
	{"Skip", func(m *readerModel, n int) {
		got := m.left()[:min(n, m.length)]
		m.read("Skip", n, got, m.r.Skip(n))
	}},
	{"RangeN", func(m *readerModel, n int) { m.ranged("RangeN", n, func(f func([]byte)) { m.r.RangeN(n, f) }) }},
	{"TryUnread", func(m *readerModel, n int) { m.unread("TryUnread", n, m.r.TryUnread(n)) }},
	{"ReadBE64", func(m *readerModel, n int) {
		n %= 10
		v, err := m.r.ReadBE64(n)
		m.number("ReadBE64", n, 8, binary.BigEndian.AppendUint64(nil, v)[max(8-n, 0):], err)
	}},
	{"ClipFront", func(m *readerModel, n int) {
		yield, clipped := func([]byte) bool { return false }, m.all[:m.pos]
		kept := *m.r.Memory
		want := kept.ToBytes()
		var got []byte
		if n%2 == 0 {
			yield = func(b []byte) bool {
				if len(b) == 0 {
					m.t.Fatal("ClipFront yields an empty piece")
				}
				got = append(got, b...)
				return true
			}
		} else if got = clipped; n%4 == 3 {
			yield = nil
		}
		if m.r.ClipFront(yield); !bytes.Equal(got, clipped) {
			m.t.Fatalf("ClipFront drops %v, want %v", got, clipped)
		}
		if !bytes.Equal(kept.ToBytes(), want) {
			m.t.Fatal("ClipFront changed a copy of the Memory")
		}
		m.all, m.pos = slices.Clone(m.all[m.pos:]), 0
	}},
	{"Pop", func(m *readerModel, _ int) {
		cur := m.r.GetCurrent()
		got := m.r.Pop()
		if len(got) != len(cur) || (got == nil) != (m.length == 0) || len(got) > 0 && &got[0] != &cur[0] {
			m.t.Fatalf("Pop = %v, GetCurrent was %v", got, cur)
		}
		m.read("Pop", len(got), got, nil)
	}},
	{"ReadLE64", func(m *readerModel, n int) {
		n %= 10
		v, err := m.r.ReadLE64(n)
		m.number("ReadLE64", n, 8, binary.LittleEndian.AppendUint64(nil, v)[:min(n, 8)], err)
	}},
	{"ReadBE", func(m *readerModel, n int) {
		n %= 6
		v, err := m.r.ReadBE(n)
		m.number("ReadBE", n, 4, binary.BigEndian.AppendUint32(nil, v)[max(4-n, 0):], err)
	}},
	{"ReadLE", func(m *readerModel, n int) {
		n %= 6
		v, err := m.r.ReadLE(n)
		m.number("ReadLE", n, 4, binary.LittleEndian.AppendUint32(nil, v)[:min(n, 4)], err)
	}},
	{"ReadByteTo", func(m *readerModel, n int) {
		n %= 10
		got, to := make([]byte, n), make([]*byte, n)
		for i := range to {
			if to[i] = &got[i]; i%4 == 3 {
				to[i] = nil
			}
		}
		err := m.r.ReadByteTo(to...)
		for i := 3; i < n && n <= m.length; i += 4 {
			got[i] = m.left()[i] // which was skipped
		}
		if m.read("ReadByteTo", n, got, err); err != nil && !bytes.Equal(got, make([]byte, n)) {
			m.t.Fatalf("ReadByteTo writes %v and returns %v", got, err)
		}
	}},
	{"ReadByteMask", func(m *readerModel, n int) {
		b, err := m.r.ReadByteMask(byte(n))
		if m.length > 0 && b == m.left()[0]&byte(n) {
			b = m.left()[0]
		}
		m.read("ReadByteMask", 1, []byte{b}, err)
	}},
	{"LEB128Unmarshal", func(m *readerModel, _ int) {
		v, n, err := m.r.LEB128Unmarshal()
		want, size := binary.Uvarint(m.left())
		switch {
		case size < 0, size == 0 && m.length >= 10, want > math.MaxUint:
			if !errors.Is(err, ErrOverflow) || n != 0 {
				m.t.Fatalf("LEB128Unmarshal of %v = %d, %v", m.left(), n, err)
			}
		case size == 0:
			m.read("LEB128Unmarshal", m.length+1, nil, err)
		case uint64(v) != want || n != size:
			m.t.Fatalf("LEB128Unmarshal of %v = %d, %d, %v", m.left(), v, n, err)
		default:
			m.read("LEB128Unmarshal", n, m.left()[:n], err)
		}
	}},
	{"Range", func(m *readerModel, n int) {
		if n > 15 {
			return // it ends the reading
		}
		m.ranged("Range", m.length, m.r.Range)
	}},
	{"nil Range", func(m *readerModel, n int) {
		switch end := func(n int) { m.read("nil Range", n, m.left()[:n], nil) }; n {
		case 0:
			m.r.Range(nil)
			end(m.length)
		case 1:
			m.r.MoveToEnd()
			end(m.length)
		default:
			m.r.RangeN(n%16, nil)
			end(min(n%16, m.length))
		}
	}},
	{"WriteTo", func(m *readerModel, n int) {
		way := n / 32 % 4
		w := &faultyWriter{limit: n % 32, mode: []string{"short", "error", "too many", "negative"}[way]}
		want := []error{io.ErrShortWrite, errFaulty, ErrInvalidWrite, ErrInvalidWrite}[way]
		wrote, err := m.r.WriteTo(w)
		k := min(n%32, m.length)
		if k == m.length {
			want = nil
		} else if way > 1 {
			k = w.Len() // of the buffers before
		}
		if int(wrote) != k || err != want {
			m.t.Fatalf("WriteTo, for %d bytes of %d: %d, %v", n%32, m.length, wrote, err)
		}
		m.read("WriteTo", k, w.Bytes(), nil)
	}},
	{"CopyTo", func(m *readerModel, n int) {
		got := make([]byte, n)
		m.r.CopyTo(got)
		if want := append(slices.Clone(m.left()), got...)[:n]; !bytes.Equal(got[:min(n, m.length)], want[:min(n, m.length)]) {
			m.t.Fatalf("CopyTo(%d) gives %v, want %v", n, got, want)
		}
	}},
	{"Equal", func(m *readerModel, n int) {
		other := slices.Clone(m.left())
		var o Memory
		o.Push(cut(other, n%7+1)...)
		if !m.r.Equal(&o) || m.r.Equal(nil) != (m.length == 0) {
			m.t.Fatalf("%v is not equal to itself", m.left())
		}
		if o.PushOne([]byte{0}); m.r.Equal(&o) {
			m.t.Fatalf("%v is equal to more", m.left())
		}
		if o = NewMemory(other); m.length > 0 {
			if other[n%m.length]++; m.r.Equal(&o) {
				m.t.Fatalf("%v is equal to %v", m.left(), other)
			}
		}
	}},
	{"Push", func(m *readerModel, n int) {
		if len(m.all) > 1<<12 {
			return
		}
		// What is behind a Length that was lowered comes first.
		m.r.Length += len(m.all) - m.pos - m.length
		m.length = len(m.all) - m.pos
		b := m.fresh(n % 40)
		switch n % 3 {
		case 0:
			m.r.PushOne(b)
		case 1:
			m.r.Push(b[:n%40/2], nil, b[n%40/2:])
		case 2:
			m.r.Append(Memory{Size: len(b), Buffers: [][]byte{nil, b}})
		}
		m.r.Length += len(b)
		m.length += len(b)
	}},
	{"Length", func(m *readerModel, n int) {
		m.length = min(n, len(m.all)-m.pos)
		m.r.Length = m.length
	}},
	{"UnreadByte", func(m *readerModel, _ int) { m.unread("UnreadByte", 1, m.r.UnreadByte()) }},
	{"Unread", func(m *readerModel, n int) {
		var err error
		if m.r.Unread(n); n > m.pos {
			err = ErrInvalidUnread
		}
		m.unread("Unread", n, err)
	}},
	{"copy", func(m *readerModel, n int) {
		before := m.r
		_ = m.r.Skip(min(n, m.length))
		m.r = before // which the other has not moved
	}},
	{"Reset", func(m *readerModel, n int) {
		if n > 3 {
			return
		}
		m.r.Reset()
		m.all, m.pos, m.length = nil, 0, 0
	}},
}

// ranged checks a call that passes n bytes, or what is left, to a function.
func (m *readerModel) ranged(op string, n int, call func(func([]byte))) {
	n = min(n, m.length)
	var got []byte
	call(func(p []byte) {
		if len(p) == 0 || len(p) != cap(p) {
			m.t.Fatalf("%s yields %d bytes with cap %d", op, len(p), cap(p))
		}
		got = append(got, p...)
		if m.r.Length != m.length-len(got) {
			m.t.Fatalf("%s yields what it has not consumed", op)
		}
	})
	m.read(op, n, got, nil)
}

// run plays a program of two bytes for each operation.
func (m *readerModel) run(program []byte) {
	m.check("the start")
	for ; len(program) >= 2; program = program[2:] {
		op := readerOps[int(program[0])%len(readerOps)]
		op.do(m, int(program[1]))
		m.check(op.name)
	}
}

// TestMemoryReaderModel is the fuzz target over random programs.
func TestMemoryReaderModel(t *testing.T) {
	t.Logf("seed %d", *randomSeed)
	rng := rand.New(rand.NewPCG(*randomSeed, 20))
	random := func(n, most int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.IntN(most))
		}
		return p
	}
	for range *operations / 50 {
		most := 1 + rng.IntN(40)
		newReaderModel(t, random(rng.IntN(12), most)).run(random(2*rng.IntN(100), 256))
	}
}

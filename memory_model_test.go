package gomem

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// memoryModel is a Memory beside the list of what its buffers should hold, and copies
// of it that were made on the way.
type memoryModel struct {
	t    *testing.T
	m    Memory
	want [][]byte
	kept []memoryModel
	next byte
}

// fresh is a buffer of n bytes, and what it should hold.
func (m *memoryModel) fresh(n int) (b, want []byte) {
	b = make([]byte, n, n+n%3)
	for i := range b {
		m.next += 89
		b[i] = m.next
	}
	return b, bytes.Clone(b)
}

// push is n buffers and adds them to what is wanted.
func (m *memoryModel) push(n int) (list [][]byte) {
	for i := range n {
		b, want := m.fresh((n*7 + i*5) % 11)
		list = append(list, b)
		m.want = append(m.want, want)
	}
	return list
}

// memoryOps are the methods, each with an argument 0 … 255.
var memoryOps = []struct {
	name string
	do   func(m *memoryModel, n int)
}{
	{"PushOne", func(m *memoryModel, n int) {
		b, want := m.fresh(n % 20)
		m.m.PushOne(b)
		m.want = append(m.want, want)
	}},
	{"Push", func(m *memoryModel, n int) {
		list := m.push(n % 12)
		m.m.Push(list...)
		clear(list) // which the chain does not share
	}},
	{"Append", func(m *memoryModel, n int) {
		other := Memory{Buffers: m.push(n % 12)}
		for _, b := range other.Buffers {
			other.Size += len(b)
		}
		if m.m.Append(other) != &m.m {
			m.t.Fatal("Append does not return its receiver")
		}
		clear(other.Buffers)
	}},
	{"Append itself", func(m *memoryModel, _ int) {
		if len(m.want) < 50 {
			m.m.Append(m.m)
			m.want = append(m.want, m.want...)
		}
	}},
	{"CopyFrom", func(m *memoryModel, n int) {
		var from memoryModel
		from.t = m.t
		from.m.Push(from.push(n % 5)...)
		all := bytes.Join(from.want, nil)
		if m.m.CopyFrom(&from.m); len(all) > 0 {
			m.want = append(m.want, all)
		}
		for _, b := range from.m.Buffers {
			clear(b)
		}
	}},
	{"CopyFrom itself", func(m *memoryModel, _ int) {
		if all := bytes.Join(m.want, nil); len(all) < 1<<12 {
			if m.m.CopyFrom(&m.m); len(all) > 0 {
				m.want = append(m.want, all)
			}
			m.m.CopyFrom(nil)
		}
	}},
	{"UpdateBuffer", func(m *memoryModel, n int) {
		b, want := m.fresh(n % 17)
		index := n%23 - 11
		ok := index >= -len(m.want) && index < len(m.want)
		if n&1 == 0 {
			m.m.UpdateBuffer(index, b)
		} else if got := m.m.TryUpdateBuffer(index, b); got != ok {
			m.t.Fatalf("TryUpdateBuffer(%d) of %d buffers = %v", index, len(m.want), got)
		}
		if ok {
			m.want[(index+len(m.want))%len(m.want)] = want
		}
	}},
	{"Reset", func(m *memoryModel, n int) {
		if n < 32 {
			m.m.Reset()
			m.want = nil
		}
	}},
	{"ClipFront", func(m *memoryModel, n int) {
		r := m.m.NewReader()
		if n > r.Length {
			return
		}
		if err := r.Skip(n); err != nil {
			m.t.Fatal(err)
		}
		r.ClipFront(nil)
		for n > 0 {
			k := min(n, len(m.want[0]))
			if n -= k; k == len(m.want[0]) {
				m.want = m.want[1:]
			} else {
				m.want[0] = m.want[0][k:]
			}
		}
	}},
	{"copy", func(m *memoryModel, _ int) {
		if len(m.kept) == 8 {
			m.kept = m.kept[1:]
		}
		m.kept = append(m.kept, memoryModel{t: m.t, m: m.m, want: slices.Clone(m.want)})
	}},
	{"CopyTo", func(m *memoryModel, n int) {
		got := bytes.Repeat([]byte{'.'}, n)
		want := append(bytes.Join(m.want, nil), got...)[:n]
		if m.m.CopyTo(got); !bytes.Equal(got, want) {
			m.t.Fatalf("CopyTo gives %v, want %v", got, want)
		}
	}},
	{"Equal", func(m *memoryModel, n int) {
		all := bytes.Join(m.want, nil)
		var other Memory
		other.Push(cut(all, n%9+1)...)
		if !m.m.Equal(&other) || !other.Equal(&m.m) || m.m.Equal(nil) != (len(all) == 0) {
			m.t.Fatalf("%v and %v are not equal", m.m.Buffers, other.Buffers)
		}
		if len(all) > 0 {
			if all[n%len(all)]++; m.m.Equal(&other) || other.Equal(&m.m) {
				m.t.Fatalf("%v and %v are equal", m.m.Buffers, other.Buffers)
			}
		}
	}},
	{"WriteTo", func(m *memoryModel, n int) {
		all := bytes.Join(m.want, nil)
		w := &faultyWriter{limit: n, mode: "error"}
		wrote, err := m.m.WriteTo(w)
		if k := min(n, len(all)); int(wrote) != k || !bytes.Equal(w.Bytes(), all[:k]) || (err == errFaulty) != (k < len(all)) {
			m.t.Fatalf("WriteTo of %d bytes = %d, %v to a writer that takes %d", len(all), wrote, err, n)
		}
	}},
}

func (m *memoryModel) check(op string) {
	m.t.Helper()
	all := bytes.Join(m.want, nil)
	if m.m.Size != len(all) || !bytes.Equal(m.m.ToBytes(), all) {
		m.t.Fatalf("after %s: Size %d, bytes %v, want %v", op, m.m.Size, m.m.ToBytes(), all)
	}
	var got [][]byte
	m.m.Range(func(b []byte) { got = append(got, b) })
	if m.m.Count() != len(m.want) || !slices.EqualFunc(got, m.want, bytes.Equal) {
		m.t.Fatalf("after %s: %d buffers %v, want %v", op, m.m.Count(), got, m.want)
	}
}

// run plays a program of two bytes for each operation.
func (m *memoryModel) run(program []byte) {
	for ; len(program) >= 2; program = program[2:] {
		op := memoryOps[int(program[0])%len(memoryOps)]
		op.do(m, int(program[1]))
		m.check(op.name)
		for i := range m.kept {
			m.kept[i].check(op.name + ", a copy")
		}
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte{0, 5, 1, 3, 2, 7, 9, 0, 6, 2, 8, 9, 3, 0, 9, 1, 4, 6, 5, 0, 6, 200, 7, 1, 0, 9})
	f.Add([]byte{1, 11, 9, 2, 8, 20, 0, 7, 10, 30, 11, 4, 12, 9, 6, 3, 9, 1, 1, 8, 8, 33, 11, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 256 {
			t.Skip("longer inputs show nothing new")
		}
		(&memoryModel{t: t}).run(program)
	})
}

// TestMemoryModel is the fuzz target over random programs.
func TestMemoryModel(t *testing.T) {
	t.Logf("seed %d", *randomSeed)
	rng := rand.New(rand.NewPCG(*randomSeed, 21))
	for range *operations / 100 {
		program := make([]byte, 2*rng.IntN(60))
		for i := range program {
			program[i] = byte(rng.Uint32())
		}
		(&memoryModel{t: t}).run(program)
	}
}

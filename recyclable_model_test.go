package gomem

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// recyclableModel is a RecyclableMemory beside a list of what is in its chain, and of
// who frees what.
type recyclableModel struct {
	t       *testing.T
	rng     *rand.Rand
	a       *ScalableMemoryAllocator
	r       RecyclableMemory
	off     bool // recycling is
	byList  bool
	chain   []link
	due     int      // bytes out of the chain that Recycle frees
	callers [][]byte // what the program frees
	others  [][]byte // what the program frees once it is out of the chain
}

// link is a buffer of the chain.
type link struct {
	b    []byte
	want []byte // its bytes
	ours bool   // Recycle frees it
	heap bool   // NextN or CopyFrom took it from the Go heap
}

// malloc is memory of the allocator with random bytes.
func (m *recyclableModel) malloc() []byte {
	n := m.rng.IntN(60)
	if m.rng.IntN(50) == 0 {
		n = m.rng.IntN(100_000)
	}
	return m.fill(m.a.Malloc(n))
}

func (m *recyclableModel) fill(b []byte) []byte {
	for i := 0; i < len(b); i += 1 + len(b)/64 {
		b[i] = byte(m.rng.Uint32())
	}
	return b
}

func (m *recyclableModel) link(b []byte, ours bool) {
	m.chain = append(m.chain, link{b, bytes.Clone(b), ours, false})
}

// linkNew is link for what the memory itself took.
func (m *recyclableModel) linkNew(b []byte) {
	m.link(b, !m.off)
	m.chain[len(m.chain)-1].heap = m.off
}

// own adds b, if it is something, to what the program frees, or frees it.
func (m *recyclableModel) own(b []byte) {
	if m.rng.IntN(2) == 0 {
		m.callers = append(m.callers, b)
	} else if !m.a.Free(b) {
		m.t.Fatalf("%d bytes of the program were freed", len(b))
	}
}

func (m *recyclableModel) step() {
	switch m.rng.IntN(20) {
	case 0, 1, 2, 3:
		n := m.rng.IntN(80)
		b := m.r.NextN(n)
		if len(b) != n || cap(b) != n {
			m.t.Fatalf("NextN(%d): len %d cap %d", n, len(b), cap(b))
		}
		m.linkNew(m.fill(b))
	case 4, 5:
		b := m.malloc()
		if n := len(b); n > 0 && m.rng.IntN(2) == 0 {
			m.a.FreeRest(&b, m.rng.IntN(n))
		}
		m.r.AddRecycleBytes(b)
		m.link(b, true)
	case 6, 7: // of someone else, by list
		b := m.malloc()
		if m.byList {
			m.others = append(m.others, b)
		}
		if m.rng.IntN(2) == 0 {
			m.r.PushOne(b)
		} else {
			m.r.Append(NewMemory(b))
		}
		m.link(b, !m.byList)
	case 8:
		other := NewMemory(m.fill(make([]byte, m.rng.IntN(20))))
		if m.r.CopyFrom(&other); other.Size > 0 {
			m.linkNew(m.r.Buffers[len(m.r.Buffers)-1])
		}
	case 9, 10, 11:
		m.update()
	case 12, 13, 14:
		m.clip()
	case 15:
		if rd := m.r.NewReader(); m.rng.IntN(2) == 0 {
			rd.Reset()
		} else {
			m.r.Reset()
		}
		for _, l := range m.chain {
			if l.ours {
				m.due += len(l.b)
			}
		}
		m.chain = nil
	case 16:
		c := m.r.Clone()
		m.fill(c.NextN(m.rng.IntN(40)))
		rd := c.NewReader()
		_ = rd.Skip(m.rng.IntN(c.Size + 1))
		rd.ClipFront(nil)
		c.Recycle()
	case 17:
		if m.rng.IntN(4) == 0 {
			m.r.InitRecycleIndexes(m.rng.IntN(4) - 1)
			m.byList = true
		}
	case 18:
		m.recycle()
	case 19:
		m.freeAll(&m.callers)
	}
}

// freeAll frees what is the program's.
func (m *recyclableModel) freeAll(list *[][]byte) {
	m.t.Helper()
	for _, b := range *list {
		if !m.a.Free(b) {
			m.t.Fatalf("%d bytes of the program were freed", len(b))
		}
	}
	*list = nil
}

// update replaces a buffer by a part of it or by another.
func (m *recyclableModel) update() {
	if len(m.chain) == 0 {
		return
	}
	i := m.rng.IntN(len(m.chain))
	l := &m.chain[i]
	index := i
	if m.rng.IntN(2) == 0 {
		index -= len(m.chain)
	}
	old := *l
	if m.rng.IntN(3) == 0 { // by another
		b := m.malloc()
		m.r.UpdateBuffer(index, b)
		*l = link{b, bytes.Clone(b), old.ours || old.heap || !m.byList, false}
		if m.byList && (!old.ours && !old.heap || cap(old.b) == 0) {
			l.ours = false
			m.others = append(m.others, b)
		}
		if old.ours {
			m.own(old.b)
		}
		return
	}
	from := m.rng.IntN(len(old.b) + 1)
	to := from + m.rng.IntN(len(old.b)-from+1)
	if !old.ours && !old.heap {
		from, to = 0, len(old.b)-from/2 // an empty slice of others may be like one of ours
	}
	m.r.UpdateBuffer(index, old.b[from:to])
	l.b, l.want = old.b[from:to], old.want[from:to]
	if old.ours {
		m.own(old.b[:from])
		m.own(old.b[to:])
	}
}

// clip reads a part and has it removed.
func (m *recyclableModel) clip() {
	n := m.rng.IntN(min(m.r.Size, 200) + 1)
	given := m.rng.IntN(3) > 0
	var got []byte
	yield := func(b []byte) bool {
		got = append(got, b...)
		return m.rng.IntN(2) == 0 // which says nothing
	}
	rd := m.r.NewReader()
	if err := rd.Skip(n); err != nil {
		m.t.Fatal(err)
	}
	if !given {
		yield = nil
	}
	rd.ClipFront(yield)
	var want []byte
	for k := n; k > 0 || len(m.chain) > 0 && len(m.chain[0].b) == 0 && len(m.chain) > m.r.Count(); {
		l := &m.chain[0]
		cut := min(k, len(l.b))
		if !l.heap {
			want = append(want, l.want[:cut]...)
		}
		switch {
		case l.ours && given:
			m.own(l.b[:cut])
		case l.ours:
			m.due += cut
		}
		if k -= cut; cut == len(l.b) {
			m.chain = m.chain[1:]
		} else {
			l.b, l.want = l.b[cut:], l.want[cut:]
		}
	}
	if given && !bytes.Equal(got, want) {
		m.t.Fatalf("ClipFront gives %v, want %v", got, want)
	}
}

func (m *recyclableModel) recycle() {
	m.r.Recycle()
	m.chain, m.due = nil, 0
	m.freeAll(&m.others)
}

// check compares the chain and what is live.
func (m *recyclableModel) check() {
	m.t.Helper()
	live := m.due
	for _, b := range slices.Concat(m.callers, m.others) {
		live += len(b)
	}
	size := 0
	for i, l := range m.chain {
		if size += len(l.b); l.ours {
			live += len(l.b)
		}
		if !bytes.Equal(m.r.Buffers[i], l.want) {
			m.t.Fatalf("buffer %d of the chain has changed", i)
		}
	}
	if m.r.Count() != len(m.chain) || m.r.Size != size {
		m.t.Fatalf("%d bytes in %d buffers, want %d in %d", m.r.Size, m.r.Count(), size, len(m.chain))
	}
	if got := m.a.Stats().Live; int(got) != live {
		m.t.Fatalf("%d bytes live, want %d", got, live)
	}
}

// TestRecyclableModel: whatever is done in whatever order, each byte is freed once, by
// Recycle or by the program.
func TestRecyclableModel(t *testing.T) {
	t.Logf("seed %d", *randomSeed)
	for round := range max(*operations/500, 1) {
		rng := rand.New(rand.NewPCG(*randomSeed, uint64(round)))
		a := NewScalableMemoryAllocator(1024, WithMisuse(func(err error) { t.Error(err) }))
		m := &recyclableModel{t: t, rng: rng, a: a, r: NewRecyclableMemory(a), off: round%3 == 0}
		m.r.SetRecycling(!m.off)
		for range rng.IntN(200) {
			m.step()
			m.check()
		}
		m.recycle()
		m.freeAll(&m.callers)
		m.check()
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil || t.Failed() {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

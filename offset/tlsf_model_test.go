package offset

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// byteModel is the plainest oracle there is: an owner per byte, 0 if free.
type byteModel struct {
	owner []int32
	free  int
	next  int32
}

func newByteModel(size int) *byteModel {
	return &byteModel{owner: make([]int32, size), free: size}
}

func (m *byteModel) allocate(tb testing.TB, start, size int) {
	tb.Helper()
	if start < 0 || start > len(m.owner)-size {
		tb.Fatalf("issued [%d,%d) of %d", start, start+size, len(m.owner))
	}
	m.next++
	for i := start; i < start+size; i++ {
		if m.owner[i] != 0 {
			tb.Fatalf("issued [%d,%d): byte %d belongs to block %d", start, start+size, i, m.owner[i])
		}
		m.owner[i] = m.next
	}
	m.free -= size
}

// release is what Free must answer: the first byte that is not the block's own
// decides. nil also frees.
func (m *byteModel) release(start, size int) error {
	switch {
	case size <= 0:
		return ErrInvalidSize
	case start < 0 || start > len(m.owner)-size:
		return ErrNotOwned
	}
	first := m.owner[start]
	for i := start; i < start+size; i++ {
		switch m.owner[i] {
		case 0:
			return ErrDoubleFree
		case first:
		default:
			return ErrNotOwned
		}
	}
	clear(m.owner[start : start+size])
	m.free += size
	return nil
}

// room is how long the n live bytes at start may become: up to the granule of the next
// live byte.
func (m *byteModel) room(start, n, granule int) int {
	end := start + n
	for end < len(m.owner) && m.owner[end] == 0 {
		end++
	}
	if end < len(m.owner) {
		end &^= granule - 1
	}
	return max(end-start, n)
}

// split is what Split must answer: whether at lies between two bytes of one block,
// which are of two from then on.
func (m *byteModel) split(at, granule int) bool {
	if at%granule != 0 || at <= 0 || at >= len(m.owner) || m.owner[at] == 0 || m.owner[at-1] != m.owner[at] {
		return false
	}
	m.next++
	for i, whole := at, m.owner[at]; i < len(m.owner); i++ {
		if m.owner[i] == whole {
			m.owner[i] = m.next
		}
	}
	return true
}

// blocks is the free runs.
func (m *byteModel) blocks() (free []Block) {
	for i := 0; i < len(m.owner); i++ {
		if m.owner[i] != 0 {
			continue
		}
		j := i
		for j < len(m.owner) && m.owner[j] == 0 {
			j++
		}
		free = append(free, Block{i, j})
		i = j
	}
	return free
}

// soilTags gives each tag that nothing relies on another value: any node, or
// none. Nobody clears the table, so all of that may be in it.
func soilTags(t *TLSF, rng *rand.Rand) {
	needed := make([]bool, len(t.tags))
	for g := uint(0); g < t.total; {
		n := t.nodes[t.tags[g]]
		needed[g] = true
		g += uint(n.size &^ freeBit)
		if n.size >= freeBit && g < t.total {
			needed[g-1] = true
		}
	}
	for g := range needed {
		if !needed[g] {
			t.tags[g] = rng.Uint32() >> rng.IntN(32)
		}
	}
}

// TestTLSFModel compares random programs with the byte model: every issue,
// every answer of Free, the free runs and the invariants after each step.
func TestTLSFModel(t *testing.T) {
	for _, granule := range []int{8, 16, 32, 64} {
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, uint64(granule)))
			size := granule * (1 + rng.IntN(200))
			a, m := NewTLSF(size, granule), newByteModel(size)
			for step := range 600 {
				soilTags(a, rng)
				if !tlsfModelStep(t, a, m, rng) {
					t.Fatalf("granule %d, seed %d, step %d:\n%v", granule, seed, step, a)
				}
			}
		}
	}
}

func tlsfModelStep(t *testing.T, a *TLSF, m *byteModel, rng *rand.Rand) bool {
	t.Helper()
	size := len(m.owner)
	switch op := rng.IntN(21); {
	case op < 8:
		n := 1 + rng.IntN(1+size/(1+rng.IntN(20)))
		align := 1
		if op == 0 {
			align = 1 << rng.IntN(10)
		}
		fits, found := a.Fits(), a.Find(n)
		at := a.AllocateAligned(n, align)
		if op > 0 && (at != found || (at >= 0) != (n <= fits)) {
			t.Errorf("Allocate(%d) = %d, Find %d, Fits %d", n, at, found, fits)
			return false
		}
		if at >= 0 {
			if at%align != 0 || at%a.Granule() != 0 {
				t.Errorf("AllocateAligned(%d, %d) = %d", n, align, at)
			}
			m.allocate(t, at, n)
		}
	case op < 10:
		start := rng.IntN(size)
		for start > 0 && m.owner[start] != 0 && m.owner[start-1] == m.owner[start] {
			start--
		}
		n, ok := a.BlockSize(start)
		if !ok {
			return true
		}
		newSize, room := 1+rng.IntN(2*n+40), m.room(start, n, a.Granule())
		if op == 8 {
			newSize = room + rng.IntN(2)
		}
		fits := newSize <= room
		if got := a.Resize(start, n, newSize); got != fits {
			t.Errorf("Resize(%d, %d, %d) = %v", start, n, newSize, got)
			return false
		}
		if fits {
			if newSize < n {
				if err := m.release(start+newSize, n-newSize); err != nil {
					t.Errorf("model: %v", err)
				}
			}
			// What grows may come to touch another part of the block it was once in.
			clear(m.owner[start : start+min(n, newSize)])
			m.free += min(n, newSize)
			m.allocate(t, start, newSize)
		}
	case op == 20:
		at := rng.IntN(size) &^ (rng.IntN(2) * (a.Granule() - 1))
		if want := m.split(at, a.Granule()); a.Split(at) != want {
			t.Errorf("Split(%d) = %v, want %v", at, !want, want)
			return false
		}
	default:
		start, n := rng.IntN(size), 1+rng.IntN(1+size/8)
		if op < 15 { // aim at a live run
			for start > 0 && m.owner[start-1] == m.owner[start] {
				start--
			}
			run := 0
			for start+run < size && m.owner[start+run] == m.owner[start] {
				run++
			}
			n = run
			if op < 13 && run > 1 {
				from := rng.IntN(run)
				start, n = start+from, 1+rng.IntN(run-from)
			}
		}
		var got error
		if size, ok := a.BlockSize(start); a.FreeBlock(start, n) {
			if !ok || size != n {
				t.Errorf("FreeBlock(%d, %d) freed a block of %d, %v", start, n, size, ok)
			}
		} else {
			got = a.Free(start, n)
		}
		want := m.release(start, n)
		if !errors.Is(got, want) {
			t.Errorf("Free(%d, %d) = %v, want %v", start, n, got, want)
			return false
		}
		if re, ok := errors.AsType[*RangeError](got); ok && errors.Is(got, ErrDoubleFree) {
			c := re.Conflict
			if c.Size() <= 0 || c.Start >= start+n || c.End <= start {
				t.Errorf("Free(%d, %d): conflict %v does not touch it", start, n, c)
			}
			for i := c.Start; i < c.End; i++ {
				if m.owner[i] != 0 {
					t.Errorf("Free(%d, %d): conflict %v is live at %d", start, n, c, i)
					return false
				}
			}
		}
	}
	return tlsfModelEqual(t, a, m)
}

func tlsfModelEqual(t *testing.T, a *TLSF, m *byteModel) bool {
	t.Helper()
	if err := a.Verify(); err != nil {
		t.Error(err)
		return false
	}
	if a.FreeBytes() != m.free {
		t.Errorf("FreeBytes %d, want %d", a.FreeBytes(), m.free)
		return false
	}
	want := m.blocks()
	for b := range a.Blocks() {
		if len(want) == 0 || want[0] != b {
			t.Errorf("free run %v, want %v", b, want)
			return false
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("free runs %v are missing", want)
	}
	for b, live := range a.All() {
		// Of a live run it is told only if that is all of its block.
		if n, ok := a.BlockSize(b.Start); ok && (!live || n != b.Size()) {
			t.Errorf("BlockSize(%d) = %d of %v, live %v", b.Start, n, b, live)
		}
		if first := (b.Start + int(a.low)) &^ int(a.low); !live && first < b.End {
			if n, ok := a.BlockSize(first); ok {
				t.Errorf("BlockSize(%d) = %d, and it is free", first, n)
			}
		}
		if live != (m.owner[b.Start] != 0) {
			t.Errorf("%v live %v, model has %d", b, live, m.owner[b.Start])
		}
		for _, pos := range []int{b.Start, (b.Start + b.End) / 2, b.End - 1} {
			if at, atLive := a.At(pos); at != b || atLive != live {
				t.Errorf("At(%d) = %v %v, want %v %v", pos, at, atLive, b, live)
			}
		}
	}
	return !t.Failed()
}

package gomem

import (
	"bytes"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"
)

func TestMemoryAllocator(t *testing.T) {
	m := GetMemoryAllocator(1024)
	if m.Size != 1024 || m.GetFreeSize() != 1024 {
		t.Fatalf("Size %d, free %d", m.Size, m.GetFreeSize())
	}
	found := m.Find(100)
	b := m.Malloc(100)
	if len(b) != 100 || unsafe.SliceData(found) != unsafe.SliceData(b) {
		t.Errorf("Find and Malloc differ: %p %p", found, b)
	}
	c := m.Malloc(924)
	if m.Malloc(1) != nil || m.Find(1) != nil || m.GetFreeSize() != 0 {
		t.Error("a full chunk has room")
	}
	if !m.Free(b[20:60]) || m.Free(b) || m.Free(b[:21]) || !m.Free(b[:20]) || !m.Free(b[60:]) {
		t.Error("freeing in parts is wrong")
	}
	blocks := m.GetBlocks()
	if len(blocks) != 1 || *blocks[0] != (Block{Start: 0, End: 100}) {
		t.Errorf("free blocks %v", blocks)
	}
	blocks[0].Start = 50
	if !m.Free(c) || m.Free(c) || m.GetFreeSize() != 1024 {
		t.Errorf("free %d", m.GetFreeSize())
	}
	for _, foreign := range [][]byte{make([]byte, 10), GetMemoryAllocator(100).Malloc(10), c[: 1024-100 : 924]} {
		if m.Free(foreign) {
			t.Errorf("Free of %d bytes that are not its own is true", len(foreign))
		}
	}
	if !m.Free(nil) || !m.Free([]byte{}) {
		t.Error("Free of nothing is false")
	}
}

func TestG01AppendStaysWithinBlock(t *testing.T) {
	m := GetMemoryAllocator(1024)
	b1, b2 := m.Malloc(16), m.Malloc(16)
	copy(b2, "sixteen letters!")
	for _, b := range [][]byte{b1, m.Find(16)} {
		if cap(b) != 16 {
			t.Errorf("cap %d of 16 bytes", cap(b))
		}
		_ = append(b, "OVERWRITE"...)
	}
	if string(b2) != "sixteen letters!" {
		t.Errorf("the neighbour reads %q", b2)
	}
}

func TestG18RecycleTwice(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 1500} {
		m := GetMemoryAllocator(size)
		kept := m.Malloc(size)
		m.Recycle()
		m.Recycle()
		a, b := GetMemoryAllocator(size), GetMemoryAllocator(size)
		if a == b || a == m || b == m {
			t.Fatal("one allocator for two owners")
		}
		for i, all := range [][]byte{kept, a.Malloc(size), b.Malloc(size)} {
			for j := range all {
				all[j] = byte(i + 1)
			}
		}
		m.Recycle()
		if kept[0] != 1 || !bytes.Equal(kept, bytes.Repeat([]byte{1}, size)) {
			t.Errorf("size %d: memory of the recycled allocator was overwritten", size)
		}
		if m.Malloc(1) != nil || m.Find(1) != nil || m.Free(kept) || len(m.GetBlocks()) != 0 || m.GetFreeSize() != 0 {
			t.Errorf("size %d: a recycled allocator still works", size)
		}
	}
}

func TestG36MemoryAllocatorEdges(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt, math.MaxInt} {
		m := GetMemoryAllocator(size)
		if m.Size != 0 || m.Malloc(1) != nil || m.Find(1) != nil || len(m.GetBlocks()) != 0 || m.Free(make([]byte, 1)) {
			t.Errorf("GetMemoryAllocator(%d) has room", size)
		}
		m.Recycle()
	}
	m := GetMemoryAllocator(100)
	for _, n := range []int{-1, -100, math.MinInt, 101, math.MaxInt} {
		if m.Malloc(n) != nil || m.Find(n) != nil || m.GetFreeSize() != 100 {
			t.Errorf("Malloc(%d) is not nil", n)
		}
	}
	if b := m.Malloc(0); b == nil || len(b) != 0 || !m.Free(b) {
		t.Errorf("Malloc(0) = %v", b)
	}
}

func TestChildView(t *testing.T) {
	m := newChildView(1000, []Block{{Start: 0, End: 100}, {Start: 500, End: 600}})
	if m.Size != 1000 || m.GetFreeSize() != 200 || len(m.GetBlocks()) != 2 || *m.GetBlocks()[1] != (Block{Start: 500, End: 600}) {
		t.Errorf("the snapshot has %v, %d free", m.GetBlocks(), m.GetFreeSize())
	}
	m.GetBlocks()[0].Start = 7
	if *m.GetBlocks()[0] != (Block{Start: 0, End: 100}) {
		t.Error("GetBlocks is not a copy")
	}
	if m.Malloc(1) != nil || m.Malloc(0) != nil || m.Find(1) != nil || m.Free(make([]byte, 1)) {
		t.Error("a snapshot hands out memory")
	}
	m.Recycle()
	if len(m.GetBlocks()) != 0 {
		t.Error("a recycled snapshot shows blocks")
	}
}

func TestMemoryAllocatorConcurrent(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	m := GetMemoryAllocator(64 << 10)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			var held [][]byte
			for range 3000 {
				if b := m.Malloc(1 + rnd.IntN(200)); b != nil {
					for i := range b {
						b[i] = byte(g)
					}
					held = append(held, b)
				}
				if len(held) > 40 {
					b := held[0]
					if held = held[1:]; !bytes.Equal(b, bytes.Repeat([]byte{byte(g)}, len(b))) {
						t.Error("another goroutine wrote into a block")
					}
					if !m.Free(b) {
						t.Error("Free of a live block is false")
					}
				}
			}
			for _, b := range held {
				m.Free(b)
			}
			_, _ = m.GetBlocks(), m.GetFreeSize()
		})
	}
	wg.Wait()
	if m.GetFreeSize() != m.Size || len(m.GetBlocks()) != 1 {
		t.Errorf("%d of %d bytes free in %d blocks", m.GetFreeSize(), m.Size, len(m.GetBlocks()))
	}
}

// TestMemoryAllocatorUsesChunkAgain: a chunk in which nothing is live may serve a later
// allocator, which finds it as a new one: zeroed, whole, and closed to the earlier one.
func TestMemoryAllocatorUsesChunkAgain(t *testing.T) {
	const size = 3000
	again := 0
	for round := range 50 {
		m := GetMemoryAllocator(size)
		if blocks := m.GetBlocks(); m.GetFreeSize() != size || len(blocks) != 1 {
			t.Fatalf("round %d: %d bytes free in %d blocks", round, m.GetFreeSize(), len(blocks))
		}
		found := m.Find(2000)
		a, b := m.Malloc(1000), m.Malloc(1500)
		if len(bytes.Trim(found, "\x00"))+len(bytes.Trim(a, "\x00"))+len(bytes.Trim(b, "\x00")) > 0 {
			t.Fatalf("round %d: the chunk is not zeroed", round)
		}
		for _, dirty := range [][]byte{found, a, b} {
			for i := range dirty {
				dirty[i] = 1
			}
		}
		if !m.Free(b) || !m.Free(a) {
			t.Fatalf("round %d: a live block is not freed", round)
		}
		copy(m.Find(size), bytes.Repeat([]byte{1}, size))
		m.Recycle()
		other := GetMemoryAllocator(size)
		c := other.Malloc(size)
		if unsafe.SliceData(c) == unsafe.SliceData(a) {
			again++
		}
		if len(bytes.Trim(c, "\x00")) > 0 || m.Free(c) || m.Malloc(1) != nil || m.GetFreeSize() != 0 {
			t.Fatalf("round %d: the next allocator shares the chunk with the earlier one", round)
		}
		other.Recycle() // with a live block, so that chunk is not used again
	}
	if again == 0 { // a few are not: the race detector lets pools forget, as does a collection
		t.Error("no chunk of 50 was used again")
	}
}

package tlsf_test

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/tlsf"
)

// model plays a program of operations on a pool and knows what must come out:
// every block in bounds, aligned, apart from all others, its stamp intact
// until it is freed, and the bytes in use the sum of what was asked for.
type model struct {
	t       testing.TB
	pool    *tlsf.Pool
	size    int
	live    []modelBlock
	used    int
	stamp   byte
	refused int
}

type modelBlock struct {
	b     []byte
	stamp byte
}

func (m *model) add(b []byte, n, align int) {
	m.t.Helper()
	if len(b) != n || cap(b) != n || n == 0 {
		m.t.Fatalf("a block of %d with len %d and cap %d", n, len(b), cap(b))
	}
	if at := uintptr(unsafe.Pointer(&b[0])); at%uintptr(align) != 0 {
		m.t.Fatalf("a block of %d at %#x, not a multiple of %d", n, at, align)
	}
	m.stamp++
	fill(b, m.stamp)
	m.live = append(m.live, modelBlock{b, m.stamp})
	m.used += n
}

func (m *model) remove(i int) modelBlock {
	block := m.live[i]
	last := len(m.live) - 1
	m.live[i] = m.live[last]
	m.live = m.live[:last]
	m.used -= len(block.b)
	return block
}

// rounded is the size that TLSF searches for when asked for n bytes: the next
// bound of a class, 1/32 above n at most.
func rounded(n int) int {
	granules := uint(n+15) / 16
	if step := bits.Len(granules) - 6; step > 0 {
		granules = (granules + 1<<step - 1) >> step << step
	}
	return int(granules) * 16
}

// noRoom checks that a refused request of n bytes, at any multiple of align,
// was refused for want of room.
func (m *model) noRoom(n, align int, err error) {
	m.t.Helper()
	if !errors.Is(err, tlsf.ErrBlockNotFound) || errors.Is(err, tlsf.ErrInvalidSize) {
		m.t.Fatalf("a request of %d bytes: %v", n, err)
	}
	if m.refused++; m.refused%64 != 1 {
		return // walking all blocks each time would take most of the test
	}
	want := rounded(n)
	if align > 16 {
		want = rounded(n + align)
	}
	for block, live := range m.pool.Blocks() {
		// A free run may start with the slack of the block before.
		if whole := block.End - (block.Start+15)&^15; !live && whole >= want {
			m.t.Fatalf("no block for %d bytes at a multiple of %d, but %v is free", n, align, block)
		}
	}
}

// step plays one operation; op and arg may be anything.
func (m *model) step(op byte, arg uint32) {
	m.t.Helper()
	pick := 0
	if len(m.live) > 0 {
		pick = int(arg % uint32(len(m.live)))
	}
	n := 1 + int(arg>>1)%(m.size+m.size/8)
	if op&0x80 == 0 {
		n = 1 + n%512
	}
	switch op & 7 {
	case 0, 1, 2:
		fits := m.pool.Stats().Largest
		b, err := m.pool.Alloc(n)
		if (err == nil) != (n <= fits) {
			m.t.Fatalf("Alloc(%d): %v, but the largest was %d", n, err, fits)
		}
		if err != nil {
			m.noRoom(n, 1, err)
			return
		}
		m.add(b, n, 16)
	case 3:
		align := 1 << (op >> 3 & 7) << 5 // 32…4096
		b, err := m.pool.AllocAligned(n, align)
		if err != nil {
			m.noRoom(n, align, err)
			return
		}
		m.add(b, n, align)
	case 4, 5, 6:
		if len(m.live) == 0 {
			return
		}
		gone := m.remove(pick)
		checkFill(m.t, gone.b, gone.stamp)
		var err error
		if op&8 == 0 {
			err = m.pool.Free(gone.b[:len(gone.b)/2])
		} else {
			err = m.pool.FreePointer(unsafe.Pointer(&gone.b[0]))
		}
		if err != nil {
			m.t.Fatalf("free of %d bytes: %v", len(gone.b), err)
		}
		if op&16 != 0 {
			if err := m.pool.Free(gone.b); !errors.Is(err, tlsf.ErrDoubleFree) {
				m.t.Fatalf("second free of %d bytes: %v", len(gone.b), err)
			}
		}
	case 7:
		m.resize(pick, n)
	}
}

func (m *model) resize(pick, n int) {
	m.t.Helper()
	if len(m.live) == 0 {
		return
	}
	old := m.live[pick]
	b, err := m.pool.Resize(old.b, n)
	if err != nil {
		checkFill(m.t, old.b, old.stamp)
		m.noRoom(n, 1, err)
		return
	}
	// The stamp depends on the length, so only the start must agree.
	for i := range min(n, len(old.b), 48) {
		if b[i] != old.stamp+byte(i) {
			m.t.Fatalf("byte %d changed in a resize from %d to %d", i, len(old.b), n)
		}
	}
	m.remove(pick)
	m.add(b, n, 16)
}

// verify compares everything there is to compare. O(blocks).
func (m *model) verify() {
	m.t.Helper()
	if err := m.pool.Verify(); err != nil {
		m.t.Fatal(err)
	}
	s := m.pool.Stats()
	if s.Used != m.used || s.Free != m.size-m.used || s.Blocks != len(m.live) || s.Peak < s.Used {
		m.t.Fatalf("%+v, want %d used in %d blocks", s, m.used, len(m.live))
	}
	for _, block := range m.live {
		if !checkFill(m.t, block.b, block.stamp) {
			m.t.FailNow()
		}
	}
}

// drain frees all and takes the pool as one block.
func (m *model) drain() {
	m.t.Helper()
	for len(m.live) > 0 {
		m.step(4, uint32(len(m.live)/2))
	}
	m.verify()
	b, err := m.pool.Alloc(m.size)
	if err != nil {
		m.t.Fatalf("after all was freed: %v\n%v", err, m.pool)
	}
	mustFree(m.t, m.pool, b)
}

// Random programs, a million operations and more in all, over pools from a few
// granules to many thousands of blocks.
func TestModel(t *testing.T) {
	sizes := []int{16, 64, 1 << 10, 32 << 10, 1 << 20, 16<<20 + 16}
	ops := scaled(170_000)
	for _, size := range sizes {
		for i, backing := range backings[:4] {
			t.Run(fmt.Sprintf("size=%d/%s", size, backing.name), func(t *testing.T) {
				seed := uint64(size + i)
				t.Logf("seed %d", seed)
				rng := rand.New(rand.NewPCG(seed, 1))
				m := &model{t: t, pool: mustNew(t, size, backing.opts...), size: size}
				rounds := ops / len(backings[:4])
				for op := range rounds {
					kind := byte(rng.Uint32())
					if rng.Uint32()%16 != 0 {
						kind &^= 0x80 | 0x10 // mostly small blocks, few double frees
					}
					m.step(kind, rng.Uint32())
					if op%(rounds/20) == 0 {
						m.verify()
					}
				}
				m.drain()
			})
		}
	}
}

// FuzzPool plays the bytes as a program: five bytes an operation.
func FuzzPool(f *testing.F) {
	f.Add(uint16(64), []byte{})
	f.Add(uint16(1), []byte{0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0})
	f.Add(uint16(4), []byte{0x80, 63, 0, 0, 0, 4, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 1, 0, 0})
	f.Add(uint16(1024), []byte{3, 99, 0, 0, 0, 0x3b, 200, 1, 0, 0, 0, 7, 0, 0, 0, 20, 0, 0, 0, 0, 7, 0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, granules uint16, program []byte) {
		size := 16 * (1 + int(granules)%4096)
		pool, err := tlsf.New(size)
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, pool: pool, size: size}
		for len(program) >= 5 {
			arg := uint32(program[1]) | uint32(program[2])<<8 | uint32(program[3])<<16 | uint32(program[4])<<24
			m.step(program[0], arg)
			m.verify()
			program = program[5:]
		}
		m.drain()
	})
}

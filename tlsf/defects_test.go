package tlsf_test

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/gomem-go/gomem/tlsf"
)

// One case for each known defect of tlsf-go, by its number.

const kib = 1 << 10

func mustAllocate(t *testing.T, a tlsf.Arena, n int64) unsafe.Pointer {
	t.Helper()
	ptr, err := a.Allocate(n)
	if err != nil || ptr == nil {
		t.Fatalf("Allocate(%d) = %p, %v", n, ptr, err)
	}
	return ptr
}

// Free must not believe anything it reads in the user's bytes.
func TestT01FreeIgnoresTheUsersData(t *testing.T) {
	for n := range 256 {
		a := tlsf.NewArena(32 * kib)
		left, mid, right := mustAllocate(t, a, 64), mustAllocate(t, a, int64(n+1)), mustAllocate(t, a, 64)
		for _, fill := range []byte{0xff, 0x00, 0x01, byte(n)} {
			block := unsafe.Slice((*byte)(mid), n+1)
			for i := range block {
				block[i] = fill
			}
			copy(unsafe.Slice((*byte)(left), 64), bytes.Repeat([]byte{0xff}, 64))
			a.Free(mid)
			if mid = mustAllocate(t, a, int64(n+1)); mid == nil {
				t.Fatalf("%d bytes of %#x: gone after Free", n+1, fill)
			}
		}
		a.Free(left)
		a.Free(right)
		a.Free(mid)
		if got := a.UsedSize(); got != 32 {
			t.Fatalf("%d bytes: UsedSize() = %d with nothing live, want 32", n+1, got)
		}
		mustAllocate(t, a, 32*kib)
	}
}

func TestT02FreedBlocksAreFound(t *testing.T) {
	a := tlsf.NewArena(1 << 20)
	live := [2]unsafe.Pointer{mustAllocate(t, a, 100), mustAllocate(t, a, 100)}
	for round := range scaled(100_000) {
		a.Free(live[round%2])
		live[round%2] = mustAllocate(t, a, 100)
	}
	if got := a.UsedSize(); got != 32+2*(112+16) {
		t.Errorf("UsedSize() = %d with two blocks of 100 bytes", got)
	}
	a = tlsf.NewArena(255 * 112)
	for range 3 {
		var blocks [255]unsafe.Pointer
		for i := range blocks {
			blocks[i] = mustAllocate(t, a, 112)
		}
		for _, ptr := range blocks {
			a.Free(ptr)
		}
	}
}

func TestT03NeighboursMerge(t *testing.T) {
	a := tlsf.NewArena(1 << 20)
	var blocks []unsafe.Pointer
	for {
		ptr, err := a.Allocate(112)
		if err != nil {
			break
		}
		blocks = append(blocks, ptr)
	}
	if want := 1 << 20 / 112; len(blocks) != want {
		t.Errorf("%d blocks of 112 bytes fit, want %d", len(blocks), want)
	}
	for i := 0; i < len(blocks); i += 2 {
		a.Free(blocks[i])
	}
	if _, err := a.Allocate(113); !errors.Is(err, tlsf.ErrBlockNotFound) {
		t.Errorf("Allocate(113) among holes of 112: %v", err)
	}
	for i := 1; i < len(blocks); i += 2 {
		a.Free(blocks[i])
	}
	mustAllocate(t, a, 1<<20)
}

func TestT04SizesBeyond32Bits(t *testing.T) {
	a := tlsf.NewArena(32 * kib)
	for _, n := range []int64{4294967552, 1<<32 + 1, 1<<32 + 16, 1<<33 + 64, 1<<48 + 1} {
		if ptr, err := a.Allocate(n); ptr != nil || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("Allocate(%d) = %p, %v; want ErrBlockNotFound", n, ptr, err)
		}
	}
}

func TestT05HugeSizes(t *testing.T) {
	a := tlsf.NewArena(32 * kib)
	for _, n := range []int64{32*kib + 1, 1 << 30, 1<<30 + 1, 2 << 30, 1<<32 - 1, 1 << 32, math.MaxInt64 - 16, math.MaxInt64} {
		if ptr, err := a.Allocate(n); ptr != nil || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("Allocate(%d) = %p, %v; want ErrBlockNotFound", n, ptr, err)
		}
	}
	if !instrumented { // a shadow of a gigabyte takes seconds to clear
		big := tlsf.NewArena(1 << 30)
		mustAllocate(t, big, 1<<30)
		big.Dispose()
	}
	if math.MaxInt == math.MaxInt32 {
		none := tlsf.NewArena(math.MaxUint32)
		if _, err := none.Allocate(1); !errors.Is(err, tlsf.ErrOutOfMemory) {
			t.Errorf("Allocate in an arena beyond the address space: %v", err)
		}
		none.Dispose()
	}
}

// UsedSize is what tlsf-go reports, which rounds blocks above 1 KiB up to its classes.
func TestUsedSizeOfClasses(t *testing.T) {
	for n, want := range map[int64]int64{
		1: 16, 16: 16, 17: 32, 460: 464, 1009: 1024, 1024: 1024, 1025: 1056, 1056: 1056, 1057: 1088,
		2048: 2048, 2049: 2112, 5000: 5120, 65536: 65536, 65537: 67584, 1 << 20: 1 << 20, 1<<20 + 1: 1<<20 + 32<<10,
	} {
		a := tlsf.NewArena(2 << 20)
		ptr := mustAllocate(t, a, n)
		if got := a.UsedSize(); got != 32+want+16 {
			t.Errorf("Allocate(%d): UsedSize() = %d, want %d", n, got, 32+want+16)
		}
		if a.Free(ptr); a.UsedSize() != 32 {
			t.Errorf("Free of %d: UsedSize() = %d", n, a.UsedSize())
		}
	}
}

func TestT06NegativeSizes(t *testing.T) {
	a := tlsf.NewArena(32 * kib)
	for _, n := range []int64{0, -1, -16, math.MinInt32, math.MinInt64, math.MinInt64 + 1} {
		ptr, err := a.Allocate(n)
		if ptr != nil || !errors.Is(err, tlsf.ErrInvalidSize) || !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("Allocate(%d) = %p, %v; want ErrInvalidSize and ErrBlockNotFound", n, ptr, err)
		}
	}
	if got := a.UsedSize(); got != 32 {
		t.Errorf("UsedSize() = %d after refused requests", got)
	}
}

func TestT07TinyArenas(t *testing.T) {
	for n := range uint32(64) {
		a := tlsf.NewArena(n)
		room := int64(n+15) &^ 15
		if _, err := a.Allocate(room + 1); !errors.Is(err, tlsf.ErrBlockNotFound) {
			t.Errorf("NewArena(%d): Allocate(%d): %v", n, room+1, err)
		}
		if room > 0 {
			a.Free(mustAllocate(t, a, room))
			a.Free(mustAllocate(t, a, 1))
		}
		used := a.UsedSize()
		if a.Free(nil); a.UsedSize() != used {
			t.Errorf("NewArena(%d): UsedSize() = %d after Free(nil), was %d", n, a.UsedSize(), used)
		}
		a.Dispose()
		a.Dispose()
		if got := a.UsedSize(); got != 0 {
			t.Errorf("NewArena(%d): UsedSize() = %d after Dispose", n, got)
		}
	}
}

func TestT08OddArenasAreAligned(t *testing.T) {
	for _, size := range []uint32{1001, 1015, 4097, 32*kib + 1, 100_003} {
		a := tlsf.NewArena(size)
		for n := int64(1); n < 100; n += 7 {
			if at := uintptr(mustAllocate(t, a, n)); at%16 != 0 {
				t.Fatalf("NewArena(%d): Allocate(%d) = %#x, not a multiple of 16", size, n, at)
			}
		}
	}
}

// A split that leaves a rest of no more than a header.
func TestT09SmallRests(t *testing.T) {
	for rest := range 65 {
		pool, err := tlsf.New(4096)
		if err != nil {
			t.Fatal(err)
		}
		first, err := pool.Alloc(4096 - rest)
		if err != nil {
			t.Fatal(err)
		}
		fill(first, 1)
		var others [][]byte
		for {
			b, err := pool.Alloc(16)
			if err != nil {
				break
			}
			fill(b, 2)
			others = append(others, b)
		}
		if want := rest / 16; len(others) != want {
			t.Errorf("%d blocks of 16 in a rest of %d, want %d", len(others), rest, want)
		}
		if err := pool.Verify(); err != nil {
			t.Errorf("rest %d: %v", rest, err)
		}
		checkFill(t, first, 1)
		for _, b := range append(others, first) {
			if err := pool.Free(b); err != nil {
				t.Errorf("rest %d: %v", rest, err)
			}
		}
		if got := pool.Stats().Largest; got != 4096 {
			t.Errorf("rest %d: largest is %d after all is freed", rest, got)
		}
	}
}

// The race detector and checkptr stop the program at a bad pointer: this is a
// little of everything that makes one.
func TestT10PointerArithmetic(t *testing.T) {
	a := tlsf.NewArena(32 * kib)
	for n := int64(1); n < 2000; n *= 3 {
		ptr := mustAllocate(t, a, n)
		b := unsafe.Slice((*byte)(ptr), n)
		b[0], b[n-1] = 1, 2
		a.Free(unsafe.Pointer(&b[n-1])) // not a block's start, for n > 1
		a.Free(ptr)
	}
	var local [16]byte
	a.Free(unsafe.Pointer(&local[0]))
	if got := a.UsedSize(); got != 32 {
		t.Errorf("UsedSize() = %d, want 32", got)
	}
}

// What the package comment warns of: a pointer that lies only in a pool keeps
// nothing alive.
func TestT11PoolsHoldNoGoPointers(t *testing.T) {
	pool, err := tlsf.New(4096)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pool.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	gone := hide(b)
	for range 10 {
		if runtime.GC(); gone.Value() == nil {
			return
		}
	}
	t.Error("a pool kept a Go object alive: the package comment is out of date")
}

// hide makes an object and stores its address in b and nowhere else.
//
//go:noinline
func hide(b []byte) weak.Pointer[[64]byte] {
	object := new([64]byte)
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&object)), unsafe.Sizeof(object)))
	return weak.Make(object)
}

func TestT12Dispose(t *testing.T) {
	a := tlsf.NewArena(32 * kib)
	ptr := mustAllocate(t, a, 100)
	a.Dispose()
	a.Dispose()
	for _, n := range []int64{1, 0, -1, 100, math.MaxInt64} {
		if got, err := a.Allocate(n); got != nil || !errors.Is(err, tlsf.ErrClosed) {
			t.Errorf("Allocate(%d) after Dispose = %p, %v; want ErrClosed", n, got, err)
		}
	}
	a.Free(ptr)
	if got := a.UsedSize(); got != 0 {
		t.Errorf("UsedSize() = %d after Dispose", got)
	}
}

// The module can be imported by its path, with the predecessor's names: this
// file does. What is left to pin are the signatures.
func TestT13Names(t *testing.T) {
	var newArena func(uint32) tlsf.Arena = tlsf.NewArena
	type predecessor interface {
		Allocate(size int64) (unsafe.Pointer, error)
		Free(ptr unsafe.Pointer)
		Dispose()
		UsedSize() int64
	}
	var a predecessor = newArena(32 * kib)
	ptr, err := a.Allocate(460)
	if err != nil || a.UsedSize() != 512 {
		t.Errorf("Allocate(460): %v, UsedSize() = %d, want 512", err, a.UsedSize())
	}
	a.Free(ptr)
	a.Dispose()
}

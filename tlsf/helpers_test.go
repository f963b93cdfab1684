package tlsf_test

import (
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/tlsf"
)

// scaled is how many of n operations to play: fewer where each takes longer,
// with a Verify after it (gomem_debug) or every access checked.
func scaled(n int) int {
	switch {
	case check.Enabled:
		return n / 50
	case instrumented, testing.Short():
		return n / 10
	}
	return n
}

// spots yields the bytes of a block of n that carry its stamp: all of a small
// one, the ends and some between of a large one.
func spots(n int, yield func(i int)) {
	const ends = 48
	if n <= 4*ends {
		for i := range n {
			yield(i)
		}
		return
	}
	for i := range ends {
		yield(i)
		yield(n - 1 - i)
	}
	for i := ends; i < n-ends; i += 509 {
		yield(i)
	}
}

// fill stamps a block.
func fill(b []byte, stamp byte) { spots(len(b), func(i int) { b[i] = stamp + byte(i) }) }

// checkFill reports whether the stamp is intact.
func checkFill(t testing.TB, b []byte, stamp byte) bool {
	t.Helper()
	ok := true
	spots(len(b), func(i int) {
		if ok && b[i] != stamp+byte(i) {
			ok = false
			t.Errorf("byte %d of a block of %d is %#x, want %#x: somebody wrote there", i, len(b), b[i], stamp+byte(i))
		}
	})
	return ok
}

// backings are the ways a pool gets its memory.
var backings = []struct {
	name string
	opts []tlsf.Option
}{
	{"heap", nil},
	{"mmap", []tlsf.Option{tlsf.WithMmap()}},
	{"populate", []tlsf.Option{tlsf.WithMmap(), tlsf.WithPopulate(), tlsf.WithBlocks(100)}},
	{"huge+lock", []tlsf.Option{tlsf.WithHugePages(), tlsf.WithLock()}},
	{"guard", []tlsf.Option{tlsf.WithBacking(backing.Mmap(backing.GuardPages()))}},
}

func mustNew(t testing.TB, size int, opts ...tlsf.Option) *tlsf.Pool {
	t.Helper()
	pool, err := tlsf.New(size, opts...)
	if err != nil {
		t.Fatalf("New(%d): %v", size, err)
	}
	t.Cleanup(func() {
		if err := pool.Verify(); err != nil {
			t.Error(err)
		}
		_ = pool.Close() // a test may have closed it
	})
	return pool
}

func mustAlloc(t testing.TB, p *tlsf.Pool, n int) []byte {
	t.Helper()
	b, err := p.Alloc(n)
	if err != nil {
		t.Fatalf("Alloc(%d): %v", n, err)
	}
	return b
}

func mustFree(t testing.TB, p *tlsf.Pool, b []byte) {
	t.Helper()
	if err := p.Free(b); err != nil {
		t.Fatalf("Free of %d bytes: %v", len(b), err)
	}
}

// distance is how far b starts behind a.
func distance(a, b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a))))
}

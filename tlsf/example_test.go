package tlsf_test

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/tlsf"
)

func ExampleArena() {
	var arena tlsf.Arena = tlsf.NewArena(4096)
	_, err := arena.Allocate(-1)
	fmt.Println(err)
	arena.Dispose()
	_, err = arena.Allocate(1)
	fmt.Println(errors.Is(err, tlsf.ErrClosed))
	// Output:
	// invalid size: no free block is large enough
	// true
}

func ExampleNewArena() {
	arena := tlsf.NewArena(1 << 20)
	defer arena.Dispose()
	ptr, err := arena.Allocate(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	b := unsafe.Slice((*byte)(ptr), 100)
	fmt.Println(copy(b, "plain bytes"), arena.UsedSize())
	arena.Free(ptr)
	arena.Free(ptr) // refused: changes nothing
	fmt.Println(arena.UsedSize())
	_, err = arena.Allocate(2 << 20)
	fmt.Println(errors.Is(err, tlsf.ErrBlockNotFound))
	// Output:
	// 11 160
	// 32
	// true
}

func ExampleNew() {
	pool, err := tlsf.New(1<<20, tlsf.WithMmap(), tlsf.WithPopulate(), tlsf.WithBlocks(1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := pool.Alloc(1500)
	fmt.Println(len(b), cap(b), err)
	fmt.Println(pool.Free(b), pool.Close())
	// Output:
	// 1500 1500 <nil>
	// <nil> <nil>
}

func ExampleWithHugePages() {
	pool, err := tlsf.New(8<<20, tlsf.WithHugePages())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pool.Stats().Largest>>20, pool.Close())
	// Output: 8 <nil>
}

func ExampleWithLocked() {
	pool, err := tlsf.New(64<<10, tlsf.WithLocked())
	if errors.Is(err, tlsf.ErrOutOfMemory) {
		// Beyond the limit on locked memory: present, but it may be paged out.
		pool, err = tlsf.New(64<<10, tlsf.WithMmap(), tlsf.WithPopulate())
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pool.Stats().Largest>>10, pool.Close())
	// Output: 64 <nil>
}

func ExamplePool_Close() {
	pool, err := tlsf.New(1<<20, tlsf.WithMmap())
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := pool.Alloc(100)
	fmt.Println(pool.Close())
	fmt.Println(pool.Free(b))
	// Output:
	// <nil>
	// pool is closed
}

func ExamplePool_Free() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := pool.Alloc(100)
	fmt.Println(pool.Free(b[10:]))
	fmt.Println(pool.Free(b[:10])) // the same block, resliced at its end
	fmt.Println(pool.Free(b))
	fmt.Println(pool.Free(make([]byte, 8)))
	// Output:
	// not owned: [10,100)
	// <nil>
	// double free: [0,100) overlaps free block [0,4096)
	// not owned
}

// Each refusal is a mistake of another kind. Whichever it is, nothing has changed.
func ExamplePool_Free_errors() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	free := func(b []byte) {
		switch err := pool.Free(b); {
		case err == nil:
			fmt.Println("freed")
		case errors.Is(err, tlsf.ErrDoubleFree):
			fmt.Println("freed before")
		case errors.Is(err, tlsf.ErrNotOwned):
			fmt.Println("not a block of this pool")
		case errors.Is(err, tlsf.ErrClosed):
			fmt.Println("too late")
		}
	}
	b, _ := pool.Alloc(100)
	free(make([]byte, 100))
	free(b[50:]) // Free takes whole blocks
	free(b)
	free(b)
	if err := pool.Close(); err != nil {
		fmt.Println(err)
	}
	free(b)
	// Output:
	// not a block of this pool
	// not a block of this pool
	// freed
	// freed before
	// too late
}

func ExamplePool_FreePointer() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := pool.Alloc(100)
	ptr := unsafe.Pointer(unsafe.SliceData(b))
	fmt.Println(pool.FreePointer(unsafe.Add(ptr, 16)) != nil)
	fmt.Println(pool.FreePointer(ptr))
	// Output:
	// true
	// <nil>
}

func ExamplePool_AllocAligned() {
	pool, err := tlsf.New(1 << 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, _ := pool.Alloc(24)
	b, _ := pool.AllocAligned(1000, 512)
	fmt.Println(uintptr(unsafe.Pointer(&b[0]))%512, len(small))
	_, err = pool.AllocAligned(1000, 500) // no power of two
	fmt.Println(errors.Is(err, tlsf.ErrInvalidSize))
	// Output:
	// 0 24
	// true
}

func ExamplePool_Resize() {
	pool, err := tlsf.New(1 << 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := pool.Alloc(5)
	copy(b, "hello")
	longer, err := pool.Resize(b, 4000)
	fmt.Println(len(longer), string(longer[:5]), &longer[0] == &b[0], err)
	// Output: 4000 hello true <nil>
}

func ExamplePool_Stats() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := pool.Alloc(1000)
	_, _ = pool.Alloc(500)
	_ = pool.Free(a)
	s := pool.Stats()
	fmt.Println(s.Size, s.Used, s.Peak, s.Blocks, s.Largest, pool.Verify())
	// Output: 4096 500 1500 1 2576 <nil>
}

func ExamplePool_Blocks() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := pool.Alloc(64)
	_, _ = pool.Alloc(100)
	_ = pool.Free(a)
	for block, live := range pool.Blocks() {
		fmt.Println(block, live)
	}
	fmt.Println(pool)
	// Output:
	// [0,64) false
	// [64,164) true
	// [164,4096) false
	// tlsf size=4096 granule=16 free=3996 fits=3920
	// [0,64) free 64
	// [64,164) live 100
	// [164,4096) free 3932
}

func ExamplePool_Reset() {
	pool, err := tlsf.New(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = pool.Alloc(4096)
	fmt.Println(pool.Reset(), pool.Stats().Largest)
	// Output: <nil> 4096
}

func ExampleWithBacking() {
	src := backing.NewFaulty(backing.Heap())
	src.Fail(backing.OpMap, 1, nil)
	_, err := tlsf.New(1<<20, tlsf.WithBacking(src))
	fmt.Println(errors.Is(err, tlsf.ErrOutOfMemory))
	// Output: true
}

func ExampleWithLock() {
	pool, err := tlsf.New(1<<16, tlsf.WithLock())
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	b, _ := pool.Alloc(100)
	go func() { done <- pool.Free(b) }()
	fmt.Println(<-done)
	// Output: <nil>
}

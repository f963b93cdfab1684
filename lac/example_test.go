package lac_test

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gomem-go/gomem/lac"
)

func ExampleNewPool() {
	pool := lac.NewPool("requests", lac.WithChunkSize(16<<10), lac.WithIdleChunks(4, 64), lac.WithIdleArenas(16))
	ac := pool.Get()
	fmt.Println(*ac.Int64(7), *ac.Float64(0.5), *ac.Uint32(9))
	ac.Release()
	// Output: 7 0.5 9
}

func ExampleWithScanned() {
	pool := lac.NewPool("scanned", lac.WithScanned())
	ac := pool.Get()
	defer ac.Release()
	item := lac.New[PbItem](ac)
	item.Id = new(int) // any Go pointer may be stored, no Attach
	*item.Id = 5
	fmt.Println(*item.Id)
	// Output: 5
}

func ExampleWithMisuse() {
	pool := lac.NewPool("strict", lac.WithMisuse(func(err error) {
		fmt.Println(err, errors.Is(err, lac.ErrReleased))
	}))
	ac := pool.Get()
	ac.Release()
	ac.Release()
	// Output: lac: pool "strict": Release: arena is released true
}

type lines struct{}

func (lines) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleWithLogger() {
	ac := lac.NewPool("logged", lac.WithLogger(lines{})).Get()
	ac.IncRef()
	ac.Release() // somebody else still holds a reference
	ac.DecRef()  // now the memory goes back
	// Output: lac: pool "logged": Release: arena is still held
}

func ExampleWithDebug() {
	pool := lac.NewPool("debug", lac.WithDebug(), lac.WithLogger(lines{}))
	ac := pool.Get()
	item := lac.New[PbItem](ac)
	item.Id = new(int) // on the Go heap, and not attached
	ac.CheckExternalPointers()
	item.Id = lac.Attach(ac, item.Id)
	ac.Release()
	pool.DebugCheck() // all are released
	fmt.Println(errors.Is(pool.Err(), lac.ErrUnattached))
	// Output:
	// lac: pool "debug": CheckExternalPointers: unattached heap pointer in lac_test.PbItem.Id
	// true
}

func ExampleAllocator_IncRef() {
	ac := acPool.Get()
	var wg sync.WaitGroup
	for range 4 {
		ac.IncRef() // before the goroutine starts
		wg.Go(func() {
			defer ac.DecRef()
			for i := range 1000 {
				*lac.New[int](ac) = i
			}
		})
	}
	wg.Wait()
	ac.Release()
	fmt.Println(acPool.Err())
	// Output: <nil>
}

func ExampleAllocator_Fork() {
	ac := acPool.Get()
	parts := make([][]int, 4)
	var wg sync.WaitGroup
	for i := range parts {
		own := ac.Fork()
		wg.Go(func() {
			defer own.Release()
			for k := range 100 {
				parts[i] = lac.Append(own, parts[i], k)
			}
		})
	}
	wg.Wait()
	fmt.Println(len(parts[0]), parts[3][99])
	ac.Release()
	// Output: 100 99
}

func ExampleAttach() {
	ac := acPool.Get()
	defer ac.Release()
	item := lac.New[PbItem](ac)
	item.Price = lac.Attach(ac, new(int)) // lives as long as the arena
	fmt.Println(*item.Price)
	// Output: 0
}

func ExampleNew() {
	ac := acPool.Get()
	defer ac.Release()
	p := lac.New[[3]int](ac)
	fmt.Println(*p, *lac.New[int](nil)) // a nil allocator is the Go heap
	// Output: [0 0 0] 0
}

func ExampleNewFrom() {
	ac := acPool.Get()
	defer ac.Release()
	item := lac.NewFrom(ac, &PbItem{Id: ac.Int(3)})
	fmt.Println(*item.Id)
	// Output: 3
}

func ExampleNewSlice() {
	ac := acPool.Get()
	defer ac.Release()
	s := lac.NewSlice[string](ac, 1, 3)
	fmt.Println(len(s), cap(s), s[0] == "")
	// Output: 1 3 true
}

func ExampleAppend() {
	ac := acPool.Get()
	defer ac.Release()
	var s []int
	for i := range 5 {
		s = lac.Append(ac, s, i, i*i)
	}
	fmt.Println(s)
	// Output: [0 0 1 1 2 4 3 9 4 16]
}

func ExampleNewMap() {
	ac := acPool.Get()
	defer ac.Release()
	m := lac.NewMap[string, *int](ac, 8)
	m["a"] = ac.Int(1)
	fmt.Println(*m["a"])
	// Output: 1
}

func ExampleNewEnum() {
	type color int32
	ac := acPool.Get()
	defer ac.Release()
	fmt.Println(*lac.NewEnum(ac, color(2)))
	// Output: 2
}

func ExampleAllocator_NewString() {
	ac := acPool.Get()
	defer ac.Release()
	buf := []byte("reused buffer")
	s := ac.NewString(string(buf))
	clear(buf)
	fmt.Println(s)
	// Output: reused buffer
}

func ExampleAllocatorPool_Stats() {
	pool := lac.NewPool("counted")
	for range 3 {
		pool.Get().Release()
	}
	s := pool.Stats()
	fmt.Println(s.Gets, s.Releases, s.Misuses)
	// Output: 3 3 0
}

func ExampleAllocatorPool_DumpStats() {
	pool := lac.NewPool("dumped")
	pool.Get().Release()
	fmt.Println(pool.DumpStats(true))
	// Output: lac pool "dumped": gets 1, releases 1, arenas made 1, chunks made 1, reused 0, dropped 0, idle bytes 0, misuses 0
}

var catalogue = map[string]int{"a": 1}

func ExampleWithAttached() {
	type order struct{ Prices map[string]int }
	pool := lac.NewPool("known", lac.WithDebug(), lac.WithAttached(catalogue), lac.WithLogger(lines{}))
	ac := pool.Get()
	lac.New[order](ac).Prices = catalogue // kept alive by a global, nothing to report
	ac.Release()
	fmt.Println(pool.Err())
	// Output: <nil>
}

func ExampleAllocatorPool_EnableDebugMode() {
	pool := lac.NewPool("switched", lac.WithLogger(lines{}))
	pool.EnableDebugMode(true)
	ac := pool.Get()
	lac.NewSlice[PbItem](ac, 3, 3)[2].Price = new(int)
	ac.Release()
	// Output: lac: pool "switched": Release: unattached heap pointer in []lac_test.PbItem[2].Price
}

func ExampleMisuseError() {
	pool := lac.NewPool("quiet", lac.WithMisuse(func(error) {}))
	ac := pool.Get()
	ac.Release()
	ac.DecRef() // one too many
	var misuse *lac.MisuseError
	if errors.As(pool.Err(), &misuse) {
		fmt.Println(misuse.Pool, misuse.Op, misuse.Err)
	}
	// Output: quiet DecRef arena is released
}

func ExampleAllocator_Release() {
	pool := lac.NewPool("reused")
	first := pool.Get()
	*first.Int(1) = 2
	first.Release() // every object of the arena is gone
	second := pool.Get()
	fmt.Println(*lac.New[int](second)) // memory that is used again is zero
	second.Release()
	// Output: 0
}

type discard struct{}

func (discard) Errorf(string, ...any) {}

func ExampleNewAllocatorPool() {
	// At most 100 idle arenas; chunks of 64 KiB, of which 2 are there from the
	// start and 50 are kept when idle.
	pool := lac.NewAllocatorPool("orders", discard{}, 100, 64<<10, 2, 50)
	ac := pool.Get()
	defer ac.Release()
	fmt.Println(*ac.Int32(-3), *ac.Uint64(1 << 40), *ac.Float32(0.25))
	// Output: -3 1099511627776 0.25
}

package backing_test

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/gomem-go/gomem/backing"
)

func Example() {
	src := backing.Mmap()
	mem, err := src.Map(1 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(mem, "off the Go heap")
	fmt.Println(len(mem), cap(mem), string(mem[:15]))
	fmt.Println(src.Unmap(mem))
	// Output:
	// 1048576 1048576 off the Go heap
	// <nil>
}

func ExampleHeap() {
	src := backing.Heap()
	mem, err := src.Map(100)
	fmt.Println(src.Name(), len(mem), err)
	_, err = src.Map(-1)
	fmt.Println(errors.Is(err, backing.ErrInvalidSize))
	// Output:
	// heap 100 <nil>
	// true
}

func ExampleMmap() {
	src := backing.Mmap(backing.HugePages(), backing.Populate())
	mem, err := src.Map(4 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(mem), src.Unmap(mem))
	// Output: 4194304 <nil>
}

func ExampleLocked() {
	src := backing.Mmap(backing.Locked())
	mem, err := src.Map(4096)
	if errors.Is(err, backing.ErrOutOfMemory) {
		// Beyond the limit on locked memory: present now, but it may be paged out.
		src = backing.Mmap(backing.Populate())
		mem, err = src.Map(4096)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	mem[0] = 1 // waits for no page
	fmt.Println(mem[0])
	fmt.Println(src.Unmap(mem))
	// Output:
	// 1
	// <nil>
}

func ExampleGuardPages() {
	src := backing.Mmap(backing.GuardPages())
	mem, err := src.Map(1 << 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	// An access just before or behind mem would end the program.
	fmt.Println(len(mem), src.Unmap(mem))
	// Output: 65536 <nil>
}

func ExampleProtector() {
	src := backing.Mmap()
	mem, err := src.Map(1 << 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	if p, ok := src.(backing.Protector); ok {
		fmt.Println(p.Protect(mem), p.Unprotect(mem)) // between the two any access faults
	} else {
		fmt.Println("<nil> <nil>")
	}
	fmt.Println(src.Unmap(mem))
	// Output:
	// <nil> <nil>
	// <nil>
}

func ExamplePoison() {
	mem, err := backing.Heap().Map(64)
	if err != nil {
		fmt.Println(err)
		return
	}
	if !backing.Poisons { // then a pattern has to do: it shows a late write afterwards
		for i := range mem {
			mem[i] = 0xdb
		}
	}
	backing.Poison(mem) // under -asan any access would now be reported
	backing.Unpoison(mem)
	clear(mem)
	fmt.Println(mem[0])
	// Output: 0
}

func ExampleFaulty() {
	src := backing.NewFaulty(backing.Heap())
	src.Fail(backing.OpMap, 2, syscall.EINVAL) // the second call from now

	mem, err := src.Map(4096)
	fmt.Println(len(mem), err)
	_, err = src.Map(4096)
	fmt.Println(errors.Is(err, backing.ErrOutOfMemory), errors.Is(err, syscall.EINVAL))

	mappings, bytes := src.Live()
	fmt.Println(mappings, bytes)
	fmt.Println(src.Unmap(mem), errors.Is(src.Unmap(mem), backing.ErrNotMapped)) // refused, not unmapped twice
	// Output:
	// 4096 <nil>
	// true true
	// 1 4096
	// <nil> true
}

// A report of what was not unmapped names the source.
func ExampleFaulty_Name() {
	src := backing.NewFaulty(backing.Heap())
	if _, err := src.Map(4096); err != nil { // and forgets it
		fmt.Println(err)
	}
	if _, bytes := src.Live(); bytes > 0 {
		fmt.Printf("%s: %d bytes leaked\n", src.Name(), bytes)
	}
	// Output: heap: 4096 bytes leaked
}

// A mapping that the system did not take back is still the caller's, to be tried again.
func ExampleFaulty_Fail() {
	src := backing.NewFaulty(backing.Heap())
	mem, err := src.Map(4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	src.Fail(backing.OpUnmap, 1, errors.New("not now"))
	for err = src.Unmap(mem); err != nil; err = src.Unmap(mem) {
		fmt.Println(err)
		fmt.Println(src.Live())
	}
	fmt.Println(src.Live())
	fmt.Println(src.Calls(backing.OpUnmap))
	// Output:
	// Unmap 1 fails on request: not now
	// 1 4096
	// 0 0
	// 2
}

// Protection goes through to the source, which may have none.
func ExampleFaulty_Protect() {
	for _, inner := range []backing.Source{backing.Heap(), backing.Mmap()} {
		src := backing.NewFaulty(inner)
		mem, err := src.Map(1 << 16)
		if err != nil {
			fmt.Println(err)
			return
		}
		mem[0] = 1
		err = src.Protect(mem)
		if err == nil {
			err = src.Unprotect(mem) // until here any access faulted
		} else if errors.Is(err, errors.ErrUnsupported) {
			err = nil // the Go heap, which stands in where there is no mmap, too
		}
		fmt.Println(mem[0], err)
		fmt.Println(src.Unmap(mem))
	}
	// Output:
	// 1 <nil>
	// <nil>
	// 1 <nil>
	// <nil>
}

func ExampleFaulty_FailFrom() {
	src := backing.NewFaulty(backing.Heap())
	full := errors.New("quota")
	src.FailFrom(backing.OpMap, 2, full) // the first Map works, no other does
	mem, err := src.Map(64)
	fmt.Println(len(mem), err)
	for range 2 {
		_, err = src.Map(64)
		fmt.Println(errors.Is(err, full), errors.Is(err, backing.ErrOutOfMemory))
	}
	fmt.Println(src.Calls(backing.OpMap))
	// Output:
	// 64 <nil>
	// true true
	// true true
	// 3
}

func ExampleFaulty_Release() {
	src := backing.NewFaulty(backing.Mmap())
	mem, err := src.Map(src.PageSize())
	if err != nil {
		fmt.Println(err)
		return
	}
	src.Fail(backing.OpRelease, 1, errors.New("not now"))
	fmt.Println(src.Release(mem))
	fmt.Println(src.Release(mem), src.Calls(backing.OpRelease))
	fmt.Println(src.Unmap(mem))
	// Output:
	// Release 1 fails on request: not now
	// <nil> 2
	// <nil>
}

// half is a source that maps half of what it is asked for.
type half struct{ backing.Source }

func (h half) Map(size int) ([]byte, error) { return h.Source.Map(size / 2) }

func ExampleMap() {
	src := backing.NewFaulty(backing.Heap())
	mem, err := backing.Map(half{src}, 1<<20)
	fmt.Println(len(mem), errors.Is(err, backing.ErrOutOfMemory))
	fmt.Println(src.Live()) // what it mapped went back
	// Output:
	// 0 true
	// 0 0
}

func ExampleMapUnzeroed() {
	mem, err := backing.MapUnzeroed(backing.Heap(), 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	clear(mem) // or whatever else overwrites it
	fmt.Println(len(mem), mem[0])
	// Output: 1048576 0
}

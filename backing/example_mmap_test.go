//go:build !race && (linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package backing_test

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/gomem-go/gomem/backing"
)

func ExampleMapped() {
	before := backing.Mapped()
	mem, err := backing.Mmap().Map(1 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(backing.Mapped() - before)
	fmt.Println(backing.Mmap().Unmap(mem), backing.Mapped()-before)
	// Output:
	// 1048576
	// <nil> 0
}

func ExampleReleaseUnit() {
	fmt.Println(backing.ReleaseUnit(backing.Heap()))
	fmt.Println(backing.ReleaseUnit(backing.Mmap()) == backing.Mmap().PageSize())
	fmt.Println(backing.ReleaseUnit(backing.Mmap(backing.Locked())))
	// Output:
	// 0
	// true
	// 0
}

func ExampleGoLimit() {
	const container = 1 << 30
	mem, err := backing.Mmap().Map(256 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	debug.SetMemoryLimit(backing.GoLimit(container))
	limit := debug.SetMemoryLimit(math.MaxInt64) // no limit again
	fmt.Println(limit == container-int64(backing.Mapped()), limit <= 768<<20)
	fmt.Println(backing.Mmap().Unmap(mem))
	// Output:
	// true true
	// <nil>
}

func ExampleFaulty_ReleaseUnit() {
	fmt.Println(backing.NewFaulty(backing.Heap()).ReleaseUnit())
	// Output: 0
}

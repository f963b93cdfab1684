package gomem_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem"
)

func ExampleNewBuddy() {
	b := gomem.NewBuddy()
	bytes := 5000
	granules := (bytes + 1<<gomem.MinPowerOf2 - 1) >> gomem.MinPowerOf2
	first, _ := b.Alloc(granules)
	second, err := b.Alloc(granules)
	fmt.Println(granules, first, second, err)
	fmt.Println(b.Free(first), b.Free(second))
	// Output:
	// 5 0 8 <nil>
	// <nil> <nil>
}

func ExampleBuddy_Alloc() {
	b := gomem.NewBuddy()
	_, err := b.Alloc(0)
	fmt.Println(errors.Is(err, gomem.InValidParameterErr))
	whole := gomem.BuddySize >> gomem.MinPowerOf2
	fmt.Println(b.Alloc(whole))
	_, err = b.Alloc(1)
	fmt.Println(errors.Is(err, gomem.NotFoundErr))
	// Output:
	// true
	// 0 <nil>
	// true
}

func ExampleBuddy_Free() {
	b := gomem.NewBuddy()
	at, _ := b.Alloc(8)
	fmt.Println(b.Free(at + 3)) // inside the block
	fmt.Println(b.Free(at))
	// Output:
	// buddy: no such block
	// <nil>
}

func ExampleGetBuddy() {
	b := gomem.GetBuddy()
	at, err := b.Alloc(gomem.MaxBlockSize >> gomem.MinPowerOf2)
	fmt.Println(at, err)
	gomem.PutBuddy(b) // its blocks stay live
	fmt.Println(b.Free(at))
	// Output:
	// 0 <nil>
	// <nil>
}

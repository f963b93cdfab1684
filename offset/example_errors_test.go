package offset_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem/offset"
)

// The reason of a refusal says which mistake the caller made. Whichever it is, nothing
// has changed.
func Example_errors() {
	a := offset.NewTLSF(1024, 64)
	first, second := a.Allocate(128), a.Allocate(128)
	a.Allocate(128)
	fmt.Println(a.Free(first, 128))
	for _, b := range []offset.Block{
		{Start: first, End: first + 128},
		{Start: second, End: second + 130},
		{Start: second, End: second},
	} {
		switch err := a.Free(b.Start, b.Size()); {
		case errors.Is(err, offset.ErrDoubleFree):
			fmt.Println(b, "has a second owner, who freed it")
		case errors.Is(err, offset.ErrNotOwned):
			fmt.Println(b, "runs into the next block")
		case errors.Is(err, offset.ErrInvalidSize):
			fmt.Println(b, "is empty")
		}
	}
	fmt.Println(a.Free(second, 128))
	// Output:
	// <nil>
	// [0,128) has a second owner, who freed it
	// [128,258) runs into the next block
	// [128,128) is empty
	// <nil>
}

// What no placement can be made of is a mistake in the program, so it panics.
func ExampleNewBuddy_invalidSize() {
	defer func() {
		if err, ok := recover().(error); ok {
			fmt.Println(err, errors.Is(err, offset.ErrInvalidSize))
		}
	}()
	offset.NewBuddy(1<<20, 1000)
	// Output: offset: NewBuddy(1048576, 1000): invalid size true
}

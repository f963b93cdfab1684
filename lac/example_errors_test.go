package lac_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem/lac"
)

// A handler tells the kinds of misuse apart. All but ErrInvalidSize, for which NewSlice
// panics, come here.
func ExampleWithMisuse_kinds() {
	pool := lac.NewPool("strict", lac.WithDebug(), lac.WithMisuse(func(err error) {
		switch {
		case errors.Is(err, lac.ErrReleased):
			fmt.Println("somebody uses an arena that is gone")
		case errors.Is(err, lac.ErrHeld):
			fmt.Println("a goroutine still works on it: release it later")
		case errors.Is(err, lac.ErrUnattached):
			fmt.Println("the collector may free what an object points to")
		case errors.Is(err, lac.ErrLeaked):
			fmt.Println("somebody forgot to release one")
		case errors.Is(err, lac.ErrReferences): // 2^31-1 of them, so not shown here
			fmt.Println("a loop calls IncRef, and nobody DecRef")
		}
	}))
	ac := pool.Get()
	ac.IncRef()
	ac.Release() // before the other holder is done
	lac.New[PbItem](ac).Id = new(int)
	ac.DecRef() // the last one, which looks at the pointers in debug mode
	ac.DecRef()
	pool.Get()
	pool.DebugCheck() // when all should be released
	// Output:
	// a goroutine still works on it: release it later
	// the collector may free what an object points to
	// somebody uses an arena that is gone
	// somebody forgot to release one
}

// A decoder makes an error of the panic about a length that a peer sent.
func ExampleNewSlice_invalidSize() {
	ac := lac.NewPool("packets").Get()
	defer ac.Release()
	decode := func(length int) (s []int, err error) {
		defer func() {
			p := recover()
			if e, ok := p.(error); ok && errors.Is(e, lac.ErrInvalidSize) {
				err = e
			} else if p != nil {
				panic(p) // somebody else's
			}
		}()
		return lac.NewSlice[int](ac, length, length), nil
	}
	_, err := decode(-1)
	fmt.Println(err)
	s, err := decode(3)
	fmt.Println(s, err)
	// Output:
	// lac: pool "packets": NewSlice: invalid size
	// [0 0 0] <nil>
}

// Does a bug go away without arenas? Then something outlives its arena.
func ExampleAllocatorPool_Get_disabled() {
	pool := lac.NewPool("suspect")
	lac.DisableAllLac = true // in a program: first thing in main
	defer func() { lac.DisableAllLac = false }()

	ac := pool.Get()
	p := lac.New[int](ac)
	*p = 5
	ac.Release()
	fmt.Println(ac == nil, *p) // on the Go heap, where it lives on
	fmt.Println(pool.Stats().Gets)
	// Output:
	// true 5
	// 0
}

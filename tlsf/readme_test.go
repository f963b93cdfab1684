package tlsf

import "fmt"

// The example of tlsf-go's README, to the letter.
func Example() {
	const bytes32KB uint32 = 32 * 1024
	arena := NewArena(bytes32KB)

	ptr, err := arena.Allocate(460)
	if err != nil {
		panic(err)
	}

	fmt.Printf("used_size: %d byte", arena.UsedSize())

	arena.Free(ptr)

	arena.Dispose()
	// Output: used_size: 512 byte
}

package backing

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/gomem-go/gomem/internal/unzeroed"
)

// pageSize is the system's page, asked for once: it cannot change.
var pageSize = os.Getpagesize()

// maxMap leaves room below the largest int for alignment and guard pages, so
// that no sum in this package overflows, also where int has 32 bits.
const maxMap = int(^uint(0)>>1) - 1<<24

type heapSource struct{}

// Heap is the Go heap as a [Source]. Its mappings are garbage collected: a
// mapping that is dropped without Unmap is not lost, and using one after
// Unmap is harmless. They count towards GOMEMLIMIT, unlike mappings of the
// system.
//
// Map asks the runtime for whole pages, which the runtime zeroes unless they
// are fresh from the system. It fails only for a size that no address space
// can hold; otherwise, like make, it ends the program when memory runs out.
// Unmap does not notice a second Unmap, or that of a part which begins at a page;
// neither does harm. Release does nothing. Safe for use by several goroutines.
func Heap() Source { return heapSource{} }

func (heapSource) Name() string  { return "heap" }
func (heapSource) PageSize() int { return pageSize }

func (heapSource) Map(size int) ([]byte, error) {
	return mapHeap(size, func(n int) []byte { return make([]byte, n) })
}

func (heapSource) mapUnzeroed(size int) ([]byte, error) { return mapHeap(size, unzeroed.Make[byte]) }

func mapHeap(size int, alloc func(n int) []byte) ([]byte, error) {
	if err := checkSize("make", size); err != nil {
		return nil, err
	}
	whole := roundUp(size, pageSize)
	mem, err := makeBytes(whole, alloc)
	if err != nil {
		return nil, err
	}
	if skew := misalignment(mem, pageSize); skew != 0 {
		// The runtime's own page is smaller than the system's here.
		if mem, err = makeBytes(whole+pageSize, alloc); err != nil {
			return nil, err
		}
		mem = mem[(pageSize-misalignment(mem, pageSize))%pageSize:]
	}
	return mem[:size:size], nil
}

func (heapSource) Unmap(mem []byte) error {
	if len(mem) == 0 || misalignment(mem, pageSize) != 0 {
		return fmt.Errorf("%w: %d bytes", ErrNotMapped, len(mem))
	}
	Unpoison(mem)
	return nil
}

func (heapSource) Release([]byte) error { return nil }

// ReleaseUnit is for [ReleaseUnit].
func (heapSource) ReleaseUnit() int { return 0 }

// makeBytes is alloc with an error in place of the panic for a length beyond
// the address space.
func makeBytes(n int, alloc func(n int) []byte) (mem []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			mem, err = nil, fmt.Errorf("make %d bytes: %w: %v", n, ErrOutOfMemory, r)
		}
	}()
	return alloc(n), nil
}

// checkSize refuses sizes that no source can serve, before any of them asks.
func checkSize(verb string, size int) error {
	switch {
	case size <= 0:
		return fmt.Errorf("%s %d bytes: %w", verb, size, ErrInvalidSize)
	case size > maxMap:
		return fmt.Errorf("%s %d bytes: %w: %w", verb, size, ErrOutOfMemory, errTooLarge)
	}
	return nil
}

var errTooLarge = errors.New("beyond the address space")

func roundUp(n, to int) int   { return (n + to - 1) &^ (to - 1) }
func roundDown(n, to int) int { return n &^ (to - 1) }

// misalignment is how far mem starts beyond a multiple of to.
func misalignment(mem []byte, to int) int {
	// Safety: the address is only measured, never turned back into a pointer.
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % uintptr(to))
}

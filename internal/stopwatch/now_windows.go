package stopwatch

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel    = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel.NewProc("QueryPerformanceCounter").Addr()
	frequency = ask(kernel.NewProc("QueryPerformanceFrequency").Addr()) // of the counter, in Hz
	epoch     = ask(counter)
)

// Now is the time since a moment at the start of the program. It never decreases.
func Now() time.Duration {
	high, low := bits.Mul64(ask(counter)-epoch, uint64(time.Second))
	passed, _ := bits.Div64(high, low, frequency)
	return time.Duration(passed)
}

// ask returns what the function at f stores. Windows says that neither of the two fails.
func ask(f uintptr) (n uint64) {
	// Safety: f stores 64 bits to the address, which syscall.SyscallN keeps alive.
	_, _, _ = syscall.SyscallN(f, uintptr(unsafe.Pointer(&n)))
	return n
}

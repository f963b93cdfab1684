//go:build !race && !asan && !gomem_debug

package gomem

// byteStep is the distance between the offsets that TestErrorAtEveryByte tries,
// and divides the programs of TestBufReaderAgainstBufio and the calls of
// TestReadersShareAnAllocator.
const byteStep = 1

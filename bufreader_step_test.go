//go:build !race && !asan && !gomem_debug

package gomem

// byteStep is the distance between the offsets that TestErrorAtEveryByte tries,
// and divides the programs of TestBufReaderAgainstBufio.
const byteStep = 1

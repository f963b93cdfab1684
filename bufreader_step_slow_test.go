//go:build race || asan || gomem_debug

package gomem

// byteStep is the distance between the offsets that TestErrorAtEveryByte tries,
// and divides the programs of TestBufReaderAgainstBufio and the calls of
// TestReadersShareAnAllocator. instrumented, all of them
// would take half a minute.
const byteStep = 11

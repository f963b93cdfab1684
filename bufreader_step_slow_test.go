//go:build race || asan || gomem_debug

package gomem

// byteStep is the distance between the offsets that TestErrorAtEveryByte tries;
// instrumented, every byte would take half a minute.
const byteStep = 11

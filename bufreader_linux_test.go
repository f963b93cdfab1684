package gomem

import (
	"bytes"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWindowsOnlyRead: packets may lie where nobody can write, or be read by others, too,
// as long as no holder of a view writes to them.
func TestWindowsOnlyRead(t *testing.T) {
	const total, size = 1 << 16, 700
	mem, err := unix.Mmap(-1, 0, total, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { expectError(t, unix.Munmap(mem), nil) })
	stream := noise(total)
	copy(mem, stream)
	expectError(t, unix.Mprotect(mem, unix.PROT_READ), nil)
	feed := make(chan []byte, total/size+1)
	for at := 0; at < total; at += size {
		end := min(at+size, total)
		feed <- mem[at:end:end]
	}
	close(feed)
	b := onItsOwn(t, NewBufReaderChan(feed))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for at := 0; at+300 <= total; at += 100 {
		p, err := b.Peek(300)
		if err != nil || !bytes.Equal(p, stream[at:at+300]) {
			t.Fatalf("at %d: %d bytes, %v, or others", at, len(p), err)
		}
		expectError(t, b.Skip(100), nil)
	}
}

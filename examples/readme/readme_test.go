// Package readme runs what README.md shows.
package readme

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
)

func Example_packets() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)

	b := a.Malloc(16 << 10) // owned until freed; not zeroed
	n := copy(b, "a packet")
	a.FreeRest(&b, n) // nearly all of the 16 KiB is free for the next Malloc
	fmt.Printf("%s: %d bytes in use\n", b, a.Stats().Live)

	fmt.Println(a.Free(b), a.Free(b)) // the second free is refused
	// Output:
	// a packet: 8 bytes in use
	// true false
}

func Example_options() {
	a := gomem.NewScalableMemoryAllocator(1<<20,
		gomem.WithBacking(backing.Mmap()),  // outside the Go heap
		gomem.WithPlacement(gomem.TwoTree), // best fit, exact to the byte
		gomem.WithMaxBytes(64<<20),         // never a byte more
		gomem.WithMisuse(func(err error) { log.Print(err) }),
	)
	defer a.Close()

	_, err := a.TryMalloc(100 << 20)
	fmt.Println(err != nil)
	// Output: true
}

func Example_frames() {
	// relay reads frames, each a 4-byte length and a body, and sends them to all
	// subscribers from the memory that the source wrote them into.
	relay := func(source io.Reader, subscribers []chan *gomem.SharedMemory) error {
		r := gomem.NewBufReader(source)
		defer r.Recycle()
		for {
			size, err := r.ReadBE32(4)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			frame, err := r.ReadShared(int(size)) // at most r.MaxFrameBytes
			if err != nil {
				return err
			}
			for _, s := range subscribers {
				frame.Retain()
				s <- frame // the receiver calls WriteTo, then Release
			}
			frame.Release()
		}
	}

	subscriber := make(chan *gomem.SharedMemory, 8)
	near, far := net.Pipe()
	go func() {
		_, _ = near.Write([]byte("\x00\x00\x00\x05hello\x00\x00\x00\x06 world"))
		_ = near.Close()
	}()
	err := relay(far, []chan *gomem.SharedMemory{subscriber})
	close(subscriber)
	for frame := range subscriber {
		_, _ = frame.WriteTo(os.Stdout)
		_ = frame.Release()
	}
	fmt.Println(err)
	// Output: hello world<nil>
}

func Example_arena() {
	type Item struct {
		Name  string
		Price *int
	}
	pool := lac.NewPool("requests")

	ac := pool.Get()
	defer ac.Release() // releases all objects at once

	items := lac.NewSlice[*Item](ac, 0, 4)
	for i, name := range []string{"tea", "milk"} {
		item := lac.New[Item](ac)
		item.Name, item.Price = ac.NewString(name), ac.Int(3+i)
		items = lac.Append(ac, items, item)
	}
	fmt.Println(len(items), items[1].Name, *items[1].Price)
	// Output: 2 milk 4
}

func Example_realtime() {
	pool, err := tlsf.New(1<<20, tlsf.WithLocked(), tlsf.WithBlocks(1000))
	if err != nil {
		pool, err = tlsf.New(1 << 20) // may not lock that much memory
	}
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	b, err := pool.Alloc(1500) // a bounded number of steps, in any state
	fmt.Println(len(b), err, pool.Free(b))
	// Output: 1500 <nil> <nil>
}

func Example_readBinary() {
	r := gomem.NewBufReader(iotest.OneByteReader(strings.NewReader("a whole tag")))
	defer r.Recycle()
	size := 11

	tag := make([]byte, size)
	n, err := r.ReadBinary(tag) // was r.Read(tag)
	fmt.Println(n, string(tag), err)
	// Output: 11 a whole tag <nil>
}

func Example_peek() {
	r := gomem.NewBufReader(strings.NewReader("RTSP and a body that takes the room of what came before"))
	defer r.Recycle()

	view, err := r.Peek(4)
	magic := bytes.Clone(view) // was the result of r.Peek(4)
	r.Discard(9)
	fmt.Println(string(bytes.ToLower(magic)), err)
	// Output: rtsp <nil>
}

// TestReadme: each block of Go in the README stands in this file, line by line.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := trim(string(self))
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("no block of Go in the README")
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(shown, trim(code)) {
			t.Errorf("not in readme_test.go:\n%s", code)
		}
	}
}

// trim removes the indentation.
func trim(code string) string {
	var out strings.Builder
	for line := range strings.Lines(code) {
		out.WriteString(strings.TrimSpace(line))
		out.WriteByte('\n')
	}
	return out.String()
}

package gomem_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gomem-go/gomem"
)

// A proxy passes a body on, whatever its length, through one block.
func ExampleBufReader_CopyN() {
	r := gomem.NewBufReader(strings.NewReader("\x00\x04bodynext"))
	defer r.Recycle()
	size, _ := r.ReadBE(2)
	n, err := r.CopyN(os.Stdout, int64(size))
	fmt.Println("", n, err)
	next, _ := r.ReadString(4)
	fmt.Println(next)
	// Output:
	// body 4 <nil>
	// next
}

func ExampleBufReader_ReadLine() {
	r := gomem.NewBufReader(strings.NewReader("one\r\ntwo\nlast"))
	defer r.Recycle()
	for {
		line, err := r.ReadLine()
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%q ", line)
	}
	// Output: "one" "two" "last" EOF
}

func ExampleBufReader_ReadSlice() {
	r := gomem.NewBufReader(strings.NewReader("a;b"))
	defer r.Recycle()
	p, err := r.ReadSlice(';')
	fmt.Printf("%s %v\n", p, err)
	p, err = r.ReadSlice(';')
	fmt.Printf("%s %v\n", p, err)
	// Output:
	// a; <nil>
	// b EOF
}

func ExampleBufReader_ReadUntil() {
	r := gomem.NewBufReader(strings.NewReader("part one--boundary\r\npart two"))
	defer r.Recycle()
	p, err := r.ReadUntil([]byte("--boundary\r\n"), 1024)
	fmt.Printf("%q %v\n", p, err)
	_, err = r.ReadUntil([]byte("--boundary\r\n"), 5)
	fmt.Println(err)
	// Output:
	// "part one--boundary\r\n" <nil>
	// ReadUntil: 8 bytes exceed limit = 5
}

func ExampleBufReader_ReadMIMEHeader() {
	r := gomem.NewBufReader(strings.NewReader("CSeq: 1\r\nSubject: in two\r\n lines\r\n\r\n"))
	defer r.Recycle()
	h, err := r.ReadMIMEHeader()
	fmt.Println(h.Get("cseq"), "|", h.Get("subject"), err)
	// Output: 1 | in two lines <nil>
}

func ExampleBufReader_Buffered() {
	r := gomem.NewBufReader(strings.NewReader("twelve bytes"))
	defer r.Recycle()
	_ = r.Skip(7)
	fmt.Println(r.Buffered(), r.TotalRead())
	// Output: 5 12
}

func ExampleBufReader_TotalRead() {
	r := gomem.NewBufReader(strings.NewReader("twelve bytes"))
	defer r.Recycle()
	_ = r.Skip(7)
	fmt.Println("position", r.TotalRead()-int64(r.Buffered()))
	// Output: position 7
}

func ExampleBufReader_Reset() {
	r := gomem.NewBufReader(strings.NewReader("first"))
	defer r.Recycle()
	first, _ := r.ReadString(5)
	r.Reset(strings.NewReader("second")) // the next connection
	second, err := r.ReadString(6)
	fmt.Println(first, second, err)
	// Output: first second <nil>
}

func ExampleBufReader_Recycle() {
	r := gomem.NewBufReader(strings.NewReader("bytes"))
	r.Recycle()
	_, err := r.ReadByte()
	fmt.Println(errors.Is(err, gomem.ErrRecycled))
	// Output: true
}

func ExampleBufReader_Release() {
	r := gomem.NewBufReaderWithBufLen(strings.NewReader("a view and another one"), 16)
	defer r.Recycle()
	r.HoldViews = true
	one, _ := r.Next(6)
	two, _ := r.Next(12) // reads on, and leaves the first view alone
	fmt.Printf("%s%s: %d bytes\n", one, two, r.ReadLen())
	_ = r.Release(nil) // now both are dead
	fmt.Println(r.ReadLen())
	// Output:
	// a view and another: 18 bytes
	// 0
}

func ExampleBufReader_ReadLen() {
	r := gomem.NewBufReader(strings.NewReader("0123456789"))
	defer r.Recycle()
	_ = r.Skip(4)
	fmt.Println(r.ReadLen())
	// Output: 4
}

// The payload of a WebSocket frame is masked. It is changed where it lies, and shared
// then.
func ExampleBufReader_ReadShared_unmask() {
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	r := gomem.NewBufReader(strings.NewReader("\x7f\x9f\x4d\x51\x58" + "next"))
	defer r.Recycle()
	payload, err := r.Peek(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	frame, err := r.ReadShared(5)
	next, _ := r.ReadString(4)
	m := frame.Memory()
	fmt.Println(string(m.ToBytes()), err, next, frame.Release())
	// Output: Hello <nil> next <nil>
}

func ExampleLimitError() {
	r := gomem.NewBufReader(strings.NewReader("\x7f\xff\xff\xff..."))
	defer r.Recycle()
	n, _ := r.ReadBE(4)
	_, err := r.ReadShared(n)
	fmt.Println(err)
	var limit *gomem.LimitError
	fmt.Println(errors.As(err, &limit) && limit.Limit == "MaxFrameBytes", errors.Is(err, gomem.ErrTooLong))
	// Output:
	// ReadShared: 2147483647 bytes exceed MaxFrameBytes = 16777216
	// true true
}

func ExampleSharedMemory() {
	r := gomem.NewBufReader(strings.NewReader("frame"))
	defer r.Recycle()
	frame, _ := r.ReadShared(5)
	done := make(chan string)
	for range 2 {
		_ = frame.Retain() // one reference for each subscriber
		go func() {
			m := frame.Memory()
			done <- string(m.ToBytes())
			_ = frame.Release()
		}()
	}
	_ = frame.Release() // the reader's own
	fmt.Println(<-done, <-done)
	// Output: frame frame
}

func ExampleSharedMemory_Retain() {
	r := gomem.NewBufReader(strings.NewReader("frame"))
	defer r.Recycle()
	frame, _ := r.ReadShared(5)
	fmt.Println(frame.Retain(), frame.Release(), frame.Release())
	fmt.Println(frame.Retain())
	// Output:
	// <nil> <nil> <nil>
	// shared memory was released
}

func ExampleSharedMemory_Release() {
	r := gomem.NewBufReader(strings.NewReader("frame"))
	defer r.Recycle()
	frame, _ := r.ReadShared(5)
	fmt.Println(frame.Release(), errors.Is(frame.Release(), gomem.ErrReleased))
	// Output: <nil> true
}

func ExampleSharedMemory_Len() {
	r := gomem.NewBufReader(strings.NewReader("frame"))
	defer r.Recycle()
	frame, _ := r.ReadShared(5)
	fmt.Println(frame.Len(), frame.Release(), frame.Len())
	// Output: 5 <nil> 0
}

func ExampleSharedMemory_Memory() {
	r := gomem.NewBufReaderWithBufLen(strings.NewReader("a frame that lies in two blocks"), 16)
	defer r.Recycle()
	frame, _ := r.ReadShared(31)
	m := frame.Memory()
	fmt.Println(m.Count(), string(m.ToBytes()), frame.Release())
	// Output: 2 a frame that lies in two blocks <nil>
}

func ExampleSharedMemory_WriteTo() {
	r := gomem.NewBufReader(strings.NewReader("to each subscriber\n"))
	defer r.Recycle()
	frame, _ := r.ReadShared(19)
	for range 2 {
		_, _ = frame.WriteTo(os.Stdout)
	}
	fmt.Println(frame.Release())
	// Output:
	// to each subscriber
	// to each subscriber
	// <nil>
}

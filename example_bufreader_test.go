package gomem_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/gomem-go/gomem"
)

func ExampleNewBufReader() {
	r := gomem.NewBufReader(strings.NewReader("\x00\x05hello"))
	defer r.Recycle()
	n, _ := r.ReadBE(2)
	s, err := r.ReadString(n)
	fmt.Println(s, err)
	// Output: hello <nil>
}

func ExampleNewBufReaderWithBufLen() {
	r := gomem.NewBufReaderWithBufLen(strings.NewReader("video"), 64<<10)
	defer r.Recycle()
	p, err := r.Next(5)
	fmt.Printf("%s %v\n", p, err)
	// Output: video <nil>
}

func ExampleNewBufReaderChan() {
	feed := make(chan []byte, 2)
	r := gomem.NewBufReaderChan(feed)
	defer r.Recycle() // closes feed, unless it is closed
	r.Mouth <- []byte("one li")
	r.Mouth <- []byte("ne\n")
	line, err := r.ReadLine()
	fmt.Println(line, err)
	// Output: one line <nil>
}

func ExampleBufReader_Feed() {
	r := gomem.NewBufReaderChan(make(chan []byte, 1))
	fmt.Println(r.Feed([]byte("kept")), r.Feed([]byte("dropped")))
	s, err := r.ReadString(4)
	fmt.Println(s, err)
	r.Recycle()
	fmt.Println(r.Feed([]byte("too late")))
	// Output:
	// true false
	// kept <nil>
	// false
}

func ExampleNewBufReaderBuffersChan() {
	feed := make(chan net.Buffers, 1)
	feed <- net.Buffers{[]byte("he"), []byte("ad"), []byte("body")}
	close(feed)
	r := gomem.NewBufReaderBuffersChan(feed)
	defer r.Recycle()
	_ = r.Skip(4)
	rest, err := io.ReadAll(r)
	fmt.Printf("%s %v\n", rest, err)
	// Output: body <nil>
}

func ExampleBufReader() {
	r := gomem.NewBufReader(strings.NewReader("GET /\r\nHost: here\r\nContent-Length: 4\r\n\r\nbody"))
	defer r.Recycle()
	r.MaxLineBytes, r.MaxHeaderBytes = 8<<10, 64<<10
	line, _ := r.ReadLine()
	header, err := r.ReadMIMEHeader()
	fmt.Println(line, header.Get("host"), err)
	body, err := r.Next(4)
	fmt.Printf("%s %v\n", body, err)
	// Output:
	// GET / here <nil>
	// body <nil>
}

func ExampleBufReader_Read() {
	r := gomem.NewBufReader(strings.NewReader("short"))
	defer r.Recycle()
	p := make([]byte, 100)
	n, err := r.Read(p)
	fmt.Printf("%s %v\n", p[:n], err)
	// Output: short <nil>
}

func ExampleBufReader_ReadByte() {
	r := gomem.NewBufReader(strings.NewReader("ab"))
	defer r.Recycle()
	for {
		c, err := r.ReadByte()
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%c ", c)
	}
	// Output: a b EOF
}

func ExampleBufReader_UnreadByte() {
	r := gomem.NewBufReader(strings.NewReader("7 apples"))
	defer r.Recycle()
	c, _ := r.ReadByte()
	fmt.Println(c, r.UnreadByte(), r.UnreadByte())
	// Output: 55 <nil> no byte to unread
}

func ExampleBufReader_Peek() {
	r := gomem.NewBufReader(strings.NewReader("RIFF"))
	defer r.Recycle()
	p, err := r.Peek(2)
	fmt.Printf("%s %v\n", p, err)
	p, err = r.Peek(5)
	fmt.Printf("%s %v\n", p, err)
	// Output:
	// RI <nil>
	// RIFF EOF
}

func ExampleBufReader_Next() {
	r := gomem.NewBufReader(strings.NewReader("headrest"))
	defer r.Recycle()
	p, err := r.Next(4)
	fmt.Printf("%s %v\n", p, err)
	_, err = r.Next(5) // nothing is consumed
	fmt.Println(err, r.Buffered())
	// Output:
	// head <nil>
	// unexpected EOF 4
}

func ExampleBufReader_ReadRange() {
	r := gomem.NewBufReaderWithBufLen(strings.NewReader("across two blocks"), 16)
	defer r.Recycle()
	sum := 0
	err := r.ReadRange(17, func(p []byte) {
		for _, c := range p {
			sum += int(c)
		}
	})
	fmt.Println(sum, err)
	// Output: 1699 <nil>
}

func ExampleBufReader_ReadBytes() {
	r := gomem.NewBufReader(strings.NewReader("payload"))
	defer r.Recycle()
	m, err := r.ReadBytes(7) // valid until the next read
	fmt.Println(m.Size, string(m.ToBytes()), err)
	// Output: 7 payload <nil>
}

func ExampleBufReader_ReadShared() {
	r := gomem.NewBufReader(strings.NewReader("frame 1frame 2"))
	first, _ := r.ReadShared(7)
	second, err := r.ReadShared(7)
	r.Recycle() // the frames live on
	_, _ = first.WriteTo(os.Stdout)
	fmt.Println(":", first.Release(), err)
	_, _ = second.WriteTo(os.Stdout)
	fmt.Println(":", second.Release())
	// Output:
	// frame 1: <nil> <nil>
	// frame 2: <nil>
}

func ExampleBufReader_ReadString() {
	r := gomem.NewBufReader(strings.NewReader("kept text"))
	defer r.Recycle()
	s, err := r.ReadString(4)
	fmt.Println(s, err)
	// Output: kept <nil>
}

func ExampleBufReader_ReadNto() {
	r := gomem.NewBufReader(strings.NewReader("0123456789"))
	defer r.Recycle()
	var p [8]byte
	fmt.Println(r.ReadNto(3, p[:]), string(p[:3]))
	fmt.Println(r.ReadNto(9, p[:]))
	// Output:
	// <nil> 012
	// ReadNto of 9 bytes into 8: short buffer
}

func ExampleBufReader_ReadBinary() {
	r := gomem.NewBufReader(strings.NewReader("0123456789"))
	defer r.Recycle()
	p := make([]byte, 4)
	n, err := r.ReadBinary(p)
	fmt.Println(n, err, string(p))
	// Output: 4 <nil> 0123
}

func ExampleBufReader_Skip() {
	r := gomem.NewBufReader(strings.NewReader("skip me"))
	defer r.Recycle()
	fmt.Println(r.Skip(5), r.Skip(5))
	// Output: <nil> unexpected EOF
}

func ExampleBufReader_Discard() {
	r := gomem.NewBufReader(strings.NewReader("skip me"))
	defer r.Recycle()
	fmt.Println(r.Discard(5))
	fmt.Println(r.Discard(5))
	// Output:
	// 5 <nil>
	// 2 EOF
}

func ExampleBufReader_WriteTo() {
	r := gomem.NewBufReader(strings.NewReader("head: the rest\n"))
	defer r.Recycle()
	_ = r.Skip(6)
	n, err := r.WriteTo(os.Stdout) // as io.Copy does
	fmt.Println(n, err)
	// Output:
	// the rest
	// 9 <nil>
}

func ExampleBufReader_ReadBE() {
	r := gomem.NewBufReader(strings.NewReader("\x01\x02\x03\xff"))
	defer r.Recycle()
	v, err := r.ReadBE(3)
	fmt.Printf("%#x %v\n", v, err)
	_, err = r.ReadBE(9)
	fmt.Println(errors.Is(err, gomem.ErrInvalidSize))
	// Output:
	// 0x10203 <nil>
	// true
}

func ExampleBufReader_ReadBE32() {
	r := gomem.NewBufReader(strings.NewReader("\x01\x02\x03\x04"))
	defer r.Recycle()
	v, err := r.ReadBE32(4)
	fmt.Printf("%#x %v\n", v, err)
	// Output: 0x1020304 <nil>
}

func ExampleBufReader_ReadBE64() {
	r := gomem.NewBufReader(strings.NewReader("\xf1\x02\x03\x04\x05\x06\x07\x08"))
	defer r.Recycle()
	v, err := r.ReadBE64(8)
	fmt.Printf("%#x %v\n", v, err)
	// Output: 0xf102030405060708 <nil>
}

func ExampleBufReader_ReadLE() {
	r := gomem.NewBufReader(strings.NewReader("\x01\x02\x03"))
	defer r.Recycle()
	v, err := r.ReadLE(3)
	fmt.Printf("%#x %v\n", v, err)
	// Output: 0x30201 <nil>
}

func ExampleBufReader_ReadLE32() {
	r := gomem.NewBufReader(strings.NewReader("\x01\x02\x03\x04"))
	defer r.Recycle()
	v, err := r.ReadLE32(4)
	fmt.Printf("%#x %v\n", v, err)
	// Output: 0x4030201 <nil>
}

func ExampleBufReader_ReadLE64() {
	r := gomem.NewBufReader(strings.NewReader("\x01\x02\x03\x04\x05\x06\x07\xf8"))
	defer r.Recycle()
	v, err := r.ReadLE64(8)
	fmt.Printf("%#x %v\n", v, err)
	// Output: 0xf807060504030201 <nil>
}

func ExampleBufReader_ReadLEB128() {
	r := gomem.NewBufReader(strings.NewReader("\xe5\x8e\x26"))
	defer r.Recycle()
	fmt.Println(r.ReadLEB128())
	// Output: 624485 3 <nil>
}

func ExampleBufReader_LEB128Unmarshal() {
	r := gomem.NewBufReader(strings.NewReader("\x80\x01"))
	defer r.Recycle()
	fmt.Println(r.LEB128Unmarshal())
	// Output: 128 2 <nil>
}

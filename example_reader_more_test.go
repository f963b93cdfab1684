package gomem_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gomem-go/gomem"
)

// A tokenizer reads one byte too many to find the end of a number, and puts it back.
func ExampleMemoryReader_UnreadByte() {
	r := gomem.NewReadableBuffersFromBytes([]byte("12"), []byte("8px"))
	number := 0
	for {
		c, err := r.ReadByte()
		if err != nil {
			break
		}
		if c < '0' || c > '9' {
			if err := r.UnreadByte(); err != nil {
				fmt.Println(err)
			}
			break
		}
		number = 10*number + int(c-'0')
	}
	fmt.Printf("%d %s\n", number, r.ToBytes())
	// Output: 128 px
}

// A look at the header decides who parses the packet, which is still unread.
func ExampleMemoryReader_CopyTo() {
	r := gomem.NewReadableBuffersFromBytes([]byte("FL"), []byte("V\x01 the rest"))
	var head [4]byte
	r.CopyTo(head[:])
	fmt.Printf("%q %d\n", head, r.Length)
	// Output: "FLV\x01" 13
}

func ExampleMemoryReader_Equal() {
	r := gomem.NewReadableBuffersFromBytes([]byte("seq=1 key"), []byte("frame"))
	last := gomem.NewMemory([]byte("keyframe"))
	fmt.Println(r.Equal(&last))
	if err := r.Skip(6); err != nil { // the header is not compared
		fmt.Println(err)
	}
	fmt.Println(r.Equal(&last), r.Length)
	// Output:
	// false
	// true 8
}

// One reader serves message after message.
func ExampleMemoryReader_Reset() {
	r := gomem.MemoryReader{Memory: new(gomem.Memory)}
	for _, message := range []string{"\x01a", "\x02bc, and what nobody reads"} {
		r.Reset()
		r.PushOne([]byte(message))
		r.Length += len(message)
		n, _ := r.ReadBE(1)
		text, err := r.ReadBytes(int(n))
		fmt.Printf("%s %v\n", text, err)
	}
	// Output:
	// a <nil>
	// bc <nil>
}

// What is behind the header goes on as it is, without a copy.
func ExampleMemoryReader_WriteTo() {
	r := gomem.NewReadableBuffersFromBytes([]byte("to=x; hel"), []byte("lo\n"))
	if err := r.Skip(6); err != nil {
		fmt.Println(err)
	}
	n, err := r.WriteTo(os.Stdout)
	fmt.Println(n, err, r.Length)
	// Output:
	// hello
	// 6 <nil> 0
}

// The limits are safe for a public server. A program that knows better changes them in
// proportion.
func ExampleBufReader_limits() {
	control := gomem.NewBufReader(strings.NewReader("PLAY " + strings.Repeat("a", 10<<10) + "\n"))
	defer control.Recycle()
	control.MaxLineBytes = gomem.DefaultMaxLineBytes / 8 // commands are short
	control.MaxHeaderBytes = gomem.DefaultMaxHeaderBytes / 8
	_, err := control.ReadLine()
	if limit, ok := errors.AsType[*gomem.LimitError](err); ok {
		fmt.Println(limit.Limit, limit.Max)
	}
	control.Reset(strings.NewReader(strings.Repeat("X: "+strings.Repeat("b", 1000)+"\n", 50) + "\n"))
	_, err = control.ReadMIMEHeader()
	if limit, ok := errors.AsType[*gomem.LimitError](err); ok {
		fmt.Println(limit.Limit, limit.Max)
	}

	// Frames of this peer are large: fewer system calls, and more room for each.
	frames := strings.NewReader(strings.Repeat("v", 20<<20))
	media := gomem.NewBufReaderWithBufLen(frames, 16*gomem.DefaultBufLen)
	defer media.Recycle()
	media.MaxFrameBytes = 2 * gomem.DefaultMaxFrameBytes
	frame, err := media.ReadShared(20 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(frame.Len(), frame.Release())
	// Output:
	// MaxLineBytes 8192
	// MaxHeaderBytes 32768
	// 20971520 <nil>
}

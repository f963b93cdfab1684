package pionmem_test

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/pionmem"
	"github.com/pion/transport/v5/packetio"
)

func ExampleFactory() {
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithMaxBytes(256<<20))

	// As in settings.BufferFactory = pionmem.Factory(a) with a webrtc.SettingEngine.
	factory := pionmem.Factory(a)

	const ssrc = 1
	q := factory(packetio.RTPBufferPacket, ssrc)
	q.Write(make([]byte, 1200))
	fmt.Println(a.Stats().Live, "bytes in use")
	q.Read(make([]byte, 1500))
	fmt.Println(a.Stats().Live, "bytes in use")
	// Output:
	// 1200 bytes in use
	// 0 bytes in use
}

// A factory with limits of one's own.
func ExampleNewBuffer() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	factory := func(kind packetio.BufferPacketType, ssrc uint32) io.ReadWriteCloser {
		b := pionmem.NewBuffer(a)
		if kind == packetio.RTPBufferPacket {
			b.SetLimitCount(2)
		}
		return b
	}
	q := factory(packetio.RTPBufferPacket, 1)
	for range 3 {
		_, err := q.Write([]byte("packet"))
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// packetio.Buffer is full, discarding write
}

func ExampleBuffer() {
	b := pionmem.NewBuffer(gomem.NewScalableMemoryAllocator(1 << 20))
	go func() {
		b.Write([]byte("one packet"))
		b.Write([]byte("another"))
		b.Close()
	}()
	p := make([]byte, 1500)
	for {
		n, err := b.Read(p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", p[:n])
	}
	// Output:
	// one packet
	// another
	// EOF
}

func ExampleBuffer_Write() {
	b := pionmem.NewBuffer(gomem.NewScalableMemoryAllocator(1<<20, gomem.WithMaxBytes(1<<20)))
	fmt.Println(b.Write([]byte("packet")))

	var err error
	for err == nil {
		_, err = b.Write(make([]byte, 1200))
	}
	fmt.Println(errors.Is(err, packetio.ErrFull), errors.Is(err, gomem.ErrLimit))
	// Output:
	// 6 <nil>
	// true true
}

func ExampleBuffer_Read() {
	b := pionmem.NewBuffer(nil)
	b.Write([]byte("a long packet"))
	b.Write([]byte("short"))
	p := make([]byte, 6)
	for range 2 {
		n, err := b.Read(p)
		fmt.Printf("%q %v\n", p[:n], err)
	}
	// Output:
	// "a long" short buffer
	// "short" <nil>
}

func ExampleBuffer_WriteWithAttributes() {
	b := pionmem.NewBuffer(nil)
	b.WriteWithAttributes([]byte("packet"), packetio.Attributes{{Key: "ECN", Value: 3}})
	_, attrs, _ := b.ReadWithAttributes(make([]byte, 1500), nil)
	fmt.Println(attrs.Get("ECN"))
	// Output: 3
}

func ExampleBuffer_ReadWithAttributes() {
	b := pionmem.NewBuffer(nil)
	b.WriteWithAttributes([]byte("first"), packetio.Attributes{{Key: "ECN", Value: 3}})
	b.Write([]byte("second"))
	p := make([]byte, 1500)
	var attrs packetio.Attributes
	for range 2 {
		var n int
		n, attrs, _ = b.ReadWithAttributes(p, attrs) // the list is used again
		fmt.Printf("%s %v\n", p[:n], attrs)
	}
	// Output:
	// first [{ECN 3}]
	// second []
}

func ExampleBuffer_Close() {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	b := pionmem.NewBuffer(a)
	b.Write([]byte("packet"))
	b.Close()
	_, err := b.Write([]byte("packet"))
	fmt.Println(err)

	// Who does not want what is queued can free it.
	for err != io.EOF {
		_, err = b.Read(nil)
	}
	fmt.Println(a.Stats().Live, "bytes in use")
	// Output:
	// io: read/write on closed pipe
	// 0 bytes in use
}

func ExampleBuffer_Count() {
	b := pionmem.NewBuffer(nil)
	b.Write([]byte("packet"))
	fmt.Println(b.Count())
	// Output: 1
}

func ExampleBuffer_Size() {
	b := pionmem.NewBuffer(nil)
	b.Write([]byte("packet"))
	fmt.Println(b.Size())
	// Output: 8
}

func ExampleBuffer_SetLimitCount() {
	b := pionmem.NewBuffer(nil)
	b.SetLimitCount(1)
	fmt.Println(b.Write([]byte("packet")))
	fmt.Println(b.Write([]byte("packet")))
	// Output:
	// 6 <nil>
	// 0 packetio.Buffer is full, discarding write
}

func ExampleBuffer_SetLimitSize() {
	b := pionmem.NewBuffer(nil)
	b.SetLimitSize(1000)
	fmt.Println(b.Write(make([]byte, 998)))
	fmt.Println(b.Write(nil))
	// Output:
	// 998 <nil>
	// 0 packetio.Buffer is full, discarding write
}

func ExampleBuffer_SetReadDeadline() {
	b := pionmem.NewBuffer(nil)
	b.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := b.Read(make([]byte, 1500))
	fmt.Println(err, errors.Is(err, packetio.ErrTimeout))
	// Output: i/o timeout true
}

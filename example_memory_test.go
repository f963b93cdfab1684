package gomem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gomem-go/gomem"
)

func ExampleNewMemory() {
	mem := gomem.NewMemory([]byte{1, 2, 3, 4, 5})
	mem.PushOne([]byte{6, 7, 8})
	fmt.Printf("Size: %d, Buffers: %d\n", mem.Size, mem.Count())
	fmt.Println(mem.ToBytes())
	// Output:
	// Size: 8, Buffers: 2
	// [1 2 3 4 5 6 7 8]
}

func ExampleMemory() {
	var frame, packet gomem.Memory
	frame.Push([]byte("pay"), []byte("load"))
	packet.PushOne([]byte("header:"))
	packet.Append(frame)
	if _, err := packet.WriteTo(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: header:payload
}

func ExampleMemory_Append() {
	m := gomem.NewMemory([]byte("ab"))
	m.Append(m).Append(gomem.NewMemory([]byte("!")))
	fmt.Printf("%s %d\n", m.ToBytes(), m.Count())
	// Output: abab! 3
}

func ExampleMemory_UpdateBuffer() {
	var m gomem.Memory
	m.Push([]byte("one "), []byte("two "), []byte("three"))
	m.UpdateBuffer(-1, []byte("four"))
	fmt.Printf("%s %d\n", m.ToBytes(), m.Size)
	// Output: one two four 12
}

func ExampleMemory_TryUpdateBuffer() {
	m := gomem.NewMemory([]byte("one"))
	fmt.Println(m.TryUpdateBuffer(0, []byte("four")), m.TryUpdateBuffer(7, nil))
	fmt.Printf("%s %d\n", m.ToBytes(), m.Size)
	// Output:
	// true false
	// four 4
}

func ExampleMemory_Reset() {
	m := gomem.NewMemory([]byte("kept"))
	kept := m
	m.Reset()
	fmt.Printf("%q %q\n", m.ToBytes(), kept.ToBytes())
	// Output: "" "kept"
}

func ExampleMemory_CopyFrom() {
	source := []byte("volatile")
	view := gomem.NewMemory(source)
	var owned gomem.Memory
	owned.CopyFrom(&view)
	copy(source, "********")
	fmt.Printf("%s %s %v\n", view.ToBytes(), owned.ToBytes(), owned.Equal(&view))
	// Output: ******** volatile false
}

func ExampleMemory_Range() {
	var m gomem.Memory
	m.Push([]byte("a"), []byte("bc"))
	m.Range(func(b []byte) { fmt.Printf("%s ", b) })
	dst := make([]byte, 2)
	m.CopyTo(dst)
	fmt.Printf("%s\n", dst)
	// Output: a bc ab
}

func ExampleNewReadableBuffersFromBytes() {
	reader := gomem.NewReadableBuffersFromBytes([]byte{1, 2, 3}, []byte{4, 5, 6})
	buf := make([]byte, 6)
	n, err := reader.Read(buf)
	fmt.Println(n, err, buf)
	// Output: 6 <nil> [1 2 3 4 5 6]
}

func ExampleMemoryReader() {
	r := gomem.NewReadableBuffersFromBytes([]byte{0x00, 0x00, 0x00}, []byte{0x05, 'h', 'e'}, []byte("llo!"))
	n, _ := r.ReadBE(4)
	text, _ := r.ReadBytes(int(n))
	fmt.Printf("%d %s, %d left\n", n, text, r.Length)
	if _, err := r.ReadBE(4); errors.Is(err, io.ErrUnexpectedEOF) {
		fmt.Printf("too short, still %d left\n", r.Length)
	}
	// Output:
	// 5 hello, 1 left
	// too short, still 1 left
}

func ExampleMemory_NewReader() {
	m := gomem.NewMemory([]byte("header:body"))
	r := m.NewReader()
	if err := r.Skip(7); err != nil {
		fmt.Println(err)
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, &r)
	fmt.Println(n, err, out.String(), r.Offset())
	// Output: 4 <nil> body 11
}

func ExampleMemoryReader_ReadLE() {
	r := gomem.NewReadableBuffersFromBytes([]byte{1, 2}, []byte{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	le, _ := r.ReadLE(3)
	le64, _ := r.ReadLE64(4)
	be64, _ := r.ReadBE64(8)
	fmt.Printf("%#x %#x %#x\n", le, le64, be64)
	// Output: 0x30201 0x7060504 0x8090a0b0c0d0e0f
}

func ExampleMemoryReader_LEB128Unmarshal() {
	r := gomem.NewReadableBuffersFromBytes([]byte{0xe5, 0x8e}, []byte{0x26, 0x80})
	fmt.Println(r.LEB128Unmarshal())
	_, _, err := r.LEB128Unmarshal()
	fmt.Println(err, r.Length)
	// Output:
	// 624485 3 <nil>
	// unexpected EOF 1
}

func ExampleMemoryReader_ReadByteTo() {
	r := gomem.NewReadableBuffersFromBytes([]byte{0x47}, []byte{0xe1, 0x10})
	var sync, high byte
	if err := r.ReadByteTo(&sync, &high); err != nil {
		fmt.Println(err)
	}
	low, err := r.ReadByteMask(0x1f)
	fmt.Printf("%#x %#x %#x %v\n", sync, high, low, err)
	// Output: 0x47 0xe1 0x10 <nil>
}

func ExampleMemoryReader_Unread() {
	r := gomem.NewReadableBuffersFromBytes([]byte("ab"), []byte("cd"))
	if err := r.Skip(3); err != nil {
		fmt.Println(err)
	}
	r.Unread(2)
	fmt.Printf("%d %s\n", r.Offset(), r.ToBytes())
	// Output: 1 bcd
}

func ExampleMemoryReader_TryUnread() {
	r := gomem.NewReadableBuffersFromBytes([]byte("ab"), []byte("cd"))
	if err := r.Skip(3); err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.TryUnread(2), r.Offset())
	fmt.Println(errors.Is(r.TryUnread(2), gomem.ErrInvalidUnread), r.Offset())
	// Output:
	// <nil> 1
	// true 1
}

func ExampleMemoryReader_RangeN() {
	r := gomem.NewReadableBuffersFromBytes([]byte("ab"), []byte("cd"), []byte("ef"))
	r.RangeN(3, func(b []byte) { fmt.Printf("%s ", b) })
	fmt.Printf("| %s ", r.GetCurrent())
	fmt.Printf("%s | ", r.Pop())
	r.Range(func(b []byte) { fmt.Printf("%s", b) })
	fmt.Println(r.Length)
	// Output: ab c | d d | ef0
}

func ExampleMemoryReader_ClipFront() {
	r := gomem.NewReadableBuffersFromBytes([]byte("ab"), []byte("cd"), []byte("ef"))
	if err := r.Skip(3); err != nil {
		fmt.Println(err)
	}
	r.ClipFront(func(b []byte) bool {
		fmt.Printf("drop %s, ", b)
		return true
	})
	fmt.Printf("keep %s\n", r.Memory.ToBytes())
	r.MoveToEnd()
	fmt.Println(r.Length)
	// Output:
	// drop ab, drop c, keep def
	// 0
}

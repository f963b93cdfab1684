package gomem_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/gomem-go/gomem"
)

func ExampleNewRecyclableMemory() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	buf1 := rm.NextN(8)
	buf2 := rm.NextN(5)
	copy(buf1, "recycle ")
	copy(buf2, "later")
	fmt.Printf("%s, %d bytes\n", rm.ToBytes(), rm.Size)
	rm.Recycle()
	fmt.Println(rm.Size, rm.Count())
	// Output:
	// recycle later, 13 bytes
	// 0 0
}

func ExampleRecyclableMemory() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	var rm gomem.RecyclableMemory
	rm.SetAllocator(allocator)
	rm.InitRecycleIndexes(2)            // the chain will hold buffers of others
	rm.PushOne([]byte("from the heap")) // Recycle leaves this one alone
	rm.AddRecycleBytes(allocator.Malloc(10))
	fmt.Println(rm.Count(), rm.GetAllocator() == allocator)
	rm.Recycle()
	// Output: 2 true
}

func ExampleRecyclableMemory_Clone() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	copy(rm.NextN(5), "frame")
	view := rm.Clone()
	copy(view.NextN(2), "+1")
	fmt.Printf("%s %s\n", rm.ToBytes(), view.ToBytes())
	view.Recycle() // frees "+1"
	fmt.Printf("%s\n", rm.ToBytes())
	rm.Recycle() // frees "frame"
	// Output:
	// frame frame+1
	// frame
}

func ExampleRecyclableMemory_ReadFrom() {
	allocator := gomem.NewScalableMemoryAllocator(1 << 20)
	defer allocator.Recycle()
	body := gomem.NewRecyclableMemory(allocator)
	n, err := body.ReadFrom(io.LimitReader(strings.NewReader("a body of unknown length"), 1<<20))
	fmt.Println(n, err, body.Count())
	fmt.Printf("%s\n", body.ToBytes())
	body.Recycle()
	// Output:
	// 24 <nil> 1
	// a body of unknown length
}

func ExampleRecyclableMemory_SetRecycling() {
	rm := gomem.NewRecyclableMemory(gomem.NewScalableMemoryAllocator(1024))
	rm.SetRecycling(false)
	b := rm.NextN(5)
	copy(b, "still")
	rm.Recycle() // the buffer is the garbage collector's
	fmt.Printf("%s %d\n", b, rm.Size)
	// Output: still 0
}

func ExampleRecyclableMemory_Reset() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	b := rm.NextN(5)
	copy(b, "valid")
	rm.Reset()
	fmt.Printf("%d %s\n", rm.Size, b)
	rm.Recycle() // frees b too
	// Output: 0 valid
}

func ExampleRecyclableMemory_UpdateBuffer() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	rm.SetRecycling(true) // in every build
	b := rm.NextN(1460)
	n := copy(b, "a short packet")
	fmt.Println(allocator.Free(b[n:]))
	rm.UpdateBuffer(-1, b[:n])
	fmt.Println(rm.Size, allocator.Stats().Live)
	rm.Recycle() // frees the rest
	fmt.Println(allocator.Stats().Live)
	// Output:
	// true
	// 14 14
	// 0
}

func ExampleRecyclableMemory_NewReader() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	rm.SetRecycling(true) // in every build
	copy(rm.NextN(5), "read ")
	copy(rm.NextN(6), "to be ")
	r := rm.NewReader()
	word, err := r.ReadBytes(8)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%q\n", word)
	r.ClipFront(allocator.Free) // what has been read, so word is not to be used any more
	fmt.Printf("%q %d\n", r.ToBytes(), allocator.Stats().Live)
	rm.Recycle() // frees the rest
	fmt.Println(allocator.Stats().Live)
	// Output:
	// "read to "
	// "be " 3
	// 0
}

// A view of a reader is kept beyond the next read.
func ExampleRecyclableMemory_CopyFrom() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	kept := gomem.NewRecyclableMemory(allocator)
	kept.SetRecycling(true) // in every build
	r := gomem.NewBufReaderWithBufLen(strings.NewReader("key frame, next frame"), 16)
	defer r.Recycle()
	view, err := r.ReadBytes(9)
	if err != nil {
		fmt.Println(err)
		return
	}
	kept.CopyFrom(&view)
	if err := r.Skip(12); err != nil { // the view is dead
		fmt.Println(err)
	}
	fmt.Printf("%s %d\n", kept.ToBytes(), allocator.Stats().Live)
	kept.Recycle() // frees the copy
	fmt.Println(allocator.Stats().Live)
	// Output:
	// key frame 9
	// 0
}

// Whether the buffer was replaced says which of the two the caller is to free.
func ExampleRecyclableMemory_TryUpdateBuffer() {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	defer allocator.Recycle()
	rm := gomem.NewRecyclableMemory(allocator)
	rm.SetRecycling(true) // in every build
	header := rm.NextN(4)
	copy(header, "v=1;")
	copy(rm.NextN(7), "payload")
	replace := func(index int, old []byte, text string) {
		b := allocator.Malloc(len(text))
		copy(b, text)
		if rm.TryUpdateBuffer(index, b) {
			allocator.Free(old) // the chain has b in its place
		} else {
			allocator.Free(b) // there is nothing at index
		}
	}
	replace(0, header, "v=2;seq=7;")
	replace(2, nil, "trailer")
	fmt.Printf("%s %d\n", rm.ToBytes(), allocator.Stats().Live)
	rm.Recycle()
	fmt.Println(allocator.Stats().Live)
	// Output:
	// v=2;seq=7;payload 17
	// 0
}

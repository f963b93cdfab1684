package gomem_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/internal/check"
)

// The snippets of the README that this module takes over from, as they stand
// there but for the import path. Where one prints nothing, what it leaves behind
// is printed.

func Example_basic() {
	// Create a scalable memory allocator
	allocator := gomem.NewScalableMemoryAllocator(1024)

	// Allocate memory
	buf := allocator.Malloc(256)

	// Use the buffer...
	copy(buf, []byte("Hello, World!"))
	fmt.Printf("%s, %d bytes\n", buf[:13], len(buf))

	// Free the memory
	allocator.Free(buf)
	fmt.Println(allocator.GetTotalMalloc(), allocator.GetTotalFree())
	// Output:
	// Hello, World!, 256 bytes
	// 256 256
}

func Example_partialDeallocation() {
	// Create a scalable memory allocator
	allocator := gomem.NewScalableMemoryAllocator(1024)

	// Allocate a large block of memory
	buf := allocator.Malloc(1024)

	// Use different parts of the memory
	part1 := buf[0:256]    // First 256 bytes
	part2 := buf[256:512]  // Middle 256 bytes
	part3 := buf[512:1024] // Last 512 bytes

	// Fill with data
	copy(part1, []byte("Part 1 data"))
	copy(part2, []byte("Part 2 data"))
	copy(part3, []byte("Part 3 data"))

	// Partial deallocation - can free parts of memory
	allocator.Free(part1) // Free first 256 bytes
	allocator.Free(part2) // Free middle 256 bytes
	fmt.Println(allocator.GetTotalMalloc() - allocator.GetTotalFree())

	// Continue using remaining memory
	copy(part3, []byte("Updated part 3"))
	fmt.Printf("%s\n", part3[:14])

	// Finally free remaining memory
	allocator.Free(part3)
	fmt.Println(allocator.GetTotalMalloc() - allocator.GetTotalFree())
	// Output:
	// 512
	// Updated part 3
	// 0
}

func Example_recyclableMemory() {
	// Create recyclable memory for batch operations
	allocator := gomem.NewScalableMemoryAllocator(1024)
	rm := gomem.NewRecyclableMemory(allocator)

	// Allocate multiple buffers
	buf1 := rm.NextN(128)
	buf2 := rm.NextN(256)

	// Use the buffers...
	copy(buf1, []byte("Buffer 1"))
	copy(buf2, []byte("Buffer 2"))
	fmt.Printf("%s, %s: %d bytes\n", buf1[:8], buf2[:8], rm.Size)

	// Recycle all memory at once
	rm.Recycle()
	fmt.Println(rm.Size, allocator.GetTotalMalloc()-allocator.GetTotalFree())
	// Output:
	// Buffer 1, Buffer 2: 384 bytes
	// 0 0
}

func Example_memory() {
	// Create a memory buffer
	mem := gomem.NewMemory([]byte{1, 2, 3, 4, 5})

	// Add more data
	mem.PushOne([]byte{6, 7, 8})

	// Get total size and buffer count
	fmt.Printf("Size: %d, Buffers: %d\n", mem.Size, mem.Count())

	// Convert to bytes
	data := mem.ToBytes()
	fmt.Println(data)
	// Output:
	// Size: 8, Buffers: 2
	// [1 2 3 4 5 6 7 8]
}

func Example_memoryReader() {
	// Create a memory reader
	reader := gomem.NewReadableBuffersFromBytes([]byte{1, 2, 3}, []byte{4, 5, 6})

	// Read data
	buf := make([]byte, 6)
	n, err := reader.Read(buf)
	// buf now contains [1, 2, 3, 4, 5, 6]
	fmt.Println(buf, n, err)
	// Output: [1 2 3 4 5 6] 6 <nil>
}

type MyTask struct {
	allocator *gomem.ScalableMemoryAllocator
	buffer    []byte
}

func (t *MyTask) Start() {
	t.allocator = gomem.NewScalableMemoryAllocator(1024)
	t.buffer = t.allocator.Malloc(256)
}

func (t *MyTask) Dispose() {
	t.allocator.Free(t.buffer)
}

func Example_task() {
	var t MyTask
	t.Start()
	fmt.Println(len(t.buffer), t.allocator.GetTotalMalloc()-t.allocator.GetTotalFree())
	t.Dispose()
	fmt.Println(t.allocator.GetTotalMalloc() - t.allocator.GetTotalFree())
	// Output:
	// 256 256
	// 0
}

// What that README calls wrong is right here: memory allocated in one goroutine
// is freed in another.
func TestReadmeDifferentGoroutines(t *testing.T) {
	allocator := gomem.NewScalableMemoryAllocator(1024)
	handed := make(chan []byte)
	var both sync.WaitGroup
	both.Go(func() {
		for range 3000 {
			buf := allocator.Malloc(256)
			copy(buf, "by one")
			handed <- buf
		}
		close(handed)
	})
	both.Go(func() {
		for buf := range handed {
			if string(buf[:6]) != "by one" || !allocator.Free(buf) {
				t.Error("lost on the way")
			}
		}
	})
	both.Wait()
	if s := allocator.Stats(); s.Live != 0 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
	if err := allocator.Verify(); err != nil {
		t.Error(err)
	}
}

// A creation of 1 and 16 MiB is one small object, whatever the backing.
func TestReadmeCreationIsCheap(t *testing.T) {
	if check.Enabled {
		t.Skip("a debug build watches each block")
	}
	for _, size := range []int{1 << 20, 16 << 20} {
		if allocs := testing.AllocsPerRun(1000, func() { gomem.NewScalableMemoryAllocator(size) }); allocs > 2 {
			t.Errorf("an allocator of %d bytes takes %v allocations", size, allocs)
		}
	}
}

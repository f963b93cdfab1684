package offset_test

import (
	"errors"
	"fmt"

	"github.com/gomem-go/gomem/offset"
)

func ExampleTLSF() {
	t := offset.NewTLSF(1<<20, 64)
	at := t.Allocate(16 << 10)
	t.Free(at+1400, 16<<10-1400) // a short read: the tail serves the next one
	next := t.Allocate(16 << 10)
	fmt.Println(at, next, t.FreeBytes())
	err := t.Free(at, 16<<10)
	fmt.Println(errors.Is(err, offset.ErrDoubleFree), err)
	// Output:
	// 0 1408 1030792
	// true double free: [0,16384) overlaps free block [1400,1408)
}

func ExampleNewTLSF() {
	t := offset.NewTLSF(1000, 16)
	fmt.Println(t.Size(), t.Granule())
	// Output: 992 16
}

func ExampleTLSF_AllocateAligned() {
	t := offset.NewTLSF(64<<10, 64)
	t.Allocate(100)
	fmt.Println(t.AllocateAligned(4096, 4096))
	fmt.Println(t.Allocate(100)) // the gap before it is used
	// Output:
	// 4096
	// 128
}

func ExampleTLSF_Resize() {
	t := offset.NewTLSF(4096, 64)
	at := t.Allocate(100)
	fmt.Println(t.Resize(at, 100, 300))
	fmt.Println(t.BlockSize(at))
	t.Allocate(64)
	fmt.Println(t.Resize(at, 300, 400)) // a live block is in the way
	// Output:
	// true
	// 300 true
	// false
}

func ExampleTLSF_Reserve() {
	t := offset.NewTLSF(1<<20, 64)
	t.Reserve(1000) // from here on no operation allocates
	fmt.Println(t.Fits())
	// Output: 1048576
}

func ExampleTLSF_All() {
	t := offset.NewTLSF(512, 64)
	t.Allocate(100)
	b := t.Allocate(128)
	t.Free(b+10, 20)
	for block, live := range t.All() {
		fmt.Println(block, live)
	}
	fmt.Println(t)
	// Output:
	// [0,100) true
	// [100,128) false
	// [128,138) true
	// [138,158) false
	// [158,192) true
	// [192,256) true
	// [256,512) false
	// tlsf size=512 granule=64 free=304 fits=256
	// [0,100) live 100
	// [100,128) free 28
	// [128,138) live 10
	// [138,158) free 20
	// [158,192) live 34
	// [192,256) live 64
	// [256,512) free 256
}

func ExampleBuddy() {
	b := offset.NewBuddy(1<<20, 1024)
	at := b.Allocate(3000) // takes a block of 4 KiB
	fmt.Println(at, b.FreeBytes() == 1<<20-4096)
	fmt.Println(b.Free(at+1, 100), b.Free(at+50, 10))
	fmt.Println(b.Free(at, 1), b.Free(at+101, 3000-101), b.Fits())
	// Output:
	// 0 true
	// <nil> double free: [50,60) overlaps free block [1,101)
	// <nil> <nil> 1048576
}

func ExampleNewBuddy() {
	b := offset.NewBuddy(10<<10, 1024) // no power of two: 8 KiB and 2 KiB
	fmt.Println(b.Size(), b.MinBlock(), b.Fits())
	fmt.Println(b.Allocate(2000), b.Allocate(8000))
	// Output:
	// 10240 1024 8192
	// 8192 0
}

func ExampleBuddy_BlockSize() {
	b := offset.NewBuddy(16<<10, 1024)
	at := b.AllocateAligned(700, 4096)
	fmt.Println(b.BlockSize(at))
	fmt.Println(b.BlockSize(at + 1))
	// Output:
	// 700 true
	// 0 false
}

func ExampleBuddy_All() {
	b := offset.NewBuddy(8<<10, 1024)
	b.Allocate(1000)
	for block, live := range b.All() {
		fmt.Println(block, live)
	}
	fmt.Println(b)
	// Output:
	// [0,1000) true
	// [1024,8192) false
	// buddy size=8192 least=1024 free=7168 fits=4096
	// [0,1000) live 1000
	// [1024,8192) free 7168
}

func ExampleBuddy_FreeAt() {
	b := offset.NewBuddy(1<<20, 64)
	at := b.Allocate(100)
	fmt.Println(b.FreeAt(at + 64))
	fmt.Println(b.FreeAt(at))
	fmt.Println(b.FreeAt(at))
	// Output:
	// false
	// true
	// false
}

func ExampleTLSF_BlockSize() {
	t := offset.NewTLSF(4096, 64)
	at := t.Allocate(100)
	t.Free(at+80, 20)
	fmt.Println(t.BlockSize(at))
	fmt.Println(t.BlockSize(at + 64))
	// Output:
	// 80 true
	// 0 false
}

func ExampleTLSF_Granule() {
	t := offset.NewTLSF(4096, 32)
	t.Allocate(1)
	fmt.Println(t.Allocate(1) == t.Granule())
	// Output: true
}

func ExampleBuddy_AllocateAligned() {
	b := offset.NewBuddy(16<<10, 1024)
	b.Allocate(1)
	fmt.Println(b.AllocateAligned(1, 4096), b.AllocateAligned(1, 3))
	// Output: 4096 -1
}

func ExampleBuddy_MinBlock() {
	b := offset.NewBuddy(16<<10, 1024)
	b.Allocate(1)
	fmt.Println(b.Size()-b.FreeBytes() == b.MinBlock())
	// Output: true
}

func ExampleTLSF_FreeBlock() {
	t := offset.NewTLSF(4096, 64)
	at := t.Allocate(100)
	fmt.Println(t.FreeBlock(at, 50), t.FreeBlock(at, 100), t.FreeBlock(at, 100))
	// Output: false true false
}

func ExampleTLSF_At() {
	t := offset.NewTLSF(4096, 64)
	t.Allocate(100)
	fmt.Println(t.At(50))
	fmt.Println(t.At(110))
	// Output:
	// [0,100) true
	// [100,4096) false
}

func ExampleTLSF_Reset() {
	t := offset.NewTLSF(4096, 64)
	t.Allocate(100)
	t.Reset()
	fmt.Println(t.FreeBytes(), t.Fits())
	// Output: 4096 4096
}

// The near region serves what it has room for, and the far one the rest.
func ExampleTLSF_Find() {
	near, far := offset.NewTLSF(4096, 64), offset.NewTLSF(1<<20, 64)
	near.Allocate(3500)
	for _, size := range []int{500, 1000} {
		if near.Find(size) >= 0 {
			fmt.Println("near", near.Allocate(size))
		} else {
			fmt.Println("far", far.Allocate(size))
		}
	}
	// Output:
	// near 3520
	// far 0
}

// Free room within granules counts, though nothing can be placed there.
func ExampleTLSF_Blocks() {
	t := offset.NewTLSF(512, 64)
	t.Allocate(100)
	t.Allocate(300)
	for b := range t.Blocks() {
		fmt.Println(b, b.Size())
	}
	fmt.Println(t.FreeBytes(), t.Fits(), t.Verify())
	// Output:
	// [100,128) 28
	// [428,512) 84
	// 112 64 <nil>
}

func ExampleBuddy_Find() {
	b := offset.NewBuddy(16<<10, 1024)
	b.Allocate(1000)
	fmt.Println(b.Find(1000), b.Find(3000), b.Find(16<<10))
	fmt.Println(b.FreeBytes()) // nothing was taken
	// Output:
	// 1024 4096 -1
	// 15360
}

// Free room by offset, merged across the powers of two in which it is kept.
func ExampleBuddy_Blocks() {
	b := offset.NewBuddy(16<<10, 1024)
	b.Allocate(1000)
	b.Allocate(3000)
	for block := range b.Blocks() {
		fmt.Println(block, block.Size())
	}
	fmt.Println(b.FreeBytes(), b.Fits(), b.Verify())
	// Output:
	// [1024,4096) 3072
	// [8192,16384) 8192
	// 11264 8192 <nil>
}

func ExampleBuddy_Reset() {
	b := offset.NewBuddy(16<<10, 1024)
	for b.Allocate(1000) >= 0 {
	}
	b.Reset() // all blocks of a request at once
	fmt.Println(b.FreeBytes(), b.Allocate(16<<10))
	// Output: 16384 0
}

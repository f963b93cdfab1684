package load

import "math/rand/v2"

// Trimmer is an Allocator that takes back the end of a block. Without it the
// whole block is held until the last frame in it is done.
type Trimmer interface {
	Allocator

	// Trim frees all of b but its first keep bytes and returns those.
	Trim(b []byte, keep int) []byte

	// FreePart frees a part of a block; the parts of a block are freed one by
	// one, in any order.
	FreePart(b []byte)
}

// frame is a part of a read, until its last subscriber lets go of it.
type frame struct {
	bytes []byte
	read  *read
}

// read is the block that frames were cut from, for allocators that can only
// free it as a whole.
type read struct {
	block  []byte
	frames int
}

// shortRead is what a media server does. It allocates 16 KiB to read into, gets
// r bytes (60 % 1 to 512, 30 % to 1,460, 10 % 4 to 16 KiB), gives the rest back,
// cuts the r bytes into 1 to 12 frames and hands them to subscribers, the last of
// whom lets go of a frame at once (70 %) or much later: some 60,000 frames are
// held at any time.
func shortRead(a Allocator, goroutines, ops int) int {
	const readSize, delayed = 16 << 10, 60_000
	perWorker := max(ops/goroutines, 1)
	trimmer, _ := a.(Trimmer)
	each(goroutines, func(worker int) {
		random := newRand(worker)
		late := make([]frame, delayed/goroutines)
		release := func(f frame) {
			if f.bytes == nil {
				return
			}
			if trimmer != nil {
				trimmer.FreePart(f.bytes)
			} else if f.read.frames--; f.read.frames == 0 {
				a.Free(f.read.block)
			}
		}
		for range perWorker {
			block := a.Malloc(readSize)
			got := readLength(random)
			b := block[:got]
			if trimmer != nil {
				b = trimmer.Trim(block, got)
			}
			touch(b)
			frames := min(1+random.IntN(12), got)
			var from *read
			if trimmer == nil {
				from = &read{block, frames}
			}
			for left := frames; left > 0; left-- {
				n := len(b)
				if left > 1 {
					n = 1 + random.IntN(len(b)-left+1)
				}
				f := frame{b[:n:n], from}
				b = b[n:]
				if random.IntN(10) < 7 {
					release(f)
					continue
				}
				slot := random.IntN(len(late))
				release(late[slot])
				late[slot] = f
			}
		}
		for _, f := range late {
			release(f)
		}
	})
	return perWorker * goroutines
}

// readLength is how much a read returns.
func readLength(random *rand.Rand) int {
	switch p := random.IntN(10); {
	case p < 6:
		return 1 + random.IntN(512)
	case p < 9:
		return 513 + random.IntN(1460-512)
	default:
		return 4096 + random.IntN(12<<10+1)
	}
}

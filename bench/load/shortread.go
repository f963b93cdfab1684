package load

import "math/rand/v2"

// Trimmer is an Allocator that takes back the end of a block, or a part of it.
// Without it the whole block is held until the last frame in it is done.
type Trimmer interface {
	Allocator

	// Trim frees all of b but its first keep bytes and returns those.
	Trim(b []byte, keep int) []byte

	// FreePart frees a part of a block; the parts of a block are freed one by
	// one, in any order.
	FreePart(b []byte)
}

// Holder is an Allocator that is told how many bytes the reads hold of which a
// frame is still in use: its subscribers count references to the read.
type Holder interface {
	// Hold adds n bytes, or takes them away if n is negative.
	Hold(n int)
}

// frame is a part of a read, until its last subscriber lets go of it.
type frame struct {
	bytes []byte
	read  *read
}

// read is what frames were cut from, and how many of them are in use.
type read struct {
	block  []byte // freed with the last frame, unless each frees its own bytes
	held   int
	frames int
}

// lateFrames is how many frames wait for a late subscriber at any time.
const lateFrames = 60_000

// shortRead is what a media server does. It allocates 16 KiB to read into, gets
// r bytes (60 % 1 to 512, 30 % to 1,460, 10 % 4 to 16 KiB), gives the rest back,
// cuts the r bytes into 1 to 12 frames and hands them to subscribers by reference
// count. The last of them lets go of a frame at once (70 %) or when 60,000 more
// wait for him, and the read is freed with its last frame.
func shortRead(a Allocator, goroutines, ops int) int {
	return shortReads(a, goroutines, ops, false, inOrder)
}

// shortReadByFrame is shortRead with each frame freed by itself, where the
// allocator can.
func shortReadByFrame(a Allocator, goroutines, ops int) int {
	return shortReads(a, goroutines, ops, true, inOrder)
}

// shortReadAnyLate is shortRead with frames that are late by anything: one that
// waits makes room for another one that was drawn.
func shortReadAnyLate(a Allocator, goroutines, ops int) int {
	return shortReads(a, goroutines, ops, false, func(random *rand.Rand, _, places int) int { return random.IntN(places) })
}

func inOrder(_ *rand.Rand, turn, places int) int { return turn % places }

// shortReads puts the late frames where next says, after who waited there.
func shortReads(a Allocator, goroutines, ops int, byFrame bool, next func(random *rand.Rand, turn, places int) int) int {
	const readSize = 16 << 10
	perWorker := max(ops/goroutines, 1)
	trimmer, _ := a.(Trimmer)
	holder, _ := a.(Holder)
	byFrame = byFrame && trimmer != nil
	each(goroutines, func(worker int) {
		random := newRand(worker)
		late := make([]frame, lateFrames/goroutines)
		release := func(f frame) {
			if f.read == nil {
				return
			}
			if byFrame {
				trimmer.FreePart(f.bytes)
			}
			if f.read.frames--; f.read.frames > 0 {
				return
			}
			if !byFrame {
				a.Free(f.read.block)
			}
			if holder != nil {
				holder.Hold(-f.read.held)
			}
		}
		turn := 0
		for range perWorker {
			block := a.Malloc(readSize)
			got := readLength(random)
			b := block[:got]
			if trimmer != nil {
				block = trimmer.Trim(block, got)
			}
			if holder != nil {
				holder.Hold(got)
			}
			touch(b)
			frames := min(1+random.IntN(12), got)
			from := &read{block, got, frames}
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
				slot := next(random, turn, len(late))
				turn++
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

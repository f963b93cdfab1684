package load

// rptest replaces blocks of 8 to 16,000 bytes, small ones more often: the
// chance of a size falls linearly to zero at the largest.
func rptest(a Allocator, goroutines, ops int) int {
	const least, most = 8, 16_000
	slots := scaled(2000, goroutines)
	perWorker := max(ops/goroutines, 1)
	each(goroutines, func(worker int) {
		random := newRand(worker)
		replace(a, make([][]byte, slots), perWorker, func() (slot, size int) {
			// The smaller of two uniform numbers has a density that falls linearly.
			return random.IntN(slots), least + min(random.IntN(most-least+1), random.IntN(most-least+1))
		})
	})
	return perWorker * goroutines
}

// largest is the size of the largest block that a load asks for.
const largest = 25 << 20

// large replaces blocks of 5 to 25 MiB in 20 slots, which at most as many
// goroutines share.
func large(a Allocator, goroutines, ops int) int {
	const slots, least = 20, 5 << 20
	goroutines = min(goroutines, slots)
	// An operation here is worth a thousand of the others.
	perWorker := max(ops/(goroutines*1000), slots)
	each(goroutines, func(worker int) {
		random := newRand(worker)
		mine := slots / goroutines
		replace(a, make([][]byte, mine), perWorker, func() (slot, size int) {
			return random.IntN(mine), least + random.IntN(largest-least+1)
		})
	})
	return perWorker * goroutines
}

// replace frees and allocates in blocks ops times, then frees what is left.
func replace(a Allocator, blocks [][]byte, ops int, next func() (slot, size int)) {
	for range ops {
		slot, size := next()
		if blocks[slot] != nil {
			a.Free(blocks[slot])
		}
		blocks[slot] = a.Malloc(size)
		touch(blocks[slot])
	}
	for _, b := range blocks {
		if b != nil {
			a.Free(b)
		}
	}
}

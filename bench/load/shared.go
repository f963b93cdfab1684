package load

import "sync"

// larson replaces blocks in random slots; after every round a goroutine hands
// its slots to a new one and ends, as the connections of a server do (P.-Å.
// Larson and M. Krishnan, "Memory allocation for long-running server
// applications", ISMM 1998). 5,000 slots each, 8 to 1,000 bytes.
func larson(a Allocator, goroutines, ops int) int {
	const round = 10_000
	slots := scaled(5000, goroutines)
	perWorker := max(ops/goroutines, slots)
	each(goroutines, func(worker int) {
		random := newRand(worker)
		blocks := make([][]byte, slots)
		for i := range blocks {
			blocks[i] = a.Malloc(8 + random.IntN(993))
			touch(blocks[i])
		}
		handOn := make(chan [][]byte, 1)
		handOn <- blocks
		for left := perWorker - slots; left > 0; left -= round {
			done := make(chan struct{})
			go func() {
				defer close(done)
				blocks := <-handOn
				for range min(left, round) {
					slot := random.IntN(slots)
					a.Free(blocks[slot])
					blocks[slot] = a.Malloc(8 + random.IntN(993))
					touch(blocks[slot])
				}
				handOn <- blocks
			}()
			<-done
		}
		for _, b := range <-handOn {
			a.Free(b)
		}
	})
	return perWorker * goroutines
}

// xmalloc has half of the goroutines allocate batches of 4,096 blocks of 64
// bytes and the other half free them: every free is a foreign one. At most four
// batches a pair are in flight.
func xmalloc(a Allocator, goroutines, ops int) int {
	const size = 64
	sides := max(goroutines/2, 1)
	batch := scaled(4096, sides)
	batches := max(ops/(sides*batch), 1)
	full := make(chan [][]byte, sides)
	empty := make(chan [][]byte, 4*sides)
	for range cap(empty) {
		empty <- make([][]byte, batch)
	}
	each(2*sides, func(worker int) {
		for range batches {
			if worker&1 == 0 {
				blocks := <-empty
				for i := range blocks {
					blocks[i] = a.Malloc(size)
					touch(blocks[i])
				}
				full <- blocks
				continue
			}
			blocks := <-full
			for _, b := range blocks {
				a.Free(b)
			}
			empty <- blocks
		}
	})
	return sides * batches * batch
}

// mstress lets each goroutine allocate in rounds, keep some, free some, and
// swap some with the others through an array of 1,000 shared places. One block
// in a hundred is a hundred times the size of the others.
func mstress(a Allocator, goroutines, ops int) int {
	const rounds = 25
	var shared places
	perRound := max(ops/(goroutines*rounds), 1)
	each(goroutines, func(worker int) {
		random := newRand(worker)
		var kept [][]byte
		drop := func(i int) {
			kept[i] = kept[len(kept)-1]
			kept = kept[:len(kept)-1]
		}
		for range rounds {
			for range perRound {
				size := 16 << random.IntN(5)
				if random.IntN(100) == 0 {
					size *= 100
				}
				b := a.Malloc(size)
				touch(b)
				kept = append(kept, b)
				if random.IntN(2) == 0 {
					i := random.IntN(len(kept))
					a.Free(kept[i])
					drop(i)
				}
				if random.IntN(4) == 0 && len(kept) > 0 {
					i := random.IntN(len(kept))
					if kept[i] = shared.swap(random.IntN(len(shared)), kept[i]); kept[i] == nil {
						drop(i)
					}
				}
			}
			// A round ends with most of what it kept given back.
			for len(kept) > perRound/8 {
				a.Free(kept[len(kept)-1])
				kept = kept[:len(kept)-1]
			}
		}
		for _, b := range kept {
			a.Free(b)
		}
	})
	for i := range shared {
		if b := shared.swap(i, nil); b != nil {
			a.Free(b)
		}
	}
	return perRound * rounds * goroutines
}

// places is the array through which goroutines hand blocks to each other.
type places [1000]struct {
	mu    sync.Mutex
	block []byte
}

func (p *places) swap(i int, b []byte) []byte {
	place := &p[i]
	place.mu.Lock()
	defer place.mu.Unlock()
	place.block, b = b, place.block
	return b
}

package heap

import (
	"math/rand/v2"
	"testing"
)

// TestTablesGrowSeldom: entering a chunk costs the same however many there are.
func TestTablesGrowSeldom(t *testing.T) {
	const size = 1 << 15
	mem := make([]byte, 1000*size)
	at, tables := &noChunks, 0
	var chunks []*chunk
	for i := range 1000 {
		c := &chunk{mem: mem[i*size : (i+1)*size]}
		if chunks = append(chunks, c); at.room(c) {
			at.enter(c)
		} else {
			at, tables = newTable(chunks), tables+1
		}
	}
	if tables > 12 {
		t.Errorf("%d tables for %d chunks", tables, len(chunks))
	}
	for i, c := range chunks {
		for _, addr := range []uintptr{c.addr(), c.addr() + size - 1} {
			if e := at.find(addr); e == nil || e.c != c {
				t.Fatalf("chunk %d: found %+v", i, e)
			}
		}
	}
	if e := at.find(chunks[999].addr() + size); e != nil {
		t.Errorf("behind the last chunk: %+v", e)
	}
	if noChunks.taken != 0 {
		t.Error("a chunk was entered into the table of heaps without one")
	}
}

// TestTableForgets: chunks leave the table in any order, each is found as long as it is
// there, and a table of which hardly anything is left says so.
func TestTableForgets(t *testing.T) {
	const seed, size, most = 7, 3 << 18, 200
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	mem := make([]byte, most*size)
	all := make([]*chunk, most)
	for i := range all {
		all[i] = &chunk{mem: mem[i*size : (i+1)*size]}
	}
	chunks, at := make([]*chunk, most), &noChunks
	check := func() {
		t.Helper()
		taken := 0
		for i, c := range all {
			taken += chunks[i].regions()
			for _, addr := range []uintptr{c.addr(), c.addr() + size - 1} {
				if e := at.find(addr); (e != nil) != (chunks[i] != nil) || e != nil && e.c != c {
					t.Fatalf("chunk %d is %v in the table: %+v", i, chunks[i] != nil, e)
				}
			}
		}
		if taken != at.taken {
			t.Fatalf("%d entries, counted %d", taken, at.taken)
		}
	}
	smaller := 0
	for step := range 5000 {
		// In turns more come than go, and the other way round.
		i, come := random.IntN(most), random.IntN(10) < 2+6*(step/1000%2)
		switch {
		case come && chunks[i] == nil:
			if chunks[i] = all[i]; at.room(all[i]) {
				at.enter(all[i])
			} else {
				at = newTable(chunks)
			}
		case !come && chunks[i] != nil:
			if chunks[i] = nil; at.remove(all[i]) {
				at, smaller = newTable(chunks), smaller+1
			}
		}
		if step%50 == 0 {
			check()
		}
	}
	for i, c := range chunks {
		if c == nil {
			continue
		}
		if chunks[i] = nil; at.remove(c) {
			at, smaller = newTable(chunks), smaller+1
		}
		check()
	}
	if len(at.entries) > 64 || smaller == 0 || smaller > 20 {
		t.Errorf("%d entries are left, %d times a smaller table", len(at.entries), smaller)
	}
}

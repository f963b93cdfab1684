package heap

import "testing"

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

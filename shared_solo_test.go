package gomem

import "testing"

// A block is the reader's alone again when the last of its frames went back, however many
// there were and in whatever order they go.
func TestBlockIsAloneAgain(t *testing.T) {
	for _, n := range []int{1, blockHandles, blockHandles + 1, 3 * blockHandles} {
		for _, last := range []int{0, n / 2, n - 1} {
			b := newBlock(nil, nil, true)
			if !b.solo() {
				t.Error("a new block is not the reader's alone")
			}
			frames := make([]*SharedMemory, n)
			for i := range frames {
				frames[i] = b.handle()
			}
			for i, s := range frames {
				if i != last {
					s.home.drop(1)
				}
			}
			if b.solo() {
				t.Errorf("alone although frame %d of %d is out", last, n)
			}
			frames[last].home.drop(1)
			if !b.solo() {
				t.Errorf("not alone after all of %d frames went back", n)
			}
		}
	}
}

// A header rests until others had so many handles out: its own do not count.
func TestHeadersWaitForOthers(t *testing.T) {
	q := &usedHeaders
	q.Lock()
	defer q.Unlock()
	ring, head, handles := q.ring, q.head, q.handles
	defer func() { q.ring, q.head, q.handles = ring, head, handles }()
	first := &sharedBlock{issued: blockHandles}
	for _, others := range []int{0, handleRest - 1, handleRest} {
		q.ring, q.head = []*sharedBlock{first}, 0
		q.handles = first.issued + others
		if got := oldestHeader(handleRest); (got != nil) != (others == handleRest) {
			t.Errorf("behind %d others it serves again: %v", others, got != nil)
		}
	}
}

package offsettest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gomem-go/gomem/offset"
)

// Trace is a recorded sequence of allocations and frees, an operation a word:
// below 2³¹ it is "allocate that many bytes" and gets the next id 0, 1, 2…;
// with the top bit set it is "free the block with the id in the other bits".
type Trace []uint32

// FreeBit marks the words of a [Trace] that are frees.
const FreeBit = 1 << 31

// The reasons why a trace is refused; ReadTrace wraps them and says where.
var (
	ErrTruncated = errors.New("the trace ends within a word")
	ErrUnknownID = errors.New("an id that was not allocated yet")
	ErrFreedID   = errors.New("an id that was freed before")
)

// ReadTrace decodes the binary form, little-endian words until r ends, and
// checks that each free names a live id. It does not decompress. Errors: one of
// this package's with the number of the operation, or what r returns.
func ReadTrace(r io.Reader) (Trace, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a trace: %w", err)
	}
	if n := len(data) % 4; n != 0 {
		return nil, fmt.Errorf("operation %d: %w: %d of 4 bytes", len(data)/4, ErrTruncated, n)
	}
	t := make(Trace, 0, len(data)/4)
	var freed []bool
	for i := 0; i < len(data); i += 4 {
		word := binary.LittleEndian.Uint32(data[i:])
		if id := int(word &^ FreeBit); word&FreeBit == 0 {
			freed = append(freed, false)
		} else if id >= len(freed) {
			return nil, fmt.Errorf("operation %d: free %d: %w", i/4, id, ErrUnknownID)
		} else if freed[id] {
			return nil, fmt.Errorf("operation %d: free %d: %w", i/4, id, ErrFreedID)
		} else {
			freed[id] = true
		}
		t = append(t, word)
	}
	return t, nil
}

// Played is what [Play] saw.
type Played struct {
	Ops      int // operations executed
	Peak     int // most bytes live at once
	Reach    int // end of the highest block handed out
	LiveEnd  int // bytes live when the trace ended, given back since
	Fallback int // requests the allocator had no room for
}

// Play replays a trace on a and gives back what it leaves live. A request that
// finds no room is counted, and its free skipped; one of size 0 takes an id and
// nothing else. A second free of an id is skipped as well: [ReadTrace] refuses
// such a trace. Errors: [ErrUnknownID], and a Free that was refused, with the
// number of the operation. Cost: O(operations) besides the allocator's.
func Play(t Trace, a offset.Allocator) (Played, error) {
	var p Played
	ids := make([]offset.Block, 0, len(t))
	live := 0
	free := func(b offset.Block) error {
		if b.Size() == 0 {
			return nil
		}
		live -= b.Size()
		return a.Free(b.Start, b.Size())
	}
	for i, word := range t {
		p.Ops++
		if id := word &^ FreeBit; word&FreeBit != 0 {
			if int(id) >= len(ids) {
				return p, fmt.Errorf("operation %d: free %d: %w", i, id, ErrUnknownID)
			}
			if err := free(ids[id]); err != nil {
				return p, fmt.Errorf("operation %d: free %d: %w", i, id, err)
			}
			ids[id] = offset.Block{}
			continue
		}
		size := int(word)
		at := a.Allocate(size)
		if at < 0 {
			if size > 0 {
				p.Fallback++
			}
			ids = append(ids, offset.Block{})
			continue
		}
		ids = append(ids, offset.Block{Start: at, End: at + size})
		live += size
		p.Peak, p.Reach = max(p.Peak, live), max(p.Reach, at+size)
	}
	p.LiveEnd = live
	for id, b := range ids {
		if err := free(b); err != nil {
			return p, fmt.Errorf("at the end: free %d: %w", id, err)
		}
	}
	return p, nil
}

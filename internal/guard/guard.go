// Package guard watches single blocks of memory: who allocated them, which of
// their bytes have been freed by whom, and whether anybody wrote where nobody
// may. The debug mode of package heap puts every block under guard, its sampled
// guard a few.
//
// A [Block] lies in memory that is larger than it:
//
//	Mem  |red red red|######## block ########|red red|
//	                 ^start                  ^start+size
//
// Red bytes and freed bytes hold patterns; a byte that lost its pattern was
// written by somebody who did not own it. The equation that the package keeps:
// the segments of a block cover Mem from end to end, and the live ones add up
// to Left.
package guard

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gomem-go/gomem/offset"
)

// What a guard finds beside double frees and the like; compare with errors.Is.
var (
	// ErrOverrun: bytes beside a block were written.
	ErrOverrun = errors.New("written outside of the block")
	// ErrUseAfterFree: freed bytes were written.
	ErrUseAfterFree = errors.New("written after free")
)

// The patterns of bytes that nobody may write.
const (
	redByte  = 0xFD
	deadByte = 0xDB
)

type state uint8

const (
	red  state = iota // never handed out
	live              // the user's
	dead              // freed, and still kept from reuse
	gone              // given back to where it came from
)

type segment struct {
	from, to int // in Mem
	state    state
	freed    Stack // of the free, when dead or gone
}

// Block is a watched block. It is for one goroutine at a time.
type Block struct {
	Mem         []byte
	Left        int // live bytes
	Alloc       Stack
	start, size int
	segs        []segment
}

// Watch puts the size bytes at start of mem under guard, and paints what is
// around them.
func Watch(mem []byte, start, size int, alloc Stack) Block {
	b := Block{Mem: mem, Left: size, Alloc: alloc, start: start, size: size, segs: make([]segment, 0, 3)}
	if start > 0 {
		b.segs = append(b.segs, segment{to: start})
	}
	b.segs = append(b.segs, segment{from: start, to: start + size, state: live})
	if end := start + size; end < len(mem) {
		b.segs = append(b.segs, segment{from: end, to: len(mem)})
		fill(mem[end:], redByte)
	}
	fill(mem[:start], redByte)
	return b
}

// Bytes are the block's, with cap == len.
func (b *Block) Bytes() []byte { return b.Mem[b.start : b.start+b.size : b.start+b.size] }

// Size is the number of bytes that were requested.
func (b *Block) Size() int { return b.size }

func (b *Block) addr() uintptr {
	// Safety: used as a number only.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b.Mem)))
}

// Holds says whether the byte at addr is in the block's memory and was not given
// back.
func (b *Block) Holds(addr uintptr) bool {
	at := addr - b.addr()
	return at < uintptr(len(b.Mem)) && b.segs[b.find(int(at))].state != gone
}

// find returns the segment that holds the byte at of Mem.
func (b *Block) find(at int) int {
	i, _ := slices.BinarySearchFunc(b.segs, at, func(s segment, at int) int {
		if s.to <= at {
			return -1
		}
		return 1
	})
	return i
}

// Free frees n bytes at addr, which Holds, and paints them. It returns where
// they are in Mem, or a [*Error] and has changed nothing.
func (b *Block) Free(addr uintptr, n int, where Stack) (from, to int, err error) {
	from = int(addr - b.addr())
	to = from + min(n, len(b.Mem)-from)
	for i := b.find(from); i < len(b.segs) && b.segs[i].from < to; i++ {
		switch s := b.segs[i]; s.state {
		case dead, gone:
			return 0, 0, b.refuse(offset.ErrDoubleFree, max(from, s.from), s.freed, where)
		case red:
			return 0, 0, b.refuse(offset.ErrNotOwned, max(from, s.from), nil, where)
		}
	}
	if to-from < n {
		return 0, 0, b.refuse(offset.ErrNotOwned, to, nil, where)
	}
	b.change(from, to, dead, where)
	b.Left -= n
	fill(b.Mem[from:to], deadByte)
	return from, to, nil
}

// change gives [from, to), which lies in one segment, a new state.
func (b *Block) change(from, to int, st state, freed Stack) {
	i := b.find(from)
	old := b.segs[i]
	var parts [3]segment
	now := parts[:0]
	if old.from < from {
		now = append(now, segment{old.from, from, old.state, old.freed})
	}
	now = append(now, segment{from, to, st, freed})
	if to < old.to {
		now = append(now, segment{to, old.to, old.state, old.freed})
	}
	b.segs = slices.Replace(b.segs, i, i+1, now...)
}

// Release marks the freed bytes [from, to) of Mem, of one Free, as given back.
func (b *Block) Release(from, to int) { b.change(from, to, gone, b.segs[b.find(from)].freed) }

// Whole says whether nothing of the block was freed.
func (b *Block) Whole() bool { return b.Left == b.size }

// ReleaseDead marks all freed bytes as given back, and yields where they are in Mem.
func (b *Block) ReleaseDead(yield func(from, to int) bool) {
	for i := range b.segs {
		if s := &b.segs[i]; s.state == dead {
			s.state = gone
			if !yield(s.from, s.to) {
				return
			}
		}
	}
}

// Rest yields the runs of Mem that have not been given back.
func (b *Block) Rest(yield func(from, to int) bool) {
	for i := 0; i < len(b.segs); i++ {
		if b.segs[i].state == gone {
			continue
		}
		from := b.segs[i].from
		for i+1 < len(b.segs) && b.segs[i+1].state != gone {
			i++
		}
		if !yield(from, b.segs[i].to) {
			return
		}
	}
}

// Check looks for a byte of [from, to) that was written and must not have been,
// repairs the pattern, so that it is found once, and returns a [*Error].
func (b *Block) Check(from, to int) error {
	var found error
	for i := b.find(from); i < len(b.segs) && b.segs[i].from < to; i++ {
		s := b.segs[i]
		pattern, what := byte(redByte), ErrOverrun
		switch s.state {
		case live, gone:
			continue
		case dead:
			pattern, what = deadByte, ErrUseAfterFree
		}
		mem := b.Mem[max(s.from, from):min(s.to, to)]
		at := written(mem, pattern)
		if at < 0 {
			continue
		}
		fill(mem, pattern)
		if found == nil {
			e := b.newError(what, max(s.from, from)+at)
			if s.state == dead {
				e.Events = append(e.Events, Event{"freed", s.freed})
			}
			found = e
		}
	}
	return found
}

// CheckAll is Check for all of the block.
func (b *Block) CheckAll() error { return b.Check(0, len(b.Mem)) }

// Explain says what is known about the byte at addr, which is in Mem or beside it.
func (b *Block) Explain(addr uintptr) *Error {
	at := int(addr - b.addr())
	e := b.newError(ErrOverrun, at)
	if at < 0 || at >= len(b.Mem) {
		return e
	}
	switch s := b.segs[b.find(at)]; s.state {
	case live:
		e.Err = errLive
	case dead, gone:
		e.Err = errFreed
		e.Events = append(e.Events, Event{"freed", s.freed})
	}
	return e
}

var (
	errFreed = errors.New("freed")
	errLive  = errors.New("live")
)

func (b *Block) newError(why error, at int) *Error {
	return &Error{
		Err: why, Addr: b.addr() + uintptr(b.start), Size: b.size, At: at - b.start,
		Events: []Event{{"allocated", b.Alloc}},
	}
}

func (b *Block) refuse(why error, at int, before, now Stack) error {
	e := b.newError(why, at)
	if before != nil {
		e.Events = append(e.Events, Event{"first freed", before})
	}
	e.Events = append(e.Events, Event{"this free", now})
	return e
}

// Error is what a guard found out about one block.
type Error struct {
	Err    error   // what is wrong; errors.Is finds it
	Addr   uintptr // of the block
	Size   int     // of the block, in bytes as requested
	At     int     // the first byte concerned, counted from the block's first
	Events []Event // where the block was allocated and freed, in that order
}

// Event is something that happened to a block.
type Event struct {
	What  string // "allocated", "freed", "first freed", "this free"
	Stack Stack
}

// Error names the block and the byte, and lists the stacks.
func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v at %+d of the block of %d bytes at %#x", e.Err, e.At, e.Size, e.Addr)
	for _, ev := range e.Events {
		if len(ev.Stack) > 0 {
			fmt.Fprintf(&s, "\n%s at\n%v", ev.What, ev.Stack)
		}
	}
	return s.String()
}

// Unwrap makes errors.Is find what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// patterns are what fill copies and written compares with.
var patterns = map[byte][]byte{
	redByte:  bytes.Repeat([]byte{redByte}, 4096),
	deadByte: bytes.Repeat([]byte{deadByte}, 4096),
}

func fill(mem []byte, with byte) {
	for pattern := patterns[with]; len(mem) > 0; {
		mem = mem[copy(mem, pattern):]
	}
}

// written returns the index of the first byte that is not pattern, or -1.
func written(mem []byte, pattern byte) int {
	all := patterns[pattern]
	for at := 0; at < len(mem); at += len(all) {
		part := mem[at:min(at+len(all), len(mem))]
		if !bytes.Equal(part, all[:len(part)]) {
			return at + slices.IndexFunc(part, func(x byte) bool { return x != pattern })
		}
	}
	return -1
}

package offsettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// The operations of a program. An operation is five bytes: the kind, modulo the
// number of slots in kinds, and two little-endian uint16 operands.
type kind byte

const (
	opAllocate kind = iota
	opAligned
	opFind
	opFreeWhole
	opFreeHead
	opFreeTail
	opFreeMiddle
	opCut
	opFreeAcross
	opDoubleFree
	opOutside
	opOverlap
	opBadRequest
	opReset
)

const opBytes = 5

// kinds weighs the operations: as many slots as its share.
var kinds = [...]kind{
	opAllocate, opAllocate, opAllocate, opAllocate, opAllocate, opAllocate, opAllocate, opAllocate, opAllocate,
	opAligned, opAligned, opFind,
	opFreeWhole, opFreeWhole, opFreeWhole, opFreeWhole, opFreeWhole,
	opFreeHead, opFreeHead, opFreeTail, opFreeTail, opFreeMiddle, opFreeMiddle,
	opCut, opCut, opFreeAcross, opFreeAcross,
	opDoubleFree, opOutside, opOverlap, opBadRequest, opReset,
}

const (
	firstFree = 12 // index in kinds of the first and behind the last kind that frees
	lastFree  = 27
)

// Random writes a program of n operations. It alternates between filling the
// range, holding it full, and draining it, which independent operations would
// not. The same seed gives the same program.
func Random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 1, 1+n*opBytes)
	data[0] = byte(seed)
	phase, left := 0, 0
	for range n {
		if left == 0 {
			phase, left = r.IntN(3), 16+r.IntN(400)
		}
		left--
		slot := r.IntN(len(kinds))
		switch bias := r.IntN(3); {
		case phase == 0 && bias > 0:
			slot = r.IntN(firstFree)
		case phase == 1 && bias > 0:
			slot = firstFree + r.IntN(lastFree-firstFree)
		}
		if kinds[slot] == opReset && r.IntN(30) > 0 {
			slot = 0
		}
		a, b := r.Uint32(), r.Uint32()
		data = append(data, byte(slot), byte(a), byte(a>>8), byte(b), byte(b>>8))
	}
	return data
}

// run is one program under way.
type run struct {
	testing.TB
	cfg   Config
	a     offset.Allocator
	o     *Oracle
	free  []offset.Block // what the model has free, as of the last check
	empty int            // Fits of the empty range
	every int            // Blocks and Verify are compared each so many operations

	seed   uint64
	op     int
	recent [16]string // the last operations, a ring; filled on the second run
	trace  bool
}

// runProgram executes data. Describing operations costs more than doing them,
// so a failing program is run again, with descriptions, to report.
func runProgram(t testing.TB, cfg Config, data []byte, seed uint64, every int) {
	t.Helper()
	if why := execute(t, cfg, data, seed, every, false); why != "" {
		if again := execute(t, cfg, data, seed, 1, true); again != "" {
			why = again
		}
		t.Fatal(why)
	}
}

// newRun starts on an empty range of about size offsets, as New rounds it.
func newRun(t testing.TB, cfg Config, size int) *run {
	a := cfg.New(size)
	return &run{TB: t, cfg: cfg, a: a, o: NewOracle(a.Size()), empty: a.Fits(), every: 1}
}

// failure is how a check deep in a program ends it.
type failure string

func execute(t testing.TB, cfg Config, data []byte, seed uint64, every int, trace bool) (why string) {
	t.Helper()
	var head byte
	if len(data) > 0 {
		head, data = data[0], data[1:]
	}
	size := cfg.Sizes[int(head)%len(cfg.Sizes)]
	r := newRun(t, cfg, size)
	r.every, r.seed, r.trace = every, seed, trace
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			why = r.report(string(f))
		default:
			why = r.report(fmt.Sprintf("panic: %v", f))
		}
	}()
	r.check(true)
	for ; len(data) >= opBytes; data = data[opBytes:] {
		r.op++
		a, b := int(data[1])|int(data[2])<<8, int(data[3])|int(data[4])<<8
		r.step(kinds[int(data[0])%len(kinds)], a, b)
		r.check(r.op%r.every == 0)
	}
	r.check(true)
	r.validateAll()
	return ""
}

// fail ends the program with a message.
func (r *run) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

func (r *run) report(why string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d, range %d, operation %d: %s\n", r.seed, r.o.Size(), r.op, why)
	for i := range r.recent {
		if line := r.recent[(r.op+1+i)%len(r.recent)]; line != "" {
			fmt.Fprintf(&s, "  %s\n", line)
		}
	}
	s.WriteString(r.a.String())
	return s.String()
}

// note describes the operation under way.
func (r *run) note(format string, args ...any) {
	if r.trace {
		r.recent[r.op%len(r.recent)] = fmt.Sprintf("%d: ", r.op) + fmt.Sprintf(format, args...)
	}
}

// length turns an operand into a size for a request: mostly small, sometimes a
// share of the range, a power of two, or exactly what is left and one more.
func (r *run) length(a int) int {
	size, low := r.o.Size(), a&(1<<13-1)
	switch a >> 13 {
	case 0, 1, 2:
		return 1 + low%64
	case 3:
		return 1 + low%(1+size/8)
	case 4:
		return 1 + low%(1+size/64)
	case 5:
		return 1 << (low % 17)
	case 6:
		return 1 + int(int64(size)*int64(low)>>13)
	}
	return max(1, r.a.Fits()+low%3-1)
}

// part picks a live part; ok is false when there is none.
func (r *run) part(b int) (i int, p Part, ok bool) {
	if len(r.o.parts) == 0 {
		return 0, Part{}, false
	}
	i = b % len(r.o.parts)
	return i, r.o.parts[i], true
}

func (r *run) step(k kind, a, b int) {
	switch k {
	case opAllocate:
		r.allocate(r.length(a), 1)
		return
	case opAligned:
		r.allocate(r.length(a), 1<<(b%14))
		return
	case opFind:
		n := r.length(a)
		r.note("Find(%d)", n)
		if at := r.a.Find(n); (at >= 0) != r.fits(n, 1) {
			r.fail("Find(%d) = %d with %v free", n, at, r.free)
		}
		return
	case opBadRequest:
		r.badRequest(a, b)
		return
	case opReset:
		r.note("Reset")
		r.a.Reset()
		r.o.reset()
		return
	}
	i, p, ok := r.part(b)
	if !ok {
		r.release(a%(1+r.o.Size()), 1+b)
		return
	}
	n := p.Size()
	piece := 1 + a%n
	switch k {
	case opFreeWhole:
		r.release(p.Start, n)
	case opFreeHead:
		r.release(p.Start, piece)
	case opFreeTail:
		r.release(p.End-piece, piece)
	case opFreeMiddle:
		r.release(p.Start+a%n, 1+(b>>3)%(n-a%n))
	case opCut:
		if s, ok := r.a.(splitter); ok && a>>13 > 1 {
			at := p.Start + piece
			if a>>13 > 2 {
				at &^= s.Granule() - 1 // down to the start of the part, or before it
			}
			r.split(s, at)
			return
		}
		r.note("cut %v at %d", p.Block, p.Start+piece)
		r.o.cut(i, p.Start+piece)
	case opFreeAcross:
		// From within this part into the one behind it: one allocation cut in
		// two, two neighbours, or a hole between them, as it happens.
		if i+1 < len(r.o.parts) {
			next := r.o.parts[i+1]
			r.release(p.End-piece, next.Start+1+a%next.Size()-(p.End-piece))
		}
	case opDoubleFree:
		if len(r.free) > 0 {
			f := r.free[a%len(r.free)]
			r.release(f.Start, f.Size())
			r.release(f.Start+b%f.Size(), 1)
		}
	case opOverlap:
		r.release(p.Start-a%3, n+b%5)
	case opOutside:
		r.outside(p, a)
	}
}

func (r *run) outside(p Part, a int) {
	size := r.o.Size()
	ranges := [...][2]int{
		{-1, 1}, {-1, 2}, {-p.Size(), p.Size()}, {size, 1}, {p.Start, size - p.Start + 1},
		{p.Start, math.MaxInt}, {math.MaxInt, 1}, {math.MaxInt, math.MaxInt}, {math.MinInt, 1},
		{math.MinInt, math.MaxInt}, {p.Start, 0}, {p.Start, -1}, {p.End, -p.Size()}, {p.Start, math.MinInt},
	}
	f := ranges[a%len(ranges)]
	r.release(f[0], f[1])
	if s, ok := r.a.(splitter); ok {
		r.split(s, f[0])
	}
}

package heap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A slot's record is one word, kept outside the slot: four bits of state, then
// the requested length or, for a free slot, the next free slot.
//
//	free    next free slot of the span, or noSlot
//	live    requested bytes: what a whole free must name
//	queued  freed by a goroutine on another P; the owner has not seen it yet
//	gone    a block of the chunk now, of so many bytes: the span was melted
//	cut     live in a strip: requested bytes
//	parts   some of its bytes are freed: span.parts has which, the record how many are not
//	busy    as parts or before: at this moment somebody frees a part or a tail, or is about
//	        to queue it, or to take that back: see mark. The rest is the number of his shard
//
// The owner reads the records of its spans plainly, and stores plainly those of
// whole blocks that it takes or frees. Every other change, including an owner's
// free of a part or a tail, is a compare-and-swap, which decides between two
// goroutines that free the same bytes at once. The owner's plain store can
// overwrite another goroutine's change only if the program frees a slot twice at
// the same moment: the owner then finds a queued bit without a queued record, and
// counts it. If that change was to free a part, see parts.go.
//
// Only live has the top bit: with that bit flipped the record of a live slot is
// its length, and every other record is negative as an int32, so that one
// comparison tells them apart, even for a length that no slot can have.
const (
	stateMask      = 15 << 28
	stateFree      = 0 << 28
	stateQueue     = 1 << 28
	stateGone      = 2 << 28
	stateGoneParts = 3 << 28 // gone, and was in parts
	stateCut       = 4 << 28
	stateParts     = 5 << 28
	stateBusy      = 6 << 28
	stateLive      = 8 << 28
	noSlot         = 1<<28 - 1
)

// where a span is in its owner's lists.
const (
	isFull   = iota // no free slot; in no list
	isCur           // the span that its class allocates from
	isListed        // in the class's list of spans with free slots
)

// span is a run of bytes in one chunk, cut into slots of one class and owned
// by one shard. The accounting equation, which Verify checks by walking the
// records:
//
//	used() + slots on the free list + (slots - carved) == slots
type span struct {
	// What every free reads, and hardly anybody writes, fills one cache line: frees by
	// other Ps do not wait for the owner's, and its frees not for theirs.
	base  unsafe.Pointer // first byte; the chunk keeps it alive
	recs  []uint32       // one per slot
	owner atomic.Pointer[shard]
	size  uint32 // bytes per slot
	magic uint32 // ceil(2^magicShift/size): i = offset*magic>>magicShift for offset < maxSpan
	limit uint32 // bytes of all slots
	end   uint32 // granules of the span
	class uint8
	_     [7]byte

	// The owner's.
	head       uint32 // first free slot, or noSlot
	left       uint32 // frees after which the span is to be filed
	spare      uint32 // what left has beyond the used slots
	carved     uint32 // slots below this have been on the free list at least once
	where      uint8
	stock      uint32 // free slots when the span became the current one, or was carved last
	last, most uint32 // of a strip, see there
	pass       uint32 // in which a strip was looked at last
	chunk      *chunk
	off        int // of base in the chunk
	next, prev *span

	begins []uint64 // of a strip, see there

	parts atomic.Pointer[parts] // nil until a part of a block was freed

	// Written by others than the owner; on a line of its own. With this a span has 256
	// bytes, and so the Go heap begins it where a line begins.
	_        [48]byte
	notified uint32 // 1 while the span is on its owner's remote stack
	remote   *span  // next on that stack
	bits     []uint32
}

const magicShift = 35

// exhausted stands for "no span yet" as the current span of a class, so that
// the fast path needs no nil check. It has no free slot and never gets one.
var exhausted = func() *span {
	sp := &span{head: noSlot, size: 1}
	sp.owner.Store(nobody)
	return sp
}()

func newSpan(class, bytes int) *span {
	size := slotSize[class]
	slots := uint32(bytes) / size
	sp := &span{
		bits:  make([]uint32, (slots+31)/32),
		size:  size,
		limit: slots * size,
		magic: uint32((1<<magicShift + uint64(size) - 1) / uint64(size)),
		class: uint8(class),
		end:   uint32(bytes / chunkUnit),
	}
	sp.recs = newRecords(sp, int(slots))
	sp.owner.Store(nobody)
	return sp
}

// newRecords makes the records of sp. A processor may take a load for one of what it has
// just stored if the addresses have the same last 12 bits: a Malloc and its Free take 1.3
// times as long where the slot's record and what they read of the span lie so. For the
// first slots, which a program with few blocks uses all the time, they do not.
func newRecords(sp *span, slots int) []uint32 {
	recs := make([]uint32, slots)
	if collide(sp, recs) {
		recs = make([]uint32, slots+(hotBytes+firstBytes)/4)
		if collide(sp, recs) {
			recs = recs[(hotBytes+firstBytes)/4:]
		}
	}
	return recs[:slots:slots]
}

const (
	hotBytes   = 128 // of a span, which the fast paths read
	firstBytes = 256 // of the records, of the first 64 slots
)

// collide says whether one of the first records has the same last bits as a byte that the
// fast paths read of sp.
func collide(sp *span, recs []uint32) bool {
	// Safety: the addresses are compared and never followed, and what is on the Go heap
	// does not move (runtime assumption 5).
	behind := (uintptr(unsafe.Pointer(unsafe.SliceData(recs))) - uintptr(unsafe.Pointer(sp))) % 4096
	return behind < hotBytes || behind > 4096-firstBytes
}

// place puts an empty span at off in c.
func (sp *span) place(c *chunk, off int) {
	sp.chunk, sp.off = c, off
	// Safety: off is inside the chunk, by the placement that chose it.
	sp.base = unsafe.Pointer(&c.mem[off])
	sp.head, sp.left, sp.spare, sp.carved = noSlot, 0, 0, 0
	sp.stock, sp.last, sp.most = 0, 0, 0
	sp.where = isFull
}

// slot returns the slot that holds the byte at off of the span, and how far into the
// slot the byte is. The slot may lie behind the last one, and if off is not within
// the span it may be any slot: then within is more than its size.
func (sp *span) slot(off uintptr) (i, within uint) {
	i = uint(uint64(off) * uint64(sp.magic) >> magicShift)
	return i, uint(off) - i*uint(sp.size)
}

// whole is the state of a live block of which nothing but tails was freed.
func (sp *span) whole() uint32 {
	if sp.class == stripClass {
		return stateCut
	}
	return stateLive
}

// block returns the slot that holds the byte at off or, in a strip, the granule
// where the block around that byte begins, how far into it the byte is, and its
// record. If there is no block there, the record is not that of a live block or,
// in a strip, is that of a block that ends before off. local says whether the
// caller is the owner.
func (sp *span) block(off uint32, local bool) (i, within, r uint32) {
	at, _ := sp.slot(uintptr(off))
	if i = uint32(at); sp.class == stripClass {
		if local && i >= sp.last {
			i = sp.last
		} else {
			w, set := sp.begun(i)
			i = w*64 + uint32(bits.Len64(set)) - 1
		}
	}
	if i >= uint32(len(sp.recs)) {
		return i, 0, stateFree
	}
	return i, off - i*sp.size, atomic.LoadUint32(&sp.recs[i])
}

// mark changes the record of slot i from r to to, which is how the shard makes it busy;
// false if another goroutine was quicker. base is where the caller saw the span before it
// chose the slot. If that is of no block any more, as the second free of one, the span may
// serve elsewhere meanwhile: then the block is another, and nobody but its owner, who frees
// it, changes its record until it is as it was. So it must not look queued before: a bit
// that an earlier second free left over would tell the owner to take it in.
func (sp *span) mark(i, r, to uint32, base unsafe.Pointer) bool {
	if !atomic.CompareAndSwapUint32(&sp.recs[i], r, to) {
		return false
	}
	if sp.base == base { // and stays so, as the span holds a block
		return true
	}
	atomic.CompareAndSwapUint32(&sp.recs[i], to, r) // unless the owner just freed it
	return false
}

// queue changes the record of slot i from r, by way of busy unless it is that already, to
// queued; false if another goroutine was quicker.
func (sp *span) queue(i, r, busy uint32, base unsafe.Pointer) bool {
	return (r == busy || sp.mark(i, r, busy, base)) && atomic.CompareAndSwapUint32(&sp.recs[i], busy, stateQueue)
}

// posted says whether the owner of the span will hear of slot i, which is queued.
// If not, whoever queued it is about to tell.
func (sp *span) posted(i uint32) bool { return atomic.LoadUint32(&sp.bits[i/32])>>(i%32)&1 != 0 }

// trim changes the record of block i, which it shortens, from r to to; false if another
// goroutine was quicker.
func (sp *span) trim(i, r, to uint32, local bool) bool {
	if !atomic.CompareAndSwapUint32(&sp.recs[i], r, to) {
		return false
	}
	if local && i == sp.last && sp.class == stripClass {
		sp.carved = i + granules(to&^stateMask)
	}
	return true
}

// bytes is the size of the span.
func (sp *span) bytes() int { return int(sp.end) * chunkUnit }

// units is the number of places in the span map that the span takes.
func (sp *span) units() int { return sp.bytes() >> spanShift }

// used is the number of slots that are carved and not on the free list: live, queued or
// in parts.
func (sp *span) used() uint32 { return sp.left - sp.spare }

// moveTo notes where the span is now, and so after how many frees it is to be filed.
func (sp *span) moveTo(where uint8) {
	used := sp.used()
	sp.where, sp.left = where, filedAfter(where, used)
	sp.spare = sp.left - used
}

// filedAfter returns after how many frees a span with that many used slots is to be
// filed: a full one after the first, a listed one after the last, and the current one
// of a class never. So a free has one question to ask, which hardly ever has another
// answer than the last time.
func filedAfter(where uint8, used uint32) uint32 {
	switch where {
	case isCur:
		return used + 1
	case isListed:
		return used
	}
	return 1
}

// full says whether neither a free nor an uncarved slot is left. A strip is
// never full: it stays in its shard's list, so that the shard can melt it.
func (sp *span) full() bool {
	return sp.head == noSlot && int(sp.carved) == len(sp.recs) && sp.class != stripClass
}

// carve puts up to 64 slots that were never used on the free list, which must
// be empty; false if none are left.
func (sp *span) carve() bool {
	from := sp.carved
	to := min(from+64, uint32(len(sp.recs)))
	if from == to {
		return false
	}
	for i := from; i < to-1; i++ {
		sp.recs[i] = i + 1
	}
	sp.recs[to-1] = noSlot
	sp.head, sp.carved = from, to
	return true
}

// take pops a free slot, which must exist, for n bytes, at most maxSlot.
func (sp *span) take(n int) []byte {
	i := sp.head
	rec := &sp.recs[i]
	sp.head = *rec
	*rec = stateLive | uint32(n)
	sp.left++
	// Safety: slot i lies inside the span, and no slot is smaller than n.
	return (*[maxSlot]byte)(unsafe.Add(sp.base, i*sp.size))[:n:n]
}

// give puts slot i, whose record is rec, back on the free list.
func (sp *span) give(rec *uint32, i uint32) {
	*rec = sp.head
	sp.head = i
	sp.left--
}

// free frees slot or block i.
func (sp *span) free(i uint32) {
	if sp.class == stripClass {
		sp.uncut(i)
	} else {
		sp.give(&sp.recs[i], i)
	}
}

// list links spans through next and prev. Those with live slots are at the front, the
// one that has been there longest first, and empty ones at the back. live is the last
// one with live slots.
type list struct{ front, live, back *span }

// push enters sp as the last of those with live slots or, if it is empty, of all.
func (l *list) push(sp *span) {
	at := l.back
	if sp.used() > 0 {
		at, l.live = l.live, sp
	}
	sp.moveTo(isListed)
	sp.prev = at
	if at != nil {
		sp.next, at.next = at.next, sp
	} else {
		sp.next, l.front = l.front, sp
	}
	if sp.next != nil {
		sp.next.prev = sp
	} else {
		l.back = sp
	}
}

// drainPart: a span with fewer than one in so many slots live has few.
const drainPart = 4

// next returns the span that is to serve: the first one. But if that has few live slots,
// and the one behind it is in an earlier chunk, or in the same and has more, the first goes
// to the end instead: so such spans drain after a peak, and the last chunks with them.
func (l *list) next() *span {
	sp := l.front
	if sp == l.live || sp == nil || sp.used() == 0 {
		return sp
	}
	behind := sp.next
	first, second := sp.chunk.index, behind.chunk.index
	if sp.used() < sp.carved/drainPart && (second < first || second == first && sp.used() < behind.used()) {
		l.remove(sp)
		l.push(sp)
		return behind
	}
	return sp
}

func (l *list) remove(sp *span) {
	sp.moveTo(isFull)
	if sp == l.live {
		l.live = sp.prev
	}
	if sp.prev != nil {
		sp.prev.next = sp.next
	} else {
		l.front = sp.next
	}
	if sp.next != nil {
		sp.next.prev = sp.prev
	} else {
		l.back = sp.prev
	}
	sp.next, sp.prev = nil, nil
}

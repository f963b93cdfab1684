package heap

import (
	"sync/atomic"
	"unsafe"
)

// shard is the part of a heap that one P allocates from: for each class a
// current span and the other spans with free slots. It is only touched by a
// goroutine that is pinned to the P or in a section on it, or by the holder of
// Heap.mu while the heap is paused.
type shard struct {
	//lint:ignore U1000 only the portable form locks
	shardLock

	// Bytes requested and given back through this shard, and frees that lost to
	// a free of the same slot at the same time. Others read them too, and may
	// see values that are a few operations old. They come first, where 32-bit
	// systems align them.
	malloced, freed, raced uint64

	// p is the P, by which a section knows that a hint at the shard, or a span of it, is
	// its own; nil as long as sections are to find no shard. front is the same for the
	// sections of Malloc. home is always the P; nil before settle. Changed under mu. Each
	// free looks at the p of the span's owner, so it is not on the line of the counters,
	// which change all the time.
	_              [64]byte
	p, front, home unsafe.Pointer

	busy uint32 // the record of a block in which this shard frees a part, or which it marks

	// The current spans by class, that of the host for a guest that has none of its own.
	// 128 so that the index needs no bounds check.
	cur       [128]*span
	spans     [kinds]list
	idle      int    // units of empty spans in the lists
	unsampled int64  // blocks that count for the sampled guard, which does not know them yet
	seen      uint64 // malloced at the last reclaim: unchanged means quiet

	// For each class above maxSmall, one more than the number of blocks that may
	// still be cut from strips; each block of which a part is freed sets it to
	// cutWait again. 1: none was for so long; 0: the class is not cut. 32 so that
	// the index needs no bounds check.
	cuts [32]uint32
	lost uint32 // trims of late that were not of the block cut last, as noteTrim weighs them

	// The class of the last Borrow plus 1, and the value of malloced then.
	// While malloced is unchanged the current span of the class must stay
	// where it is, unless a block was placed, which Heap.placed tells.
	lent   int
	lentAt uint64
	placed uint32

	// remote is the stack of spans with slots that were freed by other shards:
	// those push, the owner takes all, and works through them as announced.
	announced *span
	_         [64]byte
	remote    atomic.Pointer[span]
}

// shardSet is the shards of a heap. It never changes: when a P gets a shard, a new
// set replaces it.
type shardSet struct {
	byID []*shard // of the Ps; noShard where there is none
}

// newShardSet returns a set for n Ps that have no shard yet.
func newShardSet(n int) *shardSet {
	set := &shardSet{byID: make([]*shard, n)}
	for i := range set.byID {
		set.byID[i] = noShard
	}
	return set
}

// noShard stands for a P that has no shard. All its classes are exhausted, and
// it owns no span.
var noShard = newShard()

// nobody owns the spans that are not placed anywhere. It is the shard of no P, so that
// who compares needs no nil check.
var nobody = new(shard)

// noShards is the set of a heap that is not shared out, or is paused.
var noShards = newShardSet(0)

// published is the set that pin looks into. A typed atomic pointer would make
// pin too expensive to inline.
func (h *Heap) published() *shardSet { return (*shardSet)(atomic.LoadPointer(&h.shards)) }

// publish changes the set: to h.set, or to none. Under mu.
func (h *Heap) publish(set *shardSet) {
	front := set
	if h.sampler != nil && h.sampler.offered.Load() > 0 {
		front = noShards
	}
	atomic.StorePointer(&h.shards, unsafe.Pointer(set))
	atomic.StorePointer(&h.front, unsafe.Pointer(front))
	if all := h.set.Load(); all != nil {
		for _, s := range all.byID {
			if s != noShard {
				s.show(set == all, front == all)
			}
		}
	}
}

// show sets whether sections find s by a hint: all for sections in general, front
// for those of Malloc. Under mu.
func (s *shard) show(all, front bool) {
	p, f := s.home, s.home
	if !all {
		p = nil
	}
	if !front {
		f = nil
	}
	atomic.StorePointer(&s.p, p)
	atomic.StorePointer(&s.front, f)
}

// of returns the shard at id, noShard if there is none.
func (set *shardSet) of(id int) *shard {
	if id < len(set.byID) {
		return set.byID[id]
	}
	return noShard
}

// idleLimit is how many units of empty spans a shard keeps for the next load:
// 256 KiB.
const idleLimit = 256 << 10 >> spanShift

// shardsMade numbers the shards, so that each makes a block busy in its own way: who was
// stopped while a block was busy for it, and overridden, must not take another one for his.
var shardsMade atomic.Uint32

func newShard() *shard {
	s := &shard{busy: stateBusy | shardsMade.Add(1)&^stateMask}
	for c := range s.cur {
		s.cur[c] = exhausted
	}
	return s
}

// refill gives class c a current span with a free slot, from the shard's own
// spans; false if none has one. It is also false for a guest that would take slots
// which a busy host has freed: that is to get a span of its own. What others have freed
// waits until there is no slot else: the more of it is taken in at once, the fewer
// cache lines go to and fro.
func (s *shard) refill(c int) bool {
	sp := s.cur[c]
	if sp.head != noSlot {
		return true
	}
	s.usedUp(sp)
	if s.refillSpans(c) {
		return true
	}
	for s.gather() {
		if s.refillSpans(c) {
			return true
		}
	}
	return false
}

// refillSpans is refill without what others freed.
func (s *shard) refillSpans(c int) bool {
	sp := s.cur[c]
	switch host := hostOf(c); {
	case sp.head != noSlot:
		sp.stock = sp.carved - sp.used()
		return true
	case !s.spanless(c) || s.spans[c].front != nil:
		return s.refillOwn(c)
	case s.own(host) != exhausted && s.spans[host].front != nil || !s.refillOwn(host):
		return false
	default:
		s.cur[c] = s.cur[host]
		return true
	}
}

// refillHost gives class c, for which refill finds nothing, a free slot of its host, be that
// busy or not; false if there is none.
func (s *shard) refillHost(c int) bool {
	host := hostOf(c)
	if host == c || !s.refillOwn(host) {
		return false
	}
	if sp := s.own(c); sp != exhausted {
		sp.moveTo(isFull)
	}
	s.cur[c] = s.cur[host]
	return true
}

// own returns the current span of class c if it is one of that class, else exhausted.
func (s *shard) own(c int) *span {
	if sp := s.cur[c]; int(sp.class) == c {
		return sp
	}
	return exhausted
}

// spanless says whether class c is a guest without a current span of its own.
func (s *shard) spanless(c int) bool { return hostOf(c) != c && s.own(c) == exhausted }

// lacks returns the class of the span that is to be placed where refill found nothing
// for class c: a guest gets one of its own where the host has one already.
func (s *shard) lacks(c int) int {
	if host := hostOf(c); s.spanless(c) && s.own(host) == exhausted {
		return host
	}
	return c
}

// usedUp counts for the sampled guard the slots of sp, which has none left.
func (s *shard) usedUp(sp *span) {
	if sp.stock > 0 {
		s.unsampled += int64(sp.stock)
		sp.stock = 0
	}
}

// refillOwn is refill from spans of class c alone, without what others freed.
func (s *shard) refillOwn(c int) bool {
	sp := s.own(c)
	if sp.head != noSlot {
		return true
	}
	s.usedUp(sp)
	if !sp.carve() {
		l := &s.spans[c]
		if sp = l.next(); sp == nil {
			return false
		}
		l.remove(sp)
		if sp.used() == 0 {
			s.idle -= sp.units()
		}
		s.setCur(c, sp)
		if sp.head == noSlot && !sp.carve() {
			return false
		}
	}
	sp.stock = sp.carved - sp.used()
	return true
}

// setCur makes sp the current span of class c, and files the one before.
func (s *shard) setCur(c int, sp *span) {
	old := s.own(c)
	s.swap(c, old, sp)
	sp.moveTo(isCur)
	if old != exhausted {
		old.moveTo(isFull)
		if !old.full() {
			s.file(old)
		}
	}
}

// swap makes sp the current span of class c, and of its guests that had old from it.
func (s *shard) swap(c int, old, sp *span) {
	s.cur[c] = sp
	for guest := c - 1; guest >= 0 && hostOf(guest) == c; guest-- {
		if s.cur[guest] == old {
			s.cur[guest] = sp
		}
	}
}

// adopt makes the shard the owner of a fresh span, and the span the current one of
// its class.
func (s *shard) adopt(sp *span) {
	sp.owner.Store(s)
	s.setCur(int(sp.class), sp)
}

// file enters a span that has free slots into the list of its class, or moves
// it to the proper end of the list after a change.
func (s *shard) file(sp *span) {
	if sp.where == isCur {
		return
	}
	l := &s.spans[sp.class]
	if sp.where == isListed {
		if sp.used() != 0 {
			return
		}
		l.remove(sp)
	}
	l.push(sp)
	if sp.used() == 0 {
		s.idle += sp.units()
	} else {
		sp.most = max(sp.most, sp.used())
	}
}

// takeIdle unlinks all empty spans, but for one that is lent from, and returns them
// linked through next. They have no owner then, so that no section on this P takes one for
// its own, for a second free of what was in it, after it serves another.
func (s *shard) takeIdle() (idle *span) {
	for c := range s.spans {
		for sp := s.spans[c].back; sp != nil && sp.used() == 0; sp = s.spans[c].back {
			idle = s.disown(sp, idle)
		}
		if sp := s.own(c); sp != exhausted && sp.used() == 0 && !s.lends(sp) {
			idle = s.disown(sp, idle)
		}
	}
	return idle
}

// disown unlinks sp, which has no owner then, and links it in front of more. Until sp is
// removed, who frees what is or was in it waits for mu.
func (s *shard) disown(sp, more *span) *span {
	s.unlink(sp)
	sp.owner.Store(nobody)
	sp.next = more
	return sp
}

// unlink takes sp out of the shard's lists.
func (s *shard) unlink(sp *span) {
	switch sp.where {
	case isCur:
		s.swap(int(sp.class), sp, exhausted)
	case isListed:
		if sp.used() == 0 {
			s.idle -= sp.units()
		}
		s.spans[sp.class].remove(sp)
	}
	sp.moveTo(isFull)
}

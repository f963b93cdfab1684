package heap

import (
	"errors"
	"math"
)

// pause keeps every goroutine out of the shards until resume. Under mu.
func (h *Heap) pause() {
	if h.set.Load() != nil {
		h.publish(noShards)
		h.barrier(h.set.Load())
	}
}

func (h *Heap) resume() {
	if h.set.Load() != nil {
		h.publish(h.set.Load())
	}
}

// looksForBlock is how many chunks are looked at for a large block, about.
const looksForBlock = 16

// reclaimWorthwhile says whether so much of the mapped memory is neither in
// use nor free in the chunks that the shards must hold it, and so much was
// allocated since the last time that this one is paid for. A load that needs its
// spans again at once has the heap grow instead. To see that takes a look at each chunk,
// so for blocks of n bytes that get a chunk each it is done for one in some. Under mu.
func (h *Heap) reclaimWorthwhile(n int) bool {
	if h.set.Load() == nil {
		return false
	}
	total, _ := h.totals()
	least := uint64(min(h.mapped/2, maxChunk))
	if total-h.reclaimed < max(least, uint64(h.nchunks)*uint64(min(n, h.mapped))/looksForBlock) {
		return false
	}
	if h.slack() {
		return true
	}
	if n >= ownChunk {
		h.reclaimed = total
	}
	return false
}

// slack says whether much of the mapped memory is neither in use nor free in the
// chunks. Under mu.
func (h *Heap) slack() bool {
	total, freed := h.totals()
	taken := 0
	for _, c := range h.chunks {
		if c != nil {
			taken += c.size - c.place.FreeBytes()
		}
	}
	if r := h.releasing(); r != nil {
		for _, b := range r.taken {
			taken -= b.Size()
		}
	}
	return taken-int(total-freed) > max(idleLimit*spanUnit, h.mapped/8)
}

// reclaim takes in what was freed remotely, returns the empty spans of every
// shard to the chunks, and hands spans with free slots to the shard of the current P: all
// of those shards that have been quiet since the last time, half of the others. So the
// memory of a P that no longer runs this program's allocations is not lost, and a goroutine
// that goes from P to P does not leave its free slots behind on each.
// It also melts strips that are mostly dead, and says whether there may be more
// of them. Under mu.
func (h *Heap) reclaim() (more bool) {
	if h.set.Load() == nil {
		return false
	}
	h.reclaimed, _ = h.totals()
	unpin(h.pinLocked()) // which made the shard, if the P had none
	me := h.set.Load().byID[pinIndex()%len(h.set.Load().byID)]
	for h.pause(); h.gather(); h.pause() {
		h.resume()
	}
	h.lending = false
	for _, s := range h.set.Load().byID {
		if s == noShard {
			continue
		}
		if s.placed != h.placed {
			s.lent = 0
		}
		h.lending = h.lending || s.lent > 0 && s.lentAt == s.malloced
		h.dropSpans(s.takeIdle())
		if me != noShard && s != me {
			if s.malloced == s.seen {
				me.takeOver(s)
			} else { // all would have it grow the heap in turn
				me.takeHalf(s)
			}
		}
		s.seen = s.malloced
	}
	h.pass, h.unseen = h.pass+1, h.spanned[stripClass]/minStrip
	return h.meltPaused()
}

// meltPaused melts some of the strips of all shards that are mostly dead, ends the
// pause, and says whether there may be more of them. Under mu, with the heap paused.
func (h *Heap) meltPaused() (more bool) {
	var dead *span
	left := batch{pauseBatch, meltBatch}
	for _, s := range h.set.Load().byID {
		dead = h.freezeDead(s, dead, &left)
	}
	h.resume()
	h.dissolve(dead)
	// A shard that looks for itself may begin a new pass meanwhile, after which all strips
	// would be looked at again, and again.
	h.unseen -= pauseBatch - left.looks
	return left.done() && h.unseen > 0
}

// meltMore melts strips that reclaim or meltMore has left, with the same result. It
// lets go of mu before. Under mu.
func (h *Heap) meltMore() (more bool) {
	h.mu.Unlock()
	h.mu.Lock()
	if h.set.Load() == nil {
		return false
	}
	h.pause()
	return h.meltPaused()
}

// reclaimAll is reclaim until no strip is mostly dead.
func (h *Heap) reclaimAll() {
	for more := h.reclaim(); more; {
		more = h.meltMore()
	}
}

// takeHalf makes s the owner of every second span with free slots that from owns, but not of
// those that serve there, nor of strips, which have no room.
func (s *shard) takeHalf(from *shard) {
	for c := range stripClass {
		l := &from.spans[c]
		for sp := l.front; sp != nil && sp.next != nil; {
			next := sp.next.next
			s.takeListed(l, sp)
			sp = next
		}
	}
}

// takeOver makes s the owner of the spans with free slots that from owns.
func (s *shard) takeOver(from *shard) {
	for c := range from.spans {
		if sp := from.own(c); sp != exhausted && !from.lends(sp) {
			from.unlink(sp)
			if !sp.full() {
				from.file(sp)
			}
		}
		for l := &from.spans[c]; l.front != nil; {
			s.takeListed(l, l.front)
		}
	}
	from.idle = 0
}

// takeListed makes s the owner of sp, which is in the list l of another shard.
func (s *shard) takeListed(l *list, sp *span) {
	l.remove(sp)
	sp.owner.Store(s)
	s.file(sp)
}

// releaseIdle returns empty spans of the current P's shard to the chunks.
func (h *Heap) releaseIdle() {
	h.mu.Lock()
	h.dropIdle()
	_ = h.unlock(nil)
}

// dropIdle is releaseIdle for who holds mu.
func (h *Heap) dropIdle() {
	if h.set.Load() != nil {
		s := h.pinLocked()
		idle := s.takeIdle()
		unpin(s)
		h.dropSpans(idle)
		h.arm()
	}
}

// Trim gives back to the backing every chunk that holds no block, and of the others the
// pages that no block and no span needs.
func (h *Heap) Trim() error {
	h.mu.Lock()
	if h.debug != nil {
		h.evict(math.MaxInt, 0)
	}
	h.reclaimAll()
	h.dropEmpty(len(h.chunks), false)
	h.releaseAll()
	h.forgetSpares()
	return h.guardUnlock(h.unmapDead(nil))
}

// forgetSpares leaves the spans that are placed nowhere to the garbage collector:
// of small slots they are a quarter of the bytes that they were for. Under mu.
func (h *Heap) forgetSpares() {
	if h.sharing != nil {
		clear(h.spare[:])
	}
}

// dropEmpty removes up to most empty chunks and says how many it removed; unlock
// unmaps them. Those go first that nobody used in this period of the clock, and of
// these the newest. If one is to stay it does, unless it is too large for that. Under mu.
func (h *Heap) dropEmpty(most int, one bool) (dropped int) {
	h.retryStuck()
	lent := h.loan()
	stays := func(c *chunk) bool {
		return one && h.nempty == 1 && len(c.raw) <= h.staying()
	}
	empty := h.sortEmpty(func(a, b *chunk) int {
		if unused := a.used != h.period; unused == (b.used != h.period) {
			return byIndex(a, b)
		} else if unused {
			return 1
		}
		return -1
	})
	for i := len(empty) - 1; i >= 0 && dropped < most; i-- { // in whose place comes what stays
		if c := empty[i]; c != lent && !stays(c) {
			h.dropChunk(c)
			dropped++
		}
	}
	return dropped
}

// crowded says whether n bytes more would be more than a fifth above the most
// bytes that were live of late. Below that it is cheaper to keep empty chunks for
// the next time they are needed. Under mu.
func (h *Heap) crowded(n int) bool {
	total, freed := h.totals()
	h.high = max(h.high, int(total-freed))
	return h.mapped-h.high > h.high/5-n
}

// dropFor removes empty chunks of n bytes in all, to make place for one of that
// size, if there are so many; in a small heap also if there are half as many. Under mu.
func (h *Heap) dropFor(n int) bool {
	bytes, lent := 0, h.loan()
	empty := h.sortEmpty(byIndex)
	for _, c := range empty {
		if c != lent {
			bytes += len(c.raw)
		}
	}
	if bytes < n && (h.mapped >= fewBytes || bytes < n/2) {
		return false
	}
	for i := len(empty) - 1; i >= 0 && n > 0; i-- {
		if c := empty[i]; c != lent {
			h.dropChunk(c)
			n -= len(c.raw)
		}
	}
	return true
}

func (h *Heap) dropChunk(c *chunk) {
	if h.last == c {
		h.last = nil
	}
	h.chunks[c.index] = nil
	if h.table.remove(c) {
		h.table = newTable(h.chunks)
	}
	h.fits.set(c.index, 0)
	h.mapped -= len(c.raw)
	h.nchunks--
	h.notEmpty(c)
	h.bury(c)
}

// bury has flush unmap c. Under mu.
func (h *Heap) bury(c *chunk) {
	h.leave += len(c.raw)
	h.dead = append(h.dead, c.raw)
}

// retryStuck has flush try again what the source would not take. Under mu.
func (h *Heap) retryStuck() { h.dead, h.stuck = append(h.dead, h.stuck...), nil }

// unlock lets go of mu, after it has given back the mappings that are dead, for which
// mu is free as well. It returns err and not what the backing says: what that does not
// take may be what another call has dropped, and is tried again.
func (h *Heap) unlock(err error) error {
	if len(h.dead) > 0 {
		_, _ = h.flush()
	}
	h.mu.Unlock()
	return err
}

// unmapDead gives back what is dead, for the calls that tell what the backing said: it
// returns err, or that. Under mu.
func (h *Heap) unmapDead(err error) error {
	if len(h.dead) > 0 {
		if _, e := h.flush(); err == nil {
			err = e
		}
	}
	return err
}

// Reset gives everything back, live or not, and leaves the heap as new but
// for its totals. No other call may be under way.
func (h *Heap) Reset() error {
	h.mu.Lock()
	h.awaitRelease()
	err := h.guardUnlock(h.unmapDead(h.reset()))
	if h.cfg.Record != nil {
		h.cfg.Record.Reset()
	}
	return err
}

// Close is Reset, and from then on every call fails with ErrClosed; but as long as the
// source has not taken everything back another Close tries that again.
func (h *Heap) Close() error {
	h.mu.Lock()
	for h.awaitFlushes() || h.awaitRelease() { // what the source does not take is for this call to tell
	}
	if h.closed {
		if h.retryStuck(); len(h.dead) == 0 {
			return h.unlock(ErrClosed)
		}
		return h.unlock(h.unmapDead(nil))
	}
	leaks := h.leaks()
	err := h.reset()
	h.forgetSpares()
	h.closed = true
	if err = h.guardUnlock(h.unmapDead(err)); leaks != nil {
		err = errors.Join(leaks, err)
	}
	if h.cfg.Record != nil {
		if failed := h.cfg.Record.Close(); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (h *Heap) reset() error {
	err := h.guardReset()
	h.pause()
	if h.set.Load() != nil {
		h.dry = 0
		for _, s := range h.set.Load().byID {
			if s != noShard {
				s.drain() // a span that serves anew must not count as announced
				h.malloced += s.malloced
				h.freed += s.freed
				h.raced += s.raced
			}
		}
		h.hints.forget() // nobody notes a shard since the pause
		h.guess.forget()
	}
	h.freed = h.malloced
	h.set.Store(nil)
	h.solo = 0
	if h.sharing != nil {
		clear(h.spanned[:])
	}
	h.resume()
	h.retryStuck()
	for _, c := range h.chunks {
		if c != nil {
			h.bury(c)
		}
	}
	h.chunks, h.fits, h.last, h.lent = nil, tourney{}, nil, nil
	h.mapped, h.nchunks, h.nempty, h.nspans, h.low, h.high = 0, 0, 0, 0, 0, 0
	h.spans.Store(noSpans)
	h.table = &noChunks
	if h.maps != nil {
		h.maps.spans, h.maps.empty = noSpans, nil // through which the chunks would stay
	}
	return err
}

// totals are the bytes requested and given back so far. Under mu; the shards'
// share may be a few operations old.
func (h *Heap) totals() (malloced, freed uint64) {
	malloced, freed, _ = h.add(h.malloced, h.freed, h.raced)
	return malloced, freed
}

// add adds what the shards count.
func (h *Heap) add(malloced, freed, raced uint64) (_, _, _ uint64) {
	if set := h.set.Load(); set != nil {
		for _, s := range set.byID {
			if s != noShard {
				m, f, r := s.counts()
				malloced, freed, raced = malloced+m, freed+f, raced+r
			}
		}
	}
	return malloced, freed, raced
}

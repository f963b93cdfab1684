package heap

import (
	"time"
	"weak"
)

// tickPeriod is how long an empty chunk must have been empty before it goes
// back to the backing by itself.
const tickPeriod = 250 * time.Millisecond

// maxRests is for how many periods, at most, slack alone has the clock pause nobody.
const maxRests = 15

// arm starts the clock of the trimming policy, which keeps no heap alive that
// nobody has any more. Under mu.
func (h *Heap) arm() {
	if h.closed || h.ticking.Load() && !h.overdue() {
		return
	}
	h.ticking.Store(true)
	if h.maps != nil {
		h.maps.armed = time.Now().Round(0)
	}
	h.strikeIn(tickPeriod, (*Heap).tick)
}

// nap has the clock, which stops, look once more when what is free by now is cold, unless it
// is started before. Under mu.
func (h *Heap) nap() {
	if !h.closed && !h.ticking.Load() {
		h.strikeIn(coldPeriods*tickPeriod, func(h *Heap) {
			h.mu.Lock()
			h.period += coldPeriods
			h.mu.Unlock()
			h.tick()
		})
	}
}

// strikeIn has the clock strike after d, and not when it would have before. Under mu.
func (h *Heap) strikeIn(d time.Duration, strike func(h *Heap)) {
	h.low = h.nempty
	h.clock++
	self, clock := weak.Make(h), h.clock
	time.AfterFunc(d, func() {
		if h := self.Value(); h != nil && h.isClock(clock) {
			strike(h)
		}
	})
}

// isClock says whether clock is the one that was started last.
func (h *Heap) isClock(clock uint8) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return clock == h.clock
}

// overdue says, one time in 64, whether the tick that is on its way should have come long
// ago: a timer that was started in a bubble of testing/synctest never fires if the bubble
// ends before. The wall clock tells, which is in the year 2000 there. Under mu.
func (h *Heap) overdue() bool {
	h.asked++
	return h.asked%64 == 0 && h.maps != nil && !h.maps.armed.IsZero() && time.Since(h.maps.armed) > 8*tickPeriod
}

// wake starts the clock after a free that touched no chunk: the last slots of a
// load are freed without a lock, and maybe where nobody allocates any more.
func (h *Heap) wake() {
	if !h.ticking.Load() {
		h.startClock()
	}
}

//go:noinline
func (h *Heap) startClock() {
	h.mu.Lock()
	h.arm()
	h.mu.Unlock()
}

// tick unmaps as many chunks as nobody needed during the last period, but one: the
// low-water mark of empty chunks tells how many. While there is more to give it
// comes back.
func (h *Heap) tick() {
	h.mu.Lock()
	h.ticking.Store(false)
	if !h.closed {
		held := h.debugTick()
		low := h.low
		h.high -= h.high / 8
		total, freed := h.totals()
		quiet := total == h.ticked && freed == h.tickedFreed
		h.ticked, h.tickedFreed = total, freed
		if quiet && h.mayGo() || h.slackIsDue() {
			empty := h.nempty
			h.reclaimAll()
			h.looked(h.nempty > empty)
		}
		dropped := h.dropEmpty(low, true)
		if quiet || dropped > 0 {
			h.forgetSpares()
		}
		h.period++
		if h.sampler != nil {
			h.offer()
		}
		if more := h.releaseCold(); !quiet || dropped > 0 || h.nempty > min(low, 1) || held {
			h.arm()
		} else if more {
			h.nap()
		}
	}
	_ = h.guardUnlock(nil)
}

// mayGo says whether a chunk could become empty if the shards gave their spans back, and
// go: otherwise a heap that is quiet need not be paused. Under mu.
func (h *Heap) mayGo() bool {
	empty := h.nempty
	for _, c := range h.chunks {
		if c != nil && !c.idle && c.size-c.place.FreeBytes() == c.spanned {
			if empty++; empty > 1 || len(c.raw) > h.staying() {
				return true
			}
		}
	}
	return false
}

// slackIsDue says whether a heap in use is to be paused because of its slack: where that
// gained nothing before, only in every 2nd, 4th, 8th or 16th period. Under mu.
func (h *Heap) slackIsDue() bool {
	if h.rest > 0 {
		h.rest--
		return false
	}
	return h.slack()
}

// looked notes whether a pause of the clock's gained an empty chunk. Under mu.
func (h *Heap) looked(gained bool) {
	if gained {
		h.rests = 0
	} else {
		h.rests = min(2*h.rests+1, maxRests)
	}
	h.rest = h.rests
}

// staying is the size up to which the last empty chunk stays: no more than a small
// block ever has mapped.
func (h *Heap) staying() int { return max(maxChunk, h.cfg.Size) + spanUnit }

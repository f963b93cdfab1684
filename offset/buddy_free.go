package offset

import "slices"

// Free gives back [start, start+size): an allocation or any part of it, in
// any order. A unit becomes free with its last live byte; the units that a
// block holds beyond its request become free with the first part that is
// freed.
//
// It refuses, with a *RangeError and no change of state, a range that holds a
// byte that is not live (ErrDoubleFree, and a free or unused run is named), a
// range that leaves [0, Size()) or runs from an allocation into a live byte of
// the next (ErrNotOwned), and a size below 1 (ErrInvalidSize). A whole free is O(log
// Size()) and allocates at most one page of the table. A partial free is O(log Size() +
// live runs of that allocation) and makes a record.
func (b *Buddy) Free(start, size int) error {
	if unit := b.live(start); unit != nil && unit.length() == size {
		b.drop(start, unit)
		return nil
	}
	return b.freePart(start, size)
}

// FreeAt gives back the whole live block that starts at start. It returns false and
// changes nothing if there is none or a part of it was freed. O(log Size()); allocates at
// most one page of the table.
func (b *Buddy) FreeAt(start int) bool {
	unit := b.live(start)
	if unit == nil {
		return false
	}
	b.drop(start, unit)
	return true
}

// live is the entry of the live block that starts at start, nil if there is none
// or part of it was freed.
func (b *Buddy) live(start int) *buddyUnit {
	u := uint(start) >> (b.shift & 63)
	page := u / pageUnits
	if page >= uint(len(b.pages)) || b.pages[page] == nil || uint(start) != u<<(b.shift&63) {
		return nil
	}
	// The order is within its bits, so what is left above it is the kind alone.
	if unit := &b.pages[page][u%pageUnits]; unit.kind&^orderBits == kindLive {
		return unit
	}
	return nil
}

// drop frees the live block of this entry, which starts at start.
func (b *Buddy) drop(start int, unit *buddyUnit) {
	k := uint(unit.kind & orderBits)
	unit.kind = kindNone
	b.release(uint32(start>>(b.shift&63)), k)
}

// length is the length of a live block as requested.
func (u *buddyUnit) length() int { return int(uint64(u.b)<<32 | uint64(u.a)) }

// holding is the block that holds unit u: candidates are the aligned units at
// or below it. A free block has a kind of kindNone or kindLinked. O(log).
func (b *Buddy) holding(u uint32) (base uint32, k uint, unit buddyUnit) {
	for j := range uint(maxOrders) {
		base = u >> j << j
		if b.orders>>j&1 != 0 && b.top[j] == base {
			return base, j, buddyUnit{}
		}
		unit = b.at(base)
		if k = uint(unit.kind & orderBits); unit.kind != kindNone && (u-base)>>k == 0 {
			return base, k, unit
		}
	}
	return 0, maxOrders, buddyUnit{}
}

// runs is the live runs of the allocation that holds unit u, a view until the
// next call; nil if u is free.
func (b *Buddy) runs(u uint32) []Block {
	base, _, unit := b.holding(u)
	switch unit.kind &^ orderBits {
	case kindLive:
		start := int(base) << (b.shift & 63)
		b.whole[0] = Block{start, start + unit.length()}
		return b.whole[:]
	case kindPart:
		return b.parts[unit.a]
	}
	return nil
}

// deadAt is the run of bytes around pos that are not live, as far as the block
// or unit that holds pos tells; ok is false if pos is live.
func (b *Buddy) deadAt(pos int) (dead Block, ok bool) {
	u := uint32(uint(pos) >> (b.shift & 63))
	runs := b.runs(u)
	if runs == nil {
		base, k, _ := b.holding(u)
		start := int(base) << (b.shift & 63)
		return Block{start, start + 1<<(k+b.shift)}, true
	}
	i := firstEndingAfter(runs, pos)
	if i < len(runs) && runs[i].Start <= pos {
		return Block{}, false
	}
	dead = Block{int(u) << (b.shift & 63), int(u+1) << (b.shift & 63)}
	if i > 0 {
		dead.Start = max(dead.Start, runs[i-1].End)
	}
	if i < len(runs) {
		dead.End = min(dead.End, runs[i].Start)
	}
	return dead, true
}

// firstEndingAfter is the index of the first run that ends after pos.
func firstEndingAfter(runs []Block, pos int) int {
	i, _ := slices.BinarySearchFunc(runs, pos, func(r Block, pos int) int { return r.End - pos - 1 })
	return i
}

// freePart frees a range that is not a whole live block, or says why not.
func (b *Buddy) freePart(start, size int) error {
	if err := outside(start, size, b.Size()); err != nil {
		return err
	}
	end := start + size
	if dead, ok := b.deadAt(start); ok {
		return &RangeError{Block{start, end}, dead, ErrDoubleFree}
	}
	u := uint32(uint(start) >> (b.shift & 63))
	runs := b.runs(u)
	i := firstEndingAfter(runs, start)
	if edge := runs[i].End; edge < end {
		if dead, ok := b.deadAt(edge); ok {
			return &RangeError{Block{start, end}, dead, ErrDoubleFree}
		}
		return &RangeError{Range: Block{start, end}, Err: ErrNotOwned}
	}
	key := b.openParts(u, runs)
	runs = b.parts[key]
	b.dropUnits(key, runs, i, Block{start, end})
	var keep [2]Block
	rest := keep[:0]
	if r := runs[i]; r.Start < start {
		rest = append(rest, Block{r.Start, start})
	}
	if r := runs[i]; end < r.End {
		rest = append(rest, Block{end, r.End})
	}
	runs = slices.Replace(runs, i, i+1, rest...)
	b.parts[key] = runs
	if len(runs) == 0 {
		b.spare = append(b.spare, key)
	}
	return nil
}

// openParts makes the allocation that holds unit u one with an entry in parts,
// gives back what its block holds beyond the request, and returns its key.
func (b *Buddy) openParts(u uint32, runs []Block) (key uint32) {
	base, k, unit := b.holding(u)
	if unit.kind&^orderBits == kindPart {
		return unit.a
	}
	if n := len(b.spare); n > 0 {
		key = b.spare[n-1]
		b.spare = b.spare[:n-1]
	} else {
		key = uint32(len(b.parts))
		b.parts = append(b.parts, nil)
	}
	b.parts[key] = append(b.parts[key][:0], runs...)
	b.page(base)[base%pageUnits] = buddyUnit{}
	stop := base + uint32((uint(unit.length())-1)>>(b.shift&63)) + 1
	b.hold(base, stop, key)
	b.freeUnits(stop, base+1<<k)
	return key
}

// hold makes the units [from, to) blocks of the allocation of that key.
func (b *Buddy) hold(from, to, key uint32) {
	for from < to {
		k := alignedOrder(from, to)
		b.page(from)[from%pageUnits] = buddyUnit{kindPart | uint32(k), key, 0}
		from += 1 << k
	}
}

// dropUnits frees the units in which an allocation has live bytes now and will
// not once dead, a part of runs[i], is taken out.
func (b *Buddy) dropUnits(key uint32, runs []Block, i int, dead Block) {
	before, after := 0, b.Size() // the live bytes next to dead on either side
	if dead.Start > runs[i].Start {
		before = dead.Start
	} else if i > 0 {
		before = runs[i-1].End
	}
	if dead.End < runs[i].End {
		after = dead.End
	} else if i+1 < len(runs) {
		after = runs[i+1].Start
	}
	unit := b.MinBlock()
	u := uint32(uint(dead.Start) >> (b.shift & 63))
	if before > dead.Start&^(unit-1) {
		u++
	}
	stop := uint32(uint(dead.End-1)>>(b.shift&63)) + 1
	if after < int(stop)<<(b.shift&63) {
		stop--
	}
	for u < stop {
		base, k, _ := b.holding(u)
		end := base + 1<<k
		b.page(base)[base%pageUnits] = buddyUnit{}
		b.hold(base, u, key)
		b.hold(stop, end, key)
		b.freeUnits(u, min(end, stop))
		u = end
	}
}

// BlockSize is the requested length of the live block that starts at start;
// ok is false if there is none, or a part of it was freed. O(1).
func (b *Buddy) BlockSize(start int) (size int, ok bool) {
	unit := b.live(start)
	if unit == nil {
		return 0, false
	}
	return unit.length(), true
}

package offset

import (
	"fmt"
	"iter"
	"strings"
)

// All yields every run by ascending offset: the requested bytes of a held
// block, or those that are left of them, with true, and free runs, merged as
// far as they touch, with false. Bytes that a block holds beyond its request
// are in neither. The placement must not change meanwhile.
func (b *Buddy) All() iter.Seq2[Block, bool] {
	return func(yield func(Block, bool) bool) {
		free := Block{-1, -1}
		flush := func() bool {
			run := free
			free = Block{-1, -1}
			return run.Start < 0 || yield(run, false)
		}
		for block := range b.walk() {
			start := int(block.base) << (b.shift & 63)
			end := start + 1<<(block.order+b.shift)
			unit := block.unit
			switch unit.kind &^ orderBits {
			case kindLive:
				if !flush() || !yield(Block{start, start + unit.length()}, true) {
					return
				}
			case kindPart:
				if !flush() {
					return
				}
				runs := b.runs(block.base)
				for i := firstEndingAfter(runs, start); i < len(runs) && runs[i].Start < end; i++ {
					// A run over several blocks is told with the first.
					if runs[i].Start >= start && !yield(runs[i], true) {
						return
					}
				}
			default:
				if free.Start < 0 {
					free.Start = start
				}
				free.End = end
			}
		}
		flush()
	}
}

// A buddyBlock is one block, free or held.
type buddyBlock struct {
	base  uint32
	order uint
	unit  buddyUnit
}

// walk yields every block by ascending unit.
func (b *Buddy) walk() iter.Seq[buddyBlock] {
	return func(yield func(buddyBlock) bool) {
		for u := uint32(0); uint(u) < b.units; {
			base, k, unit := b.holding(u)
			if k >= maxOrders || base != u || !yield(buddyBlock{base, k, unit}) {
				return
			}
			u += 1 << k
		}
	}
}

// Blocks yields the free runs by ascending offset, merged as far as they
// touch. The placement must not change meanwhile.
func (b *Buddy) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for run, live := range b.All() {
			if !live && !yield(run) {
				return
			}
		}
	}
}

// String draws the layout: a line of summary, then every run by offset.
func (b *Buddy) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "buddy size=%d least=%d free=%d fits=%d", b.Size(), b.MinBlock(), b.free, b.Fits())
	drawBlocks(&s, b.All())
	return s.String()
}

// Verify checks every invariant in the type's comment and returns nil if all
// hold. O(blocks · log Size() + pages).
func (b *Buddy) Verify() error {
	if b.pages == nil && b.units == 0 && b.free == 0 {
		return nil
	}
	if b.shift >= 63 || b.units > maxGranules || uint(len(b.pages)) != b.pageCount() || b.orders>>maxOrders != 0 {
		return fmt.Errorf("buddy: table of %d pages, orders %#x do not match %d units", len(b.pages), b.orders, b.units)
	}
	free, err := b.verifyFree()
	if err != nil {
		return err
	}
	starts, freeUnits, held := 0, uint(0), make(map[uint32][]Block)
	next := uint(0)
	for block := range b.walk() {
		size := uint(1) << block.order
		if uint(block.base)&(size-1) != 0 || size > b.units-next {
			return fmt.Errorf("buddy: block of order %d at unit %d", block.order, block.base)
		}
		next += size
		if block.unit.kind != kindNone {
			starts++
		}
		switch block.unit.kind &^ orderBits {
		case kindLive:
			n := block.unit.length()
			if n <= 0 || b.order(n) != block.order || uint64(n)>>32 != uint64(block.unit.b) {
				return fmt.Errorf("buddy: %d live bytes in a block of order %d at unit %d", n, block.order, block.base)
			}
		case kindPart:
			start := int(block.base) << b.shift
			key := block.unit.a
			if uint(key) >= uint(len(b.parts)) || block.unit.b != 0 {
				return fmt.Errorf("buddy: block at unit %d is part of unknown allocation %d", block.base, key)
			}
			held[key] = append(held[key], Block{start, start + int(size<<b.shift)})
		case kindNone, kindLinked:
			freeUnits += size
			order, ok := free[block.base]
			if !ok || order != block.order {
				return fmt.Errorf("buddy: free block of order %d at unit %d is not filed", block.order, block.base)
			}
			if order, ok := free[block.base^uint32(size)]; ok && order == block.order {
				return fmt.Errorf("buddy: free buddies of order %d at unit %d", order, block.base)
			}
			delete(free, block.base)
		default:
			return fmt.Errorf("buddy: unit %d has kind %#x", block.base, block.unit.kind)
		}
	}
	switch {
	case next != b.units:
		return fmt.Errorf("buddy: no block starts at unit %d", next)
	case len(free) != 0:
		return fmt.Errorf("buddy: %d filed blocks are not free", len(free))
	case int(freeUnits<<b.shift) != b.free:
		return fmt.Errorf("buddy: %d bytes in free blocks, FreeBytes is %d", freeUnits<<b.shift, b.free)
	case starts != b.kinds():
		return fmt.Errorf("buddy: %d blocks in the table, %d known to it", starts, b.kinds())
	case len(held)+len(b.spare) != len(b.parts):
		return fmt.Errorf("buddy: %d allocations in part and %d spare keys of %d", len(held), len(b.spare), len(b.parts))
	}
	if err := b.verifyCut(); err != nil {
		return err
	}
	for _, key := range b.spare {
		if uint(key) >= uint(len(b.parts)) || len(b.parts[key]) > 0 {
			return fmt.Errorf("buddy: key %d is not spare", key)
		}
	}
	for key, blocks := range held {
		if err := b.verifyRuns(b.parts[key], blocks); err != nil {
			return fmt.Errorf("buddy: allocation %d: %w", key, err)
		}
	}
	return nil
}

// verifyFree checks the lists of free blocks and returns them with their order.
func (b *Buddy) verifyFree() (map[uint32]uint, error) {
	free := make(map[uint32]uint)
	for k := range uint(maxOrders) {
		if b.orders>>k&1 == 0 {
			if b.more[k] != noStart {
				return nil, fmt.Errorf("buddy: order %d is empty, but links unit %d", k, b.more[k])
			}
			continue
		}
		before := uint32(noStart)
		for u := b.top[k]; u != noStart; {
			if _, ok := free[u]; ok || uint(u) >= b.units {
				return nil, fmt.Errorf("buddy: unit %d is filed twice or out of range, order %d", u, k)
			}
			free[u] = k
			unit := b.at(u)
			if u == b.top[k] {
				if unit.kind != kindNone {
					return nil, fmt.Errorf("buddy: unit %d, first of order %d, has kind %#x", u, k, unit.kind)
				}
				u = b.more[k]
				continue
			}
			if unit.kind != kindLinked|uint32(k) || unit.b != before {
				return nil, fmt.Errorf("buddy: unit %d %+v in the list of order %d after unit %d", u, unit, k, before)
			}
			before, u = u, unit.a
		}
		if _, ok := free[b.top[k]]; !ok {
			return nil, fmt.Errorf("buddy: order %d names no unit", k)
		}
	}
	return free, nil
}

// verifyCut checks what is remembered of the last cut against sound lists.
func (b *Buddy) verifyCut() error {
	c := b.cut
	if c.from == maxOrders {
		return nil
	}
	if uint(c.unit) >= b.units || c.from > c.to || c.to >= maxOrders {
		return fmt.Errorf("buddy: the last cut %+v is none", c)
	}
	halves := uint32(1<<c.to - 1<<c.from)
	kind := b.at(c.unit).kind
	held := kind == kindLive|c.from || kind == kindPart|c.from
	switch {
	case held && b.orders&halves != halves:
		return fmt.Errorf("buddy: after the last cut %+v orders are %#x", c, b.orders)
	case !held && (b.orders>>c.to&1 == 0 || b.top[c.to] != c.unit || b.orders&halves != 0):
		return fmt.Errorf("buddy: after the last cut %+v was joined orders are %#x", c, b.orders)
	}
	for k := c.from; k < c.to; k++ {
		if b.top[k] != c.unit+1<<k || b.more[k] != noStart {
			return fmt.Errorf("buddy: the last cut %+v left no unit %d", c, c.unit+1<<k)
		}
	}
	return nil
}

// verifyRuns checks the live runs of an allocation against the blocks it holds.
func (b *Buddy) verifyRuns(runs, blocks []Block) error {
	unit := b.MinBlock()
	i := 0
	before := -1
	for _, r := range runs {
		if r.Start <= before || r.Start >= r.End {
			return fmt.Errorf("run %v after offset %d", r, before)
		}
		for pos := r.Start; pos < r.End; pos = blocks[i].End {
			for i < len(blocks) && blocks[i].End <= pos {
				i++
			}
			if i == len(blocks) || blocks[i].Start > pos {
				return fmt.Errorf("live byte %d is in no block", pos)
			}
		}
		before = r.End
	}
	for _, block := range blocks {
		for u := block.Start; u < block.End; {
			j := firstEndingAfter(runs, u)
			if j == len(runs) || runs[j].Start >= u+unit {
				return fmt.Errorf("unit at %d is held and has no live byte", u)
			}
			u = (runs[j].End + unit - 1) &^ (unit - 1)
		}
	}
	return nil
}

// kinds is the number of units at which the table says that a block starts.
func (b *Buddy) kinds() (n int) {
	for _, p := range b.pages {
		if p == nil {
			continue
		}
		for i := range p {
			if p[i].kind != kindNone {
				n++
			}
		}
	}
	return n
}

package offset

import (
	"fmt"
	"math/bits"
)

// Buddy places blocks of a power of two at a multiple of their size.
//
// The range is cut into units of the least block; order k is 2^k units. A
// range that is no power of two starts as the largest aligned blocks that
// cover it:
//
//	unit     0       4       8       12
//	        |       order 3 |o 2    |1  |0|     15 units, all free
//	        |L|0|1  |o 2    |o 2    |1  |0|     after Allocate of one unit
//
// Allocate takes a block of the smallest order that holds the request and has
// a free block, and halves it as long as the half still holds the request;
// Free joins a block with its buddy, the other half of the block they were cut
// from, as long as the buddy is free too. So a block is less than twice as
// large as its request, or one unit.
//
// The length of the request is remembered to the byte, and Free takes any part
// of it. The first free of a part starts an exact record of the live bytes;
// from then on the allocation holds only the units in which it has live bytes,
// in blocks as large as fit.
//
// One free block of each order is named in a separate array, and only further
// ones are linked in the table. So cutting the smallest block out of one large
// one, and joining it again, stays within two cache lines. The last cut is
// remembered, too: as long as nothing else happens, its block is joined and
// cut again without a look at the orders between.
//
// Invariants (Verify checks them):
//
//   - the blocks, free and held, cover the units without gap or overlap, and
//     each starts at a multiple of its size
//   - no free block's buddy is free with the same order
//   - bit k of orders is set exactly when a block of order k is free: top[k]
//     names one, more[k] links the others; without the bit more[k] is empty
//   - a live block is longer than half its size, or one unit
//   - if the last cut is remembered, top names the halves that it made: if its block is
//     held, they are the only free blocks of their orders, otherwise they are joined in
//     the first free block of the order that was cut
//   - parts has the live runs of every allocation freed in part, ascending and
//     apart, and the blocks it holds are the units with live bytes
//
// The accounting equation, in bytes, where bytes that are held only due to rounding
// count as in use:
//
//	FreeBytes() + Σ size of held blocks == Size()
//
// Sources: K. C. Knowlton, "A fast storage allocator", CACM 8 (1965);
// D. E. Knuth, The Art of Computer Programming, vol. 1, section 2.5.
//
// The table is allocated in pages, only where there are blocks, so an idle
// Buddy of any size is small. A Buddy must not be used by several goroutines
// at once.
type Buddy struct {
	shift  uint   // log2 of a unit
	units  uint   // units managed
	free   int    // bytes in free blocks
	orders uint32 // bit k: a block of order k is free

	top  [maxOrders]uint32 // a free block of each order in orders; else stale
	more [maxOrders]uint32 // the first of the further free ones, or noStart
	cut  buddyCut          // the last, if there was no other change since

	pages []*buddyPage // as far as the buddy of the last block may lie, beyond the range
	parts [][]Block    // the live runs of an allocation freed in part, by key
	spare []uint32     // the keys not in use, whose runs are empty
	whole [1]Block     // what runs returns for an allocation not in parts
}

var _ Allocator = (*Buddy)(nil)

const maxOrders = 31

// A buddyCut says that the block of order to at unit was cut down to order from.
type buddyCut struct {
	unit     uint32
	from, to uint32 // from is maxOrders when nothing is remembered
}

// A buddyUnit says what starts at a unit. Most say nothing.
type buddyUnit struct {
	kind uint32 // one of the kinds below, and the order
	a, b uint32 // linked: next, previous; live: length, low word, high word; part: key in parts
}

const (
	kindNone   = 0
	kindLinked = 1 << 8 // a free block in the list of more
	kindLive   = 2 << 8 // a live block
	kindPart   = 3 << 8 // a block of an allocation freed in part
	orderBits  = 0xff
)

const pageUnits = 1024

type buddyPage [pageUnits]buddyUnit

// NewBuddy returns a placement of size offsets in blocks of minBlock bytes and
// up; minBlock is a power of two. size is rounded down to a multiple of
// minBlock.
//
// Panics with ErrInvalidSize if size is negative or 2^31 units or more, or minBlock
// is not a power of two. It takes 8 bytes for each 1,024 units, so 16 MiB at most, and
// the time to clear them.
func NewBuddy(size, minBlock int) *Buddy {
	if minBlock <= 0 || minBlock&(minBlock-1) != 0 || size < 0 || size/minBlock > maxGranules {
		panic(fmt.Errorf("offset: NewBuddy(%d, %d): %w", size, minBlock, ErrInvalidSize))
	}
	b := &Buddy{shift: uint(bits.TrailingZeros(uint(minBlock))), units: uint(size / minBlock)}
	b.pages = make([]*buddyPage, b.pageCount())
	b.Reset()
	return b
}

// Size is the number of offsets managed: a multiple of the least block.
func (b *Buddy) Size() int { return int(b.units << (b.shift & 63)) }

// MinBlock is the size of the least block.
func (b *Buddy) MinBlock() int { return 1 << (b.shift & 63) }

// FreeBytes is the number of offsets in free blocks. O(1).
func (b *Buddy) FreeBytes() int { return b.free }

// Fits is the size of the largest free block, 0 if there is none. O(1).
func (b *Buddy) Fits() int {
	if b.orders == 0 {
		return 0
	}
	return 1 << (uint(bits.Len32(b.orders)-1) + b.shift)
}

// Reset makes everything free again and keeps the table. O(table).
func (b *Buddy) Reset() {
	for _, p := range b.pages {
		if p != nil {
			clear(p[:])
		}
	}
	for k := range b.more {
		b.more[k] = noStart
	}
	b.orders, b.free, b.cut.from, b.parts, b.spare = 0, 0, maxOrders, nil, nil
	b.freeUnits(0, uint32(b.units))
}

// order is the least order that holds size bytes; at least maxOrders when none
// does. Requires size > 0.
func (b *Buddy) order(size int) uint {
	return uint(bits.Len((uint(size) - 1) >> (b.shift & 63)))
}

// Allocate takes size bytes and returns the first offset, a multiple of the
// smallest block that holds size, or -1 if size is not positive or no block
// of that size is free. O(log Size()); allocates only a region's first page of the table.
func (b *Buddy) Allocate(size int) int { return b.take(size, 0) }

// AllocateAligned is Allocate with the first offset a multiple of align, which
// it takes from a free block of at least align bytes. It returns -1 also if
// align is not a power of two. O(log Size()).
func (b *Buddy) AllocateAligned(size, align int) int {
	if align <= 0 || align&(align-1) != 0 {
		return -1
	}
	return b.take(size, b.order(align))
}

// Find returns what Allocate(size) would return and takes nothing. O(1).
func (b *Buddy) Find(size int) int {
	if size <= 0 {
		return -1
	}
	k := b.order(size)
	m := b.orders >> (k & 31)
	if m == 0 || k >= maxOrders {
		return -1
	}
	k += uint(bits.TrailingZeros32(m))
	return int(b.top[k]) << (b.shift & 63)
}

// take cuts a block for size bytes from the low end of a free block of order at
// least from.
func (b *Buddy) take(size int, from uint) int {
	if size <= 0 {
		return -1
	}
	k := b.order(size)
	from = max(from, k)
	m := b.orders >> (from & 31)
	if m == 0 || from >= maxOrders {
		return -1
	}
	j := from + uint(bits.TrailingZeros32(m))
	u := b.top[j]
	b.page(u)[u%pageUnits] = buddyUnit{kindLive | uint32(k), uint32(size), uint32(uint64(size) >> 32)}
	b.free -= 1 << ((k + b.shift) & 63)
	if b.more[j] == noStart {
		b.orders &^= 1 << (j & 31)
	} else {
		b.popMore(j)
	}
	// The orders from here to below j are empty, or j would not be the least.
	b.orders |= 1<<(j&31) - 1<<(from&31)
	if cut := (buddyCut{u, uint32(from), uint32(j)}); b.cut != cut {
		b.cut = cut
		for i := from; i < j && i < maxOrders; i++ {
			b.top[i] = u + 1<<(i&31)
			if countSteps {
				stepCount++
			}
		}
	}
	if from > k { // an alignment that is larger than the block
		b.cut.from = maxOrders
		for from > k {
			from--
			b.push(u+1<<from, from)
		}
	}
	return int(u) << (b.shift & 63)
}

// page is the page of unit u, made at its first use.
func (b *Buddy) page(u uint32) *buddyPage {
	p := b.pages[u/pageUnits]
	if p == nil {
		p = new(buddyPage)
		b.pages[u/pageUnits] = p
	}
	return p
}

// at says what starts at unit u. That may be the buddy of the last block, beyond the
// range, where nothing starts.
func (b *Buddy) at(u uint32) buddyUnit {
	if p := b.pages[u/pageUnits]; p != nil {
		return p[u%pageUnits]
	}
	return buddyUnit{}
}

// pageCount is the number of pages of a range as large as the next power of two.
func (b *Buddy) pageCount() uint {
	if b.units == 0 {
		return 0
	}
	return (1<<bits.Len(b.units-1) + pageUnits - 1) / pageUnits
}

// push adds the free block u of order k, in front of those there are.
func (b *Buddy) push(u uint32, k uint) {
	if countSteps {
		stepCount++
	}
	if b.orders>>k&1 != 0 {
		b.linkMore(k)
	}
	b.orders |= 1 << k
	b.top[k] = u
}

// popMore names the first further free block of order k in top[k].
func (b *Buddy) popMore(k uint) {
	u := b.more[k]
	b.unlinkMore(u, k)
	b.top[k] = u
}

// linkMore puts the free block named in top[k] first in the list of order k.
func (b *Buddy) linkMore(k uint) {
	u, next := b.top[k], b.more[k]
	b.page(u)[u%pageUnits] = buddyUnit{kindLinked | uint32(k), next, noStart}
	if next != noStart {
		b.page(next)[next%pageUnits].b = u
	}
	b.more[k] = u
}

// unlinkMore takes free block u out of the list of order k.
func (b *Buddy) unlinkMore(u uint32, k uint) {
	unit := &b.page(u)[u%pageUnits]
	next, prev := unit.a, unit.b
	*unit = buddyUnit{}
	if next != noStart {
		b.page(next)[next%pageUnits].b = prev
	}
	if prev != noStart {
		b.page(prev)[prev%pageUnits].a = next
		return
	}
	b.more[k] = next
}

// release makes block u of order k free and joins it with its buddies.
func (b *Buddy) release(u uint32, k uint) {
	b.free += 1 << ((k + b.shift) & 63)
	orders := b.orders // those that still have a block
	if b.cut.unit == u && b.cut.from == uint32(k) {
		k = uint(b.cut.to)
		orders &^= 1<<(k&31) - 1<<(b.cut.from&31)
	} else {
		b.cut.from = maxOrders
	join:
		for ; k < maxOrders && orders>>(k&31)&1 != 0; k++ {
			if countSteps {
				stepCount++
			}
			other := u ^ 1<<(k&31)
			switch {
			case b.top[k] == other && b.more[k] == noStart:
				orders &^= 1 << (k & 31)
			case b.top[k] == other:
				b.popMore(k)
			case b.more[k] != noStart && b.at(other).kind == kindLinked|uint32(k):
				b.unlinkMore(other, k)
			default:
				break join
			}
			u &= other
		}
	}
	if orders>>(k&31)&1 != 0 {
		b.linkMore(k)
	}
	b.orders = orders | 1<<(k&31)
	b.top[k] = u
}

// freeUnits makes the units [from, to) free.
func (b *Buddy) freeUnits(from, to uint32) {
	for from < to {
		k := alignedOrder(from, to)
		b.release(from, k)
		from += 1 << k
	}
}

// alignedOrder is the order of the largest block that starts at unit from and
// ends by unit to.
func alignedOrder(from, to uint32) uint {
	return min(uint(bits.TrailingZeros32(from)), uint(bits.Len32(to-from))-1)
}

package gomem

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gomem-go/gomem/offset"
)

const (
	// MaxBlockSize is 4 MiB in bytes, the unit in which a Buddy is sized.
	MaxBlockSize = 1 << 22
	// BuddySize is the number of bytes that a Buddy manages: 512 MiB.
	BuddySize = MaxBlockSize << 7
	// MinPowerOf2 is the logarithm of the granule of a Buddy: 1 KiB.
	MinPowerOf2 = 10

	buddyGranules = BuddySize >> MinPowerOf2
)

// The errors of a [Buddy].
var (
	// InValidParameterErr: a size or an offset that no block can have.
	InValidParameterErr = errors.New("buddy: invalid parameter")
	// NotFoundErr: there is no block that large, or no block at that offset.
	NotFoundErr = errors.New("buddy: no such block")

	errBuddyTooLarge = fmt.Errorf("larger than the whole: %w: %w", InValidParameterErr, NotFoundErr)
)

// Buddy places blocks in a range of BuddySize bytes, in powers of two.
//
// Sizes and offsets count granules of 1<<MinPowerOf2 bytes:
//
//	granules := (bytes + 1<<MinPowerOf2 - 1) >> MinPowerOf2 // round up
//	at, err := b.Alloc(granules)                            // bytes [at<<MinPowerOf2, …)
//
// It manages offsets only: the memory they index is the caller's, and a Buddy
// takes a few KiB, plus 12 KiB for each MiB of offsets in which a block, live or
// free, has ever begun. The placement is offset.Buddy.
//
// Any goroutine may call any method. The zero value is a Buddy in which everything
// is free.
type Buddy struct {
	mu     sync.Mutex
	place  *offset.Buddy // nil before the first use; guarded by mu
	pooled bool          // in the list of buddies; guarded by its lock
}

// NewBuddy returns a buddy of BuddySize bytes, all free.
func NewBuddy() *Buddy {
	return &Buddy{place: offset.NewBuddy(buddyGranules, 1)}
}

// placement is the placement of b, whose lock is held.
func (b *Buddy) placement() *offset.Buddy {
	if b.place == nil {
		b.place = offset.NewBuddy(buddyGranules, 1)
	}
	return b.place
}

// Alloc takes a block of at least size granules, rounded up to a power of two,
// and returns its first granule, a multiple of that power.
//
// The error is [InValidParameterErr] for a size below 1, [NotFoundErr] if no
// block of that size is free, and one that wraps both for a size beyond that of the
// Buddy: compare with errors.Is. O(log BuddySize).
func (b *Buddy) Alloc(size int) (offset int, err error) {
	switch {
	case size <= 0:
		return 0, InValidParameterErr
	case size > buddyGranules:
		return 0, errBuddyTooLarge
	}
	b.mu.Lock()
	offset = b.placement().Allocate(size)
	b.mu.Unlock()
	if offset < 0 {
		return 0, NotFoundErr
	}
	return offset, nil
}

// Free gives back the block that starts at offset, as Alloc returned it.
//
// On error nothing changes. It is [InValidParameterErr] for an offset outside
// the range, and [NotFoundErr] if no live block starts at offset, because it is free
// already or inside a block. O(log BuddySize); allocates at most one page of 12 KiB.
func (b *Buddy) Free(offset int) error {
	if offset < 0 || offset >= buddyGranules {
		return InValidParameterErr
	}
	b.mu.Lock()
	found := b.placement().FreeAt(offset)
	b.mu.Unlock()
	if !found {
		return NotFoundErr
	}
	return nil
}

// idleBuddies is how many buddies without a block the list keeps at most.
const idleBuddies = 4

// buddies are those that were put back. A list and not a sync.Pool, which would
// lose a buddy, and the blocks in it, at the next collection.
var buddies struct {
	sync.Mutex
	list []*Buddy
}

// GetBuddy returns a buddy that was given to PutBuddy, with the blocks that
// are live in it, or a new one if there is none.
func GetBuddy() *Buddy {
	buddies.Lock()
	defer buddies.Unlock()
	n := len(buddies.list)
	if n == 0 {
		return NewBuddy()
	}
	b := buddies.list[n-1]
	buddies.list = slices.Delete(buddies.list, n-1, n)
	b.pooled = false
	return b
}

// PutBuddy makes b available to GetBuddy. Its live blocks stay live and can
// still be freed through b. A nil b, or one that was put already, is ignored.
// Only a few buddies without live blocks are kept; further ones are dropped.
func PutBuddy(b *Buddy) {
	if b == nil {
		return
	}
	buddies.Lock()
	defer buddies.Unlock()
	if b.pooled || b.idle() && len(buddies.list) >= idleBuddies && countIdle() >= idleBuddies {
		return
	}
	b.pooled = true
	buddies.list = append(buddies.list, b)
}

func (b *Buddy) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.placement().FreeBytes() == buddyGranules
}

func countIdle() int {
	n := 0
	for _, b := range buddies.list {
		if b.idle() {
			n++
		}
	}
	return n
}

// Package gomemtest finds leaks and misuse in the tests of programs that use
// package gomem.
//
//	func TestServer(t *testing.T) {
//		a := gomemtest.New(t)
//		serve(a)
//	} // fails if a block was not freed, freed twice, or written out of bounds
//
// A failure about a block comes with the stack of its allocation; one about memory that
// is not, or no longer, part of a block names the range. For a frame the stack is that of
// the read that fetched its block, whoever holds the frame. The use of a view after the
// next call of its reader goes unnoticed; a source that returns one byte at a time, such
// as iotest.OneByteReader, makes it visible.
//
// To test code that uses the default allocator, compare what is live before and after:
// gomem.NewBufReader(nil).Allocator.Stats().Live. For package lac see its DebugCheck, for
// package tlsf the Blocks of its Stats.
package gomemtest

import (
	"errors"
	"sync"
	"testing"

	"github.com/gomem-go/gomem"
)

// New returns an allocator in debug mode (see [gomem.WithDebug]) that fails t
// at each misuse and each damage, when it happens or is found. At the end of
// the test it closes itself and fails t if blocks are still live, naming them by the
// place of their allocation.
// opts are applied after its own options; WithMisuse takes the reports away from t.
//
// If the test itself closes the allocator, Close reports the live blocks as a
// [*gomem.LeakError] instead.
func New(t testing.TB, opts ...gomem.Option) *gomem.ScalableMemoryAllocator {
	t.Helper()
	r := &reporter{t: t}
	all := append([]gomem.Option{gomem.WithDebug(gomem.DebugOptions{}), gomem.WithMisuse(r.report)}, opts...)
	a := gomem.NewScalableMemoryAllocator(0, all...)
	t.Cleanup(func() {
		t.Helper()
		if err := a.Close(); err != nil && !errors.Is(err, gomem.ErrClosed) {
			t.Error(err)
		}
		r.end()
	})
	return a
}

// reporter passes reports on to a test until it ends: what a goroutine does
// that outlives the test must not fail another.
type reporter struct {
	mu sync.Mutex
	t  testing.TB
}

func (r *reporter) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t != nil {
		r.t.Error(err)
	}
}

func (r *reporter) end() {
	r.mu.Lock()
	r.t = nil
	r.mu.Unlock()
}

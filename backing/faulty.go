package backing

import (
	"errors"
	"fmt"
	"sync"
)

// Op is a method of [Source], for [Faulty].
type Op int

// The operations that a Faulty source can fail and counts.
const (
	OpMap Op = iota
	OpUnmap
	OpRelease
	ops
)

// String is the method's name.
func (o Op) String() string {
	names := [...]string{"Map", "Unmap", "Release"}
	if o < 0 || int(o) >= len(names) {
		return fmt.Sprintf("Op(%d)", int(o))
	}
	return names[o]
}

// Faulty is a [Source] for tests: it passes every call on to another source,
// makes chosen calls fail, counts them, and knows what is mapped, so that a
// test can put a fault at each call in turn and prove that nothing leaks.
// Whatever the source, it also refuses to unmap anything but a live mapping, and an empty
// mapping does not count as one. Safe for use by several goroutines. The zero value
// passes calls on to [Heap].
type Faulty struct {
	inner Source // nil: Heap

	mu    sync.Mutex
	calls [ops]int
	fault [ops]fault
	live  map[*byte]int // first byte of each mapping to its length
	bytes int
}

// forever is more calls than there will be, and as many again are still a number.
const forever = int(^uint(0)>>1) / 2

// fault says which calls to fail: from the from-th (0: none) up to the to-th.
type fault struct {
	from, to int
	err      error
}

// NewFaulty wraps inner; no call fails until Fail or FailFrom says so.
func NewFaulty(inner Source) *Faulty {
	return &Faulty{inner: inner}
}

func (f *Faulty) source() Source {
	if f.inner == nil {
		return Heap()
	}
	return f.inner
}

// Fail makes the k-th call of op from now on (1 is the next) fail, once, with
// err. The error of Map wraps both err and ErrOutOfMemory; a nil err stands for
// ErrOutOfMemory alone. Fail replaces an earlier Fail or FailFrom for the
// same op; k <= 0 only withdraws it.
func (f *Faulty) Fail(op Op, k int, err error) { f.order(op, k, k, err) }

// FailFrom is Fail for the k-th call and all later ones.
func (f *Faulty) FailFrom(op Op, k int, err error) {
	f.order(op, k, forever, err)
}

func (f *Faulty) order(op Op, from, to int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from <= 0 {
		f.fault[op] = fault{}
		return
	}
	done := f.calls[op]
	f.fault[op] = fault{from: done + min(from, forever), to: done + min(to, forever), err: err}
}

// Calls is how often op was called, failed calls included.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Live is the number of mappings that have not been unmapped, and their bytes.
func (f *Faulty) Live() (mappings, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.live), f.bytes
}

// Name is the inner source's.
func (f *Faulty) Name() string { return f.source().Name() }

// PageSize is the inner source's.
func (f *Faulty) PageSize() int { return f.source().PageSize() }

// call counts one call of op and returns the error it is to fail with.
// f.mu is held.
func (f *Faulty) call(op Op) error {
	f.calls[op]++
	at := f.fault[op]
	if at.from == 0 || f.calls[op] < at.from || f.calls[op] > at.to {
		return nil
	}
	err := at.err
	switch {
	case err == nil:
		err = ErrOutOfMemory
	case op == OpMap && !errors.Is(err, ErrOutOfMemory):
		err = fmt.Errorf("%w: %w", ErrOutOfMemory, err)
	}
	return fmt.Errorf("%v %d fails on request: %w", op, f.calls[op], err)
}

// Map implements [Source].
func (f *Faulty) Map(size int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(OpMap); err != nil {
		return nil, err
	}
	mem, err := f.source().Map(size)
	if err != nil || len(mem) == 0 {
		return nil, err
	}
	if f.live == nil {
		f.live = make(map[*byte]int)
	}
	f.live[&mem[0]] = len(mem)
	f.bytes += len(mem)
	return mem, nil
}

// Unmap implements [Source].
func (f *Faulty) Unmap(mem []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(OpUnmap); err != nil {
		return err
	}
	if len(mem) == 0 || f.live[&mem[0]] != len(mem) {
		return fmt.Errorf("unmap %d bytes: %w", len(mem), ErrNotMapped)
	}
	if err := f.source().Unmap(mem); err != nil {
		return err
	}
	delete(f.live, &mem[0])
	f.bytes -= len(mem)
	return nil
}

// Release implements [Source].
func (f *Faulty) Release(mem []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(OpRelease); err != nil {
		return err
	}
	return f.source().Release(mem)
}

// ReleaseUnit is the inner source's, for [ReleaseUnit].
func (f *Faulty) ReleaseUnit() int { return ReleaseUnit(f.source()) }

// Protect implements [Protector] if the inner source does.
func (f *Faulty) Protect(mem []byte) error {
	if p, ok := f.inner.(Protector); ok {
		return p.Protect(mem)
	}
	return errors.ErrUnsupported
}

// Unprotect implements [Protector] if the inner source does.
func (f *Faulty) Unprotect(mem []byte) error {
	if p, ok := f.inner.(Protector); ok {
		return p.Unprotect(mem)
	}
	return errors.ErrUnsupported
}

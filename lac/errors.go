package lac

import (
	"errors"
	"fmt"
	"log"
)

// The kinds of misuse; compare with errors.Is on the error passed to the
// function of [WithMisuse] or returned by [AllocatorPool.Err].
var (
	// ErrReleased: the handle is already released: this is a second Release,
	// one DecRef too many, or an allocation after the release.
	ErrReleased = errors.New("arena is released")
	// ErrHeld: Release was called while references taken by IncRef are
	// outstanding. The last DecRef gives the memory back.
	ErrHeld = errors.New("arena is still held")
	// ErrInvalidSize: a length or capacity that no slice can have. It is the
	// only misuse that panics, as make does.
	ErrInvalidSize = errors.New("invalid size")
	// ErrUnattached: an arena object holds a pointer to a Go heap object, or to one of
	// a released arena, that was not attached. Found in debug mode only.
	ErrUnattached = errors.New("unattached heap pointer")
	// ErrLeaked: DebugCheck found arenas that were not released.
	ErrLeaked = errors.New("arenas are not released")
	// ErrReferences: IncRef was called on a handle that has 2^31-1 references
	// already, as many as can be counted. No reference is taken.
	ErrReferences = errors.New("more references than can be counted")
)

// MisuseError says which call on which pool was wrong, and why.
type MisuseError struct {
	Pool string // name of the pool; empty for a nil *Allocator
	Op   string // the exported function that noticed
	Path string // type and field path, for ErrUnattached; how many, for ErrLeaked
	Err  error  // one of the errors of this package
}

// Error names pool, call, field path and reason in one line. O(1).
func (e *MisuseError) Error() string {
	where := ""
	switch {
	case e.Path == "":
	case e.Err == ErrLeaked:
		where = ": " + e.Path
	default:
		where = " in " + e.Path
	}
	return fmt.Sprintf("lac: pool %q: %s: %v%s", e.Pool, e.Op, e.Err, where)
}

// Unwrap returns the kind of misuse. O(1).
func (e *MisuseError) Unwrap() error { return e.Err }

// Logger receives one line per misuse.
type Logger interface {
	Errorf(format string, args ...any)
}

// unlent stands in for the pool of a handle that no pool lent.
var unlent AllocatorPool

// report counts a misuse and tells whoever asked to be told. It is called with
// no lock held and no P pinned, because it runs code of the user.
func (p *AllocatorPool) report(op string, kind error, path string) {
	if p == nil {
		p = &unlent
	}
	e := &MisuseError{Pool: p.name, Op: op, Path: path, Err: kind}
	p.misuses.Add(1)
	p.lastMisuse.Store(e)
	switch {
	case p.onMisuse != nil:
		p.onMisuse(e)
	case p.logger != nil:
		p.logger.Errorf("%v", e)
	default:
		log.Print(e)
	}
}

// Err returns the last misuse noticed on any arena of the pool as a
// [*MisuseError], or nil. O(1).
func (p *AllocatorPool) Err() error {
	if p == nil {
		return nil
	}
	if e := p.lastMisuse.Load(); e != nil {
		return e
	}
	return nil
}

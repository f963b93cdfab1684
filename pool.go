package gomem

import "sync"

// Pool is a [sync.Pool] of values of one type, best a pointer type: other values
// cost an allocation with each Put. Any goroutine may call Get and Put. The zero
// value is an empty pool without a constructor. A Pool must not be copied.
type Pool[T any] struct{ p sync.Pool }

// NewPool returns an empty pool with the constructor construct.
func NewPool[T any](construct func() T) *Pool[T] {
	p := new(Pool[T])
	p.SetNew(construct)
	return p
}

// Get takes a value out of the pool. If there is none it returns what the
// constructor returns, or without one the zero value.
func (p *Pool[T]) Get() T {
	v, _ := p.p.Get().(T)
	return v
}

// Put gives v to the pool, which may drop it.
func (p *Pool[T]) Put(v T) { p.p.Put(v) }

// SetNew sets the constructor; nil means none. Call it before the pool is shared. It is
// for constructors that refer to the pool's own variable.
func (p *Pool[T]) SetNew(construct func() T) {
	p.p.New = nil
	if construct != nil {
		p.p.New = func() any { return construct() }
	}
}

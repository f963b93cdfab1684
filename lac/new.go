package lac

import (
	"strings"
	"sync/atomic"
	"unsafe"
)

// roundUp rounds a size up to whole words.
func roundUp(n uintptr) uintptr { return (n + word - 1) &^ (word - 1) }

// cell has the size of a T rounded up to words: unlike roundUp, it costs the
// inliner nothing.
type cell[T any] struct {
	_ [0]atomic.Uint64
	_ T
}

// slowFunc allocates where bumping is not enough; newSlow makes one per type.
type slowFunc = func(*Allocator) unsafe.Pointer

// alloc is the whole fast path: it hands out n bytes of the window, or calls out. n
// is a positive multiple of word and at most maxAlloc. The slow path out, which is
// always elsewhere, is a parameter because the compiler rates the call of a
// parameter at a third of another call: so it inlines New and the scalars, and
// then, knowing what is called, elsewhere as well. Each is a method, because by a
// profile the compiler tests here whether a function was passed that is often called,
// with a copy of it in case, and then alloc and New are too long to be inlined.
func alloc(ac *Allocator, n uintptr, out func(*Allocator, uintptr, slowFunc) unsafe.Pointer, slow slowFunc) unsafe.Pointer {
	if ac != nil && ac.off+n <= ac.end {
		ac.off += n
		// Safety: the n bytes are free and zero in the chunk at base, which base
		// keeps alive; off is a multiple of 8, which suits every type.
		return unsafe.Add(ac.base, ac.off-n)
	}
	return out(ac, n, slow)
}

// none is a slow path that finds nothing, for sizes that only the caller knows.
func (*Allocator) none() unsafe.Pointer { return nil }

// put allocates a T of at most a word that holds v.
func put[T any](ac *Allocator, v T, slow slowFunc) *T {
	p := (*T)(alloc(ac, word, (*Allocator).elsewhere, slow))
	*p = v
	return p
}

// newFlat is newSlow for the types of put, which need no slab in a scanned arena.
//
//go:noinline
func newFlat[T any](ac *Allocator) unsafe.Pointer {
	if ac == nil {
		return unsafe.Pointer(new(T))
	}
	if p := ac.flat(word); p != nil {
		return p
	}
	return newSlow[T](ac)
}

// New allocates a T. The result is zeroed, aligned to 8 bytes and valid until
// the arena is released. It comes from the Go heap, aligned as there, if ac is nil or
// released (the latter is reported as [ErrReleased]). O(1): one compare and one add,
// inlined.
func New[T any](ac *Allocator) *T {
	return (*T)(alloc(ac, max(unsafe.Sizeof(cell[T]{}), word), (*Allocator).elsewhere, func(ac *Allocator) unsafe.Pointer {
		if ac == nil {
			return unsafe.Pointer(new(T))
		}
		// No more than this, which is copied to wherever New is called.
		return newSlow[T](ac)
	}))
}

// newSlow serves New when the window cannot: scanned arenas, the end of a
// window, the Go heap and debug mode.
//
//go:noinline
func newSlow[T any](ac *Allocator) unsafe.Pointer {
	size := unsafe.Sizeof(*(*T)(nil))
	if ac == nil || size == 0 {
		return unsafe.Pointer(new(T))
	}
	if t := ac.alone(); t != nil {
		if p := t.bump(typeID[T]()); p != nil {
			return p
		}
	}
	if p := ac.more(roundUp(size)); p != nil {
		return p
	}
	if p := unsafe.SliceData(makeTyped[T](ac, "New", 1)); p != nil {
		return unsafe.Pointer(p)
	}
	return unsafe.Pointer(new(T))
}

// makeTyped returns n zeroed elements of T in the arena, or nil if the handle
// was released. T has a size above 0, and n is positive.
func makeTyped[T any](ac *Allocator, op string, n int) []T {
	c := ac.alive(op)
	if c == nil {
		return nil
	}
	size := roundUp(unsafe.Sizeof(*(*T)(nil)) * uintptr(n))
	switch {
	case c.debug != nil:
		return makeDebug[T](c, n, size)
	case c.typed != nil:
		locked := c.lock()
		defer c.unlock(locked)
		if sl := slabOf[T](c); sl.scanned() {
			return take[T](sl, n)
		}
		return unsafe.Slice((*T)(c.take(size)), n)
	}
	return unsafe.Slice((*T)(ac.more(size)), n)
}

// NewFrom allocates a T and copies *src into it; src stays the caller's. With a
// nil ac the result is src itself. A nil src yields nil and allocates nothing,
// with any ac. O(size of T).
func NewFrom[T any](ac *Allocator, src *T) *T {
	if ac == nil || src == nil {
		return src
	}
	p := New[T](ac)
	*p = *src
	return p
}

// NewEnum allocates a T that holds v. O(1), inlined.
func NewEnum[T any](ac *Allocator, v T) *T {
	// A literal costs the inliner less than the name of a generic function.
	p := (*T)(alloc(ac, max(unsafe.Sizeof(cell[T]{}), word), (*Allocator).elsewhere, func(ac *Allocator) unsafe.Pointer {
		return newSlow[T](ac)
	}))
	*p = v
	return p
}

// NewSlice allocates a slice of the given length and capacity. The elements up to
// cap are zeroed and valid until the arena is released. It requires 0 <= len <=
// cap; otherwise, or if no address space could hold the slice, it panics with an
// error that wraps [ErrInvalidSize] and leaves the arena unchanged. That also
// holds for a nil ac. O(1), apart from the zeroing of reused memory.
func NewSlice[T any](ac *Allocator, len, cap int) []T {
	size := unsafe.Sizeof(*(*T)(nil))
	if len < 0 || cap < len || size > 0 && uintptr(cap) > maxAlloc/size {
		panic(ac.invalid("NewSlice"))
	}
	if ac == nil || size == 0 || cap == 0 {
		return make([]T, len, cap)
	}
	if p := (*T)(alloc(ac, roundUp(size*uintptr(cap)), (*Allocator).elsewhere, (*Allocator).none)); p != nil {
		return unsafe.Slice(p, cap)[:len]
	}
	if s := makeTyped[T](ac, "NewSlice", cap); s != nil {
		return s[:len]
	}
	return make([]T, len, cap)
}

func (ac *Allocator) invalid(op string) error {
	e := &MisuseError{Op: op, Err: ErrInvalidSize}
	if ac != nil && ac.pool != nil {
		e.Pool = ac.pool.name
	}
	return e
}

// Append appends v to s like the built-in, taking memory from the arena when the capacity
// is used up. The elements are then copied, and s, wherever it lies, shares nothing with
// the result. Amortized O(len(v)); one element within the capacity is a compare and a
// store, inlined.
func Append[T any](ac *Allocator, s []T, v ...T) []T { return appendOne(ac, s, v, appendAll[T]) }

// appendOne appends one element within the capacity, or takes the slow path,
// which is a parameter for the same reason as in alloc.
func appendOne[T any](ac *Allocator, s, v []T, out func(*Allocator, []T, []T) []T) []T {
	if len(v) == 1 && len(s) < cap(s) {
		return append(s, v[0])
	}
	return out(ac, s, v)
}

// appendAll is Append of any number of elements.
//
//go:noinline
func appendAll[T any](ac *Allocator, s, v []T) []T {
	n := len(s)
	if cap(s)-n < len(v) {
		if ac == nil {
			return append(s, v...)
		}
		s = grow(ac, s, len(v))
	}
	s = s[:n+len(v)]
	copy(s[n:], v)
	return s
}

// grow returns s with room for at least extra more elements.
func grow[T any](ac *Allocator, s []T, extra int) []T {
	size := unsafe.Sizeof(*(*T)(nil))
	need := len(s) + extra
	if size == 0 {
		return append(s, make([]T, extra)...)[:len(s)]
	}
	if need < 0 || uintptr(need) > maxAlloc/size {
		panic(ac.invalid("Append"))
	}
	// Doubling while small, then by a quarter, never below a cache line or two.
	c := cap(s)
	if c < 256 {
		c *= 2
	} else {
		c += c / 4
	}
	fill := max(word/int(size&-size), 1) // the last word is taken anyway
	c = (max(c, need, int(min(128/size, 16))) + fill - 1) &^ (fill - 1)
	if uintptr(c) > maxAlloc/size {
		c = need
	}
	ns := NewSlice[T](ac, len(s), c)
	copy(ns, s)
	return ns
}

// NewMap makes a map with room for cap entries. Maps live on the Go heap; the
// arena keeps this one alive until it is released. O(cap).
func NewMap[K comparable, V any](ac *Allocator, cap int) map[K]V {
	m := make(map[K]V, max(cap, 0))
	return Attach(ac, m)
}

// NewString copies v into the arena. The result is valid until the arena is
// released; with a nil ac it is v itself. O(len(v)).
func (ac *Allocator) NewString(v string) string {
	if ac == nil {
		return v
	}
	if v == "" {
		return "" // v itself may point to the Go heap
	}
	n := roundUp(uintptr(len(v)))
	p := (*byte)(alloc(ac, n, (*Allocator).elsewhere, (*Allocator).none))
	if p == nil {
		p = (*byte)(ac.flat(n))
	}
	if p == nil {
		p = unsafe.SliceData(NewSlice[byte](ac, len(v), len(v)))
	}
	// Safety: nobody else has the bytes, so they do not change any more.
	copy(unsafe.Slice(p, len(v)), v)
	return unsafe.String(p, len(v))
}

const (
	// stringFront is the size of a string's header in front of its bytes.
	stringFront = (unsafe.Sizeof("") + word - 1) &^ (word - 1)
	// shortText is the longest text that String copies itself, in bytes.
	shortText = 16
)

// String returns a pointer to a copy of v, both in the arena. O(len(v)).
func (ac *Allocator) String(v string) *string {
	n := len(v)
	// No string is so long that the sum overflows.
	size := stringFront + roundUp(uintptr(n))
	if uint(n-1) >= shortText {
		return ac.stringSlow(v, size)
	}
	// The texts of most fields are short, and calling for the copy takes as long as
	// the rest: two words that may overlap are up to 16 bytes.
	p := alloc(ac, size, (*Allocator).elsewhere, (*Allocator).none)
	if p == nil {
		return ac.stringSlow(v, size)
	}
	// Safety: the bytes of v follow the header.
	to, from := unsafe.Add(p, stringFront), unsafe.Pointer(unsafe.StringData(v))
	// Each case ends by itself: a jump to a common end takes as long as such a copy.
	s := (*stringHeader)(p)
	if n >= 8 {
		copyEnds[[8]byte](to, from, n)
		s.data, s.len = uintptr(to), n
		return (*string)(p)
	}
	if n >= 4 {
		copyEnds[[4]byte](to, from, n)
		s.data, s.len = uintptr(to), n
		return (*string)(p)
	}
	if n >= 2 {
		copyEnds[[2]byte](to, from, n)
		s.data, s.len = uintptr(to), n
		return (*string)(p)
	}
	*(*byte)(to) = *(*byte)(from)
	s.data, s.len = uintptr(to), n
	return (*string)(p)
}

// stringHeader is a string as runtime assumption 7 has it. It lies in the chunk that
// its bytes lie in, where the collector does not look, so its address needs no write
// barrier (runtime assumptions 4 and 5).
type stringHeader struct {
	data uintptr
	len  int
}

// stringSlow is String of longer texts and of the empty one, and serves it when the
// window has no room for size bytes.
//
//go:noinline
func (ac *Allocator) stringSlow(v string, size uintptr) *string {
	if len(v) <= maxAlloc {
		p := alloc(ac, size, (*Allocator).elsewhere, (*Allocator).none)
		if p == nil {
			p = ac.more(size)
		}
		if p != nil {
			s := (*string)(p)
			if v == "" {
				return s // what follows the header may be another object
			}
			// Safety: as in String.
			b := unsafe.Slice((*byte)(unsafe.Add(p, stringFront)), len(v))
			copy(b, v)
			*s = unsafe.String(unsafe.SliceData(b), len(b))
			return s
		}
	}
	if ac != nil && ac.alive("String") == nil {
		s := new(string)
		*s = strings.Clone(v) // v may be in the arena, and what is allocated now outlives it
		return s
	}
	s := (*string)(newSlow[string](ac))
	*s = ac.NewString(v)
	return s
}

// copyEnds copies the first and the last len(W) of n bytes. A W needs no alignment, unlike
// a number: not every processor reads one from any address.
func copyEnds[W [8]byte | [4]byte | [2]byte](to, from unsafe.Pointer, n int) {
	// Safety: n is at least the size of a W.
	at := n - int(unsafe.Sizeof(*(*W)(nil)))
	*(*W)(to) = *(*W)(from)
	*(*W)(unsafe.Add(to, at)) = *(*W)(unsafe.Add(from, at))
}

// The scalars of protobuf's first generated API: each returns a pointer to a
// copy of v in the arena, valid until it is released. O(1).

// Bool allocates a bool. O(1).
func (ac *Allocator) Bool(v bool) *bool { return put(ac, v, newFlat[bool]) }

// Int allocates an int. O(1).
func (ac *Allocator) Int(v int) *int { return put(ac, v, newFlat[int]) }

// Int32 allocates an int32. O(1).
func (ac *Allocator) Int32(v int32) *int32 { return put(ac, v, newFlat[int32]) }

// Uint32 allocates a uint32. O(1).
func (ac *Allocator) Uint32(v uint32) *uint32 { return put(ac, v, newFlat[uint32]) }

// Int64 allocates an int64. O(1).
func (ac *Allocator) Int64(v int64) *int64 { return put(ac, v, newFlat[int64]) }

// Uint64 allocates a uint64. O(1).
func (ac *Allocator) Uint64(v uint64) *uint64 { return put(ac, v, newFlat[uint64]) }

// Float32 allocates a float32. O(1).
func (ac *Allocator) Float32(v float32) *float32 { return put(ac, v, newFlat[float32]) }

// Float64 allocates a float64. O(1).
func (ac *Allocator) Float64(v float64) *float64 { return put(ac, v, newFlat[float64]) }

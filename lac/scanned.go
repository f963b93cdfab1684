package lac

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// typedSpace holds the objects with pointers of an arena in scanned mode: one
// slab of each type. Slabs are ordinary slices, so the collector scans them by
// type, write barriers work as everywhere, and an arena needs no rule of its own.
type typedSpace struct {
	cache [64]*slab // by hash of the type, the slab used last
	slabs map[unsafe.Pointer]*slab
	own   []*slab // those of types with pointers
}

// slab hands out elements of one type, if it has pointers from blocks of growing
// length, else from the arena's chunks.
type slab struct {
	typ    unsafe.Pointer // identity of the type
	size   uintptr        // of one element as it is handed out, in bytes: whole words
	from   *window        // where there is zero memory: free, or what is free of the current chunk
	free   window         // of the current block
	blocks []block        // all blocks, the current one last
	wipe   func(p unsafe.Pointer, bytes uintptr)
}

// scanned tells that the elements lie in blocks.
func (s *slab) scanned() bool { return s.from == &s.free }

// block is a slice of n elements by its address.
type block struct {
	p unsafe.Pointer
	n int
}

const (
	firstSlabBytes = 1 << 10
	maxSlabBytes   = 32 << 10
)

// typeID returns what identifies T.
func typeID[T any]() unsafe.Pointer {
	// Safety: the first word of a non-nil interface identifies its dynamic type
	// (runtime assumption 7).
	var probe any = (*T)(nil)
	return *(*unsafe.Pointer)(unsafe.Pointer(&probe))
}

// cached is where the slab of a type is remembered.
func (t *typedSpace) cached(id unsafe.Pointer) **slab { return &t.cache[uintptr(id)>>5%64] }

// alone returns the slabs of a scanned arena that one handle works on, or nil.
func (ac *Allocator) alone() *typedSpace {
	if c := ac.core; c != nil && atomic.LoadInt32(&ac.refs) > 0 {
		return c.single
	}
	return nil
}

// bump hands out a zeroed element of the type id if there is a slab with room for
// it, else nil. It is to be inlined.
func (t *typedSpace) bump(id unsafe.Pointer) unsafe.Pointer {
	if s := *t.cached(id); s != nil && s.typ == id {
		return s.from.bump(s.size)
	}
	return nil
}

// flat hands out n bytes for types without pointers, which need no slab, if one
// handle works on a scanned arena and there is room, else nil.
func (ac *Allocator) flat(n uintptr) unsafe.Pointer {
	if ac != nil && ac.alone() != nil {
		return ac.core.cur.bump(n)
	}
	return nil
}

// slabOf returns the slab of T, made at the first use. The caller has the core
// to itself.
func slabOf[T any](c *core) *slab {
	id := typeID[T]()
	t := c.typed
	slot := t.cached(id)
	if s := *slot; s != nil && s.typ == id {
		return s
	}
	s := t.slabs[id]
	if s == nil {
		s = &slab{typ: id, size: unsafe.Sizeof(*(*T)(nil))}
		if hasPointers(reflect.TypeFor[T]()) {
			s.from = &s.free
			if s.size%word != 0 {
				s.size *= 2 // half a word more, on 32-bit machines
			}
			s.wipe = func(p unsafe.Pointer, bytes uintptr) {
				// Here the size is a constant, and so the division is cheap.
				clear(unsafe.Slice((*T)(p), bytes/unsafe.Sizeof(*(*T)(nil))))
			}
			t.own = append(t.own, s)
		} else {
			s.from, s.size = &c.cur.window, roundUp(s.size)
		}
		if t.slabs == nil {
			t.slabs = map[unsafe.Pointer]*slab{}
		}
		t.slabs[id] = s
	}
	*slot = s
	return s
}

// take hands out n zeroed elements of a type with pointers.
func take[T any](s *slab, n int) []T {
	each := unsafe.Sizeof(*(*T)(nil))
	bytes := uintptr(n) * each
	if bytes%word != 0 {
		bytes += each // as in slabOf
	}
	p := s.free.bump(bytes)
	if p == nil {
		if bytes > maxSlabBytes {
			return make([]T, n)
		}
		length := int(max(firstSlabBytes/s.size, 1))
		if k := len(s.blocks); k > 0 {
			length = min(2*s.blocks[k-1].n, max(int(maxSlabBytes/s.size), 1))
		}
		b := make([]T, max(length, int(bytes/each)))
		s.blocks = append(s.blocks, block{unsafe.Pointer(unsafe.SliceData(b)), len(b)})
		s.free = window{unsafe.Pointer(unsafe.SliceData(b)), 0, uintptr(len(b)) * each}
		p = s.free.bump(bytes)
	}
	// Safety: the bytes of a block of T were free, zero and aligned for T.
	return unsafe.Slice((*T)(p), n)
}

// reset empties the slabs. The largest block of each stays for the next arena;
// clearing it also lets go of everything the objects pointed to.
func (t *typedSpace) reset() {
	kept := 0
	for _, s := range t.own {
		k := len(s.blocks)
		switch {
		case k == 0:
			// A type that the last arena did not use is forgotten.
			delete(t.slabs, s.typ)
			if slot := t.cached(s.typ); *slot == s {
				*slot = nil
			}
			continue
		case k == 1 && s.free.off == 0:
			s.blocks, s.free = nil, window{}
		default:
			s.wipe(s.free.base, s.free.off)
			s.free.off = 0
			if k > 1 {
				last := s.blocks[k-1]
				clear(s.blocks)
				s.blocks = append(s.blocks[:0], last)
			}
		}
		t.own[kept] = s
		kept++
	}
	clear(t.own[kept:])
	t.own = t.own[:kept]
}

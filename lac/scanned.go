package lac

import (
	"reflect"
	"unsafe"
)

// typedSpace holds the objects with pointers of an arena in scanned mode: one
// slab of each type. Slabs are ordinary slices, so the collector scans them by
// type, write barriers work as everywhere, and an arena needs no rule of its own.
type typedSpace struct {
	cache [64]*slab // by hash of the type, the slab used last
	slabs map[unsafe.Pointer]*slab
}

// slab hands out elements of one type from blocks of growing length.
type slab struct {
	typ      unsafe.Pointer // identity of the type
	pointers bool           // false: the type lies in the arena's chunks
	base     unsafe.Pointer // current block
	off, end uintptr        // free part of the current block, in bytes; zero memory
	size     uintptr        // of an element, in bytes
	blocks   []block        // all blocks, the current one last
	wipe     func(p unsafe.Pointer, n int)
}

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

// bump hands out one zeroed element of a type with pointers, or nil. The caller
// has the core to itself.
func (s *slab) bump() unsafe.Pointer {
	if s.end-s.off < s.size {
		return nil
	}
	s.off += s.size
	// Safety: the element lies in the block at base.
	return unsafe.Add(s.base, s.off-s.size)
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
		s = &slab{typ: id, pointers: hasPointers(reflect.TypeFor[T]()), size: unsafe.Sizeof(*(*T)(nil))}
		s.wipe = func(p unsafe.Pointer, n int) { clear(unsafe.Slice((*T)(p), n)) }
		if t.slabs == nil {
			t.slabs = map[unsafe.Pointer]*slab{}
		}
		t.slabs[id] = s
	}
	*slot = s
	return s
}

// take hands out n zeroed elements of the slab's type.
func take[T any](s *slab, n int) []T {
	bytes := uintptr(n) * s.size
	if s.end-s.off < bytes {
		if bytes > maxSlabBytes {
			return make([]T, n)
		}
		length := int(max(firstSlabBytes/s.size, 1))
		if k := len(s.blocks); k > 0 {
			length = min(2*s.blocks[k-1].n, max(int(maxSlabBytes/s.size), 1))
		}
		b := make([]T, max(length, n))
		s.blocks = append(s.blocks, block{unsafe.Pointer(unsafe.SliceData(b)), len(b)})
		s.base, s.off, s.end = unsafe.Pointer(unsafe.SliceData(b)), 0, uintptr(len(b))*s.size
	}
	p := unsafe.Add(s.base, s.off)
	s.off += bytes
	// Safety: [off, off+bytes) of a block of T was free, zero and aligned for T.
	return unsafe.Slice((*T)(p), n)
}

// reset empties the slabs. The largest block of each stays for the next arena;
// clearing it also lets go of everything the objects pointed to.
func (t *typedSpace) reset() {
	for id, s := range t.slabs {
		k := len(s.blocks)
		if k == 0 {
			if s.pointers {
				// A type that the last arena did not use is forgotten.
				delete(t.slabs, id)
				*t.cached(id) = nil
			}
			continue
		}
		if s.off == 0 && k == 1 {
			s.blocks, s.base, s.end = nil, nil, 0
			continue
		}
		s.wipe(s.base, int(s.off/s.size))
		last := s.blocks[k-1]
		clear(s.blocks)
		s.blocks = append(s.blocks[:0], last)
		s.off = 0
	}
}

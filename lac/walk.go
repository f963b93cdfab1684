package lac

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// maxFindings bounds the reports of one check, each path once: a bug in a loop
// is one bug.
const maxFindings = 64

// heapPageShift is the size of the pages the Go heap is made of.
const heapPageShift = 13

// extent is the addresses [lo, hi) of something attached, or of an arena.
type extent struct{ lo, hi uintptr }

func extentOf(b []byte) extent {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return extent{lo, lo + uintptr(len(b))}
}

// walker looks at every pointer of every object of an arena once. It does not
// follow them: what they point to is an object of its own, or attached, or
// found here. So cycles end and shared structures cost nothing.
type walker struct {
	rec      *recorder
	ranges   []extent // attached addresses, sorted and disjoint
	arenas   []extent // all arenas in debug mode, once that was asked
	gone     []extent // those that are released, likewise
	pointers map[reflect.Type]bool
	path     []string
	findings []string
	looked   int // pointers looked at
}

// inspect looks at every object of an arena in debug mode.
func (c *core) inspect() *walker {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &walker{rec: c.debug, pointers: map[reflect.Type]bool{}}
	w.know(&c.attached)
	w.know(&c.pool.known.attached)
	w.ranges = mergeExtents(w.ranges)
	for _, o := range c.debug.objects {
		if !w.follow(o.typ) {
			continue
		}
		for i := range o.n {
			name := o.typ.String()
			if o.n > 1 {
				name = "[]" + name + "[" + strconv.Itoa(i) + "]"
			}
			w.path = append(w.path[:0], name)
			w.walk(unsafe.Add(o.p, uintptr(i)*o.typ.Size()), o.typ)
		}
	}
	return w
}

// know notes the addresses of attached objects: from the start of the object, as
// far as that is known, to the end of what was attached of it.
func (w *walker) know(as *attachments) {
	for _, a := range as.pointers {
		lo, hi := uintptr(a.p), uintptr(a.p)+max(a.size, 1)
		if inGoHeap(lo) {
			if base := heapObject(lo); base != 0 {
				lo = base
			}
		}
		w.ranges = append(w.ranges, extent{lo, hi})
	}
}

// mergeExtents sorts extents and merges those that overlap.
func mergeExtents(all []extent) []extent {
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.lo, b.lo) })
	out := all[:0]
	for _, e := range all {
		if n := len(out); n > 0 && e.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, e.hi)
			continue
		}
		out = append(out, e)
	}
	return out
}

// liveBlocks returns the memory of all live arenas in debug mode.
func liveBlocks() (all []extent) {
	debugBlocks.Range(func(base, size any) bool {
		lo := uintptr(base.(unsafe.Pointer))
		all = append(all, extent{lo, lo + size.(uintptr)})
		return true
	})
	return mergeExtents(all)
}

// extentAt returns the last extent that begins at a or in front of it, if there is one,
// and tells whether a lies in it.
func extentAt(all []extent, a uintptr) (e *extent, in bool) {
	i, found := slices.BinarySearchFunc(all, a, func(e extent, a uintptr) int { return cmp.Compare(e.lo, a) })
	if !found {
		i--
	}
	if i < 0 {
		return nil, false
	}
	return &all[i], a < all[i].hi
}

// follow is hasPointers with a memory.
func (w *walker) follow(t reflect.Type) bool {
	has, ok := w.pointers[t]
	if !ok {
		has = hasPointers(t)
		w.pointers[t] = has
	}
	return has
}

// walk looks at the value of type t at p.
func (w *walker) walk(p unsafe.Pointer, t reflect.Type) {
	// Safety: p is a live object of the arena of type t, so each field below has
	// the type it is read as, laid out as runtime assumption 7 says. Words are read
	// as integers, because what they point to may be gone.
	word := func(i uintptr) uintptr { return *(*uintptr)(unsafe.Add(p, i*unsafe.Sizeof(uintptr(0)))) }
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.UnsafePointer:
		w.pointer(word(0))
	case reflect.Func, reflect.String: // an empty string has a pointer as well
		if exactHeap {
			w.pointer(word(0))
		}
	case reflect.Slice:
		if exactHeap || word(2) > 0 {
			w.pointer(word(0))
		}
	case reflect.Interface:
		if exactHeap { // a nil one has a nil value
			w.pointer(word(1))
		}
	case reflect.Struct:
		for f := range t.Fields() {
			if w.follow(f.Type) {
				w.path = append(w.path, ".", f.Name)
				w.walk(unsafe.Add(p, f.Offset), f.Type)
				w.path = w.path[:len(w.path)-2]
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			w.path = append(w.path, "[", strconv.Itoa(i), "]")
			w.walk(unsafe.Add(p, uintptr(i)*t.Elem().Size()), t.Elem())
			w.path = w.path[:len(w.path)-3]
		}
	}
}

// released tells whether a lies in an arena that is released.
func (w *walker) released(a uintptr) bool {
	if !graves.near(a) {
		return false
	}
	if w.gone == nil {
		w.gone = graves.extents()
	}
	_, in := extentAt(w.gone, a)
	return in
}

// pointer records a finding if a is the address of an unattached object, of the heap or
// of a released arena.
func (w *walker) pointer(a uintptr) {
	w.looked++
	if a == 0 || w.rec.owns(a) || a == uintptr(unsafe.Pointer(w.rec.handle)) || !inGoHeap(a) && !w.released(a) {
		return
	}
	e, in := extentAt(w.ranges, a)
	if in {
		return
	}
	// Another part of an attached object. How many pages such an object has the
	// runtime does not tell, so what is farther away is reported.
	if e != nil && (e.hi-1)>>heapPageShift == a>>heapPageShift && sameObject(e.hi-1, a) {
		e.hi = a + 1
		return
	}
	if w.arenas == nil {
		w.arenas = liveBlocks()
	}
	if _, in := extentAt(w.arenas, a); in {
		return
	}
	if path := strings.Join(w.path, ""); len(w.findings) < maxFindings && !slices.Contains(w.findings, path) {
		w.findings = append(w.findings, path)
	}
}

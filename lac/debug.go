package lac

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

const (
	// graveBytes bounds the address space of released debug arenas, of all pools,
	// that stays inaccessible; the oldest go first.
	graveBytes = 256 << 20
	// poison fills released debug memory that cannot be made inaccessible. Read
	// as a pointer it is not a valid address.
	poison = 0xdb
)

// recorder is what an arena knows in debug mode: every object with its type,
// and memory that no other arena ever uses.
type recorder struct {
	objects []object
	mapped  [][]byte // blocks of the guarded source
	heap    []chunk  // blocks of the Go heap, where there is no such source
	win     window
	slabs   []func() // each zeroes objects of a scanned arena
	handle  *Allocator
}

// holding has the pools with a live arena in debug mode. The objects of one may lie
// where no pointer to them keeps anything alive, and what they point to has to
// stay, whoever dropped the pool.
var holding sync.Map

// object is n values of one type at p.
type object struct {
	p   unsafe.Pointer
	typ reflect.Type
	n   int
}

// debugBlocks has the size of each block of a live debug arena by its address.
var debugBlocks sync.Map

// graves has the blocks of all pools: those of a dropped pool go in their turn, too.
var graves graveyard

// graveyard keeps the pages of released arenas inaccessible.
type graveyard struct {
	mu     sync.Mutex
	blocks [][]byte
	bytes  int
	reach  extent // from the lowest block to the highest, since there were none
}

// makeDebug is makeTyped in debug mode.
func makeDebug[T any](c *core, n int, size uintptr) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.typed != nil {
		if sl := slabOf[T](c); sl.scanned() {
			s := take[T](sl, n)
			c.debug.slabs = append(c.debug.slabs, func() { clear(s) })
			return s
		}
	}
	p := c.debug.take(size)
	c.debug.objects = append(c.debug.objects, object{p, reflect.TypeFor[T](), n})
	// Safety: take returned size zero bytes, enough for n of T.
	return unsafe.Slice((*T)(p), n)
}

// take hands out n zero bytes. Blocks double, so an arena has few of them.
func (r *recorder) take(n uintptr) unsafe.Pointer {
	if p := r.win.bump(n); p != nil {
		return p
	}
	size := uintptr(defaultChunkSize) << min(len(r.mapped)+len(r.heap), 8)
	size = max(size, (n+pageSize-1)&^(pageSize-1))
	if src, protector := guarded(); protector != nil {
		if mem, err := src.Map(int(size)); err == nil {
			r.mapped = append(r.mapped, mem)
			r.win = window{unsafe.Pointer(unsafe.SliceData(mem)), 0, size}
			debugBlocks.Store(r.win.base, size)
			return r.win.bump(n)
		}
	}
	ch := newChunk(size + header)
	r.heap = append(r.heap, ch)
	debugBlocks.Store(ch.base, ch.size)
	r.win = window{ch.base, header, ch.size}
	return r.win.bump(n)
}

// owns tells whether p points into the arena.
func (r *recorder) owns(p uintptr) bool {
	for _, b := range r.mapped {
		if p-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b)) {
			return true
		}
	}
	for _, b := range r.heap {
		if p-uintptr(b.base) < b.size {
			return true
		}
	}
	return false
}

// EnableDebugMode switches debug mode on or off for the arenas lent from now on.
// In debug mode an arena records its objects, finds unattached pointers to the Go heap
// and into released arenas at Release, and its memory is never used again: an access
// after the release faults where pages can be protected, and reads poison elsewhere. A
// pointer to the handle that Get returned may be stored without Attach. Debug mode is slow, and
// an arena dropped without a release is never given back, because the objects that
// it points to must stay alive. Objects with pointers in a scanned arena are zeroed
// at the release, and not checked, since they need no Attach. Built with the tag
// gomem_portable, debug mode cannot tell a constant or a package variable from an object
// on the Go heap: it finds no unattached strings, functions and values in interfaces. It
// reports the address of a package variable that is not attached, and a pointer to any
// part of an object except the attached one.
//
// If only a part of a large object was attached, a pointer more than 8 KiB past that
// part is reported as unattached, for example if one element of a long slice was
// attached and the pointer is to another: attach the slice. Pointers to objects of
// other live arenas in debug mode are not checked: it is not known which arena is
// meant to live longer, and following one after that arena's release faults. A pointer
// into a released arena is not found while it is overwritten, but by the next check if it
// is still there; 256 MiB of released arenas later it is no longer found.
func (p *AllocatorPool) EnableDebugMode(on bool) {
	if p == nil {
		return
	}
	p.debugOn.Store(on)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shards.Load() == nil {
		p.prepare(defaults())
	}
	p.seats.clear(true)
	p.renewShards()
	clear(p.idle)
	p.idle, p.idleLow = p.idle[:0], 0
}

// releaseDebug buries the memory of a claimed arena and reports what it held.
func (p *AllocatorPool) releaseDebug(c *core) {
	found := c.unattached()
	p.bury(c)
	// Last, as the user's function may panic.
	p.reportAll("Release", found)
}

// bury takes an arena and its memory out of use.
func (p *AllocatorPool) bury(c *core) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.live, c); len(p.live) == 0 {
		holding.Delete(p)
	}
	// DebugCheck may be looking at the objects.
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wipe := range c.debug.slabs {
		wipe()
	}
	for _, b := range c.debug.heap {
		// Safety: the data part of a chunk that the arena owned alone.
		data := unsafe.Slice((*byte)(unsafe.Add(b.base, header)), b.size-header)
		for i := range data {
			data[i] = poison
		}
		debugBlocks.Delete(b.base)
	}
	src, protector := guarded()
	for _, b := range c.debug.mapped {
		debugBlocks.Delete(unsafe.Pointer(unsafe.SliceData(b)))
		graves.bury(b, src, protector)
	}
	*c.debug, c.attached = recorder{}, attachments{}
}

// bury makes a block inaccessible, and unmaps the oldest beyond the bound. A
// block that the system refuses to protect is unmapped at once, which makes it
// as inaccessible.
func (g *graveyard) bury(b []byte, src backing.Source, protector backing.Protector) {
	gone := [][]byte{b}
	if protector.Protect(b) == nil {
		gone = g.add(b)
	}
	for _, old := range gone {
		_ = src.Unmap(old)
	}
}

// add keeps b and returns the oldest beyond the bound, which it keeps no more.
func (g *graveyard) add(b []byte) (gone [][]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := extentOf(b)
	if len(g.blocks) == 0 {
		g.reach = at
	}
	g.reach = extent{min(g.reach.lo, at.lo), max(g.reach.hi, at.hi)}
	g.blocks = append(g.blocks, b)
	g.bytes += len(b)
	for g.bytes > graveBytes {
		gone = append(gone, g.blocks[0])
		g.bytes -= len(g.blocks[0])
		g.blocks[0] = nil
		g.blocks = g.blocks[1:]
	}
	return gone
}

// extents returns the memory of the released arenas that are known.
func (g *graveyard) extents() (all []extent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.blocks {
		all = append(all, extentOf(b))
	}
	return mergeExtents(all)
}

// near is false for most addresses that lie in no released arena, such as those of
// constants: to look for each of them among all the blocks would take too long.
func (g *graveyard) near(a uintptr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return a >= g.reach.lo && a < g.reach.hi
}

// CheckExternalPointers looks in every object of an arena in debug mode for pointers to
// Go heap objects, or to objects of released arenas, that were not attached. It reports
// each as [ErrUnattached] with type and field path. Out of debug mode it does nothing. It
// requires that no goroutine writes to the objects meanwhile. O(bytes of the objects with
// pointers).
func (ac *Allocator) CheckExternalPointers() {
	if ac == nil {
		return
	}
	if c := ac.alive("CheckExternalPointers"); c != nil && c.debug != nil {
		c.pool.reportAll("CheckExternalPointers", c.unattached())
	}
}

// DebugCheck reports, as [ErrLeaked], how many arenas of the pool were lent and not
// released, in debug mode or not, and runs CheckExternalPointers on each of them that is in
// debug mode. Call it where all should be released, such as at the end of a test. It
// requires that no goroutine writes to their objects meanwhile; arenas may be lent and
// released.
func (p *AllocatorPool) DebugCheck() {
	if p == nil {
		return
	}
	if s := p.Stats(); s.Gets > s.Releases {
		p.report("DebugCheck", ErrLeaked, fmt.Sprintf("%d of %d", s.Gets-s.Releases, s.Gets))
	}
	p.mu.Lock()
	live := make([]*core, 0, len(p.live))
	for c := range p.live {
		live = append(live, c)
	}
	p.mu.Unlock()
	for _, c := range live {
		p.reportAll("DebugCheck", c.unattached())
	}
}

// unattached is where the unattached pointers of an arena are.
func (c *core) unattached() []string {
	if c.typed != nil {
		return nil // the collector sees every pointer of a scanned arena
	}
	return c.inspect().findings
}

// reportAll reports unattached pointers.
func (p *AllocatorPool) reportAll(op string, paths []string) {
	for _, path := range paths {
		p.report(op, ErrUnattached, path)
	}
}

package lac

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// DisableAllLac makes every Get return nil, so that all allocation falls back to
// the Go heap: a switch for finding out whether an arena is to blame. Set it
// before the first Get.
var DisableAllLac = false

const (
	defaultChunkSize = 64 << 10
	minChunkSize     = 512
	maxChunkSize     = 256 << 20
	// shardCores is how many idle arenas a processor keeps at hand.
	shardCores = 8
	// slabLen is how many handles a processor has in turn.
	slabLen = 128
)

// AllocatorPool lends arenas out and keeps their memory between two lives. It is
// safe for use by several goroutines.
//
//	Get: arena released last -> own shard -> handles sent home -> shared list -> new core
//
// Each processor has a shard with a few idle cores, reached without a lock; the
// rest of the idle cores and the idle chunks are shared under locks.
type AllocatorPool struct {
	name      string
	logger    Logger
	onMisuse  func(error)
	chunkSize uintptr
	idleCap   int // idle cores beside those in the shards
	scanned   bool
	known     core // holds what WithAttached names; no arena

	shards  atomic.Pointer[shards]
	debugOn atomic.Bool
	cores   atomic.Int64 // cores made
	// oldReleases counts the releases by the general way, and those of shards
	// that were replaced.
	oldReleases atomic.Uint64
	misuses     atomic.Int64
	lastMisuse  atomic.Pointer[MisuseError]

	store store

	epoch atomic.Uint32 // collections seen

	mu       sync.Mutex
	idle     []*core
	idleLow  int // fewest idle cores since the last collection
	watched  bool
	lastGets uint64
	oldGets  uint64             // counts of the shards before prev
	prev     shards             // the shards replaced last
	live     map[*core]struct{} // arenas in debug mode
	graves   graveyard
}

// shard is what one processor owns of a pool.
type shard struct {
	_        [0]atomic.Uint64 // aligns the counters on 32-bit machines
	gets     uint64
	releases uint64
	//lint:ignore U1000 only the portable form locks
	lock shardLock

	idle  int
	next  uint    // handle of the slab to use next
	last  uintptr // address of the handle lent last, only compared
	born  uint32  // epoch of the slab
	slab  *[slabLen]Allocator
	cores [shardCores]*core
	inbox atomic.Pointer[returned]
	_     [64]byte // keeps two shards off one cache line
}

// shards is one shard per processor.
type shards []shard

// counts adds up the shards.
func (list shards) counts() (gets, releases uint64) {
	for i := range list {
		gets += list[i].read(&list[i].gets)
		releases += list[i].read(&list[i].releases) + list[i].waiting()
	}
	return gets, releases
}

// NewPool makes a pool with the given options. O(1) beside the chunks asked
// for by [WithIdleChunks].
func NewPool(name string, opts ...Option) *AllocatorPool {
	s := settings{lacCap: 256, chunkSize: defaultChunkSize, maxIdle: 1024}
	for _, o := range opts {
		o(&s)
	}
	if s.chunkSize <= 0 {
		s.chunkSize = defaultChunkSize
	}
	p := &AllocatorPool{
		name: name, logger: s.logger, onMisuse: s.onMisuse, scanned: s.scanned,
		chunkSize: uintptr(min(max(s.chunkSize, minChunkSize), maxChunkSize)+word-1) &^ (word - 1),
		idleCap:   max(s.lacCap, 0),
	}
	p.store.bins = map[uintptr]*bin{}
	p.store.limit = uintptr(min(int64(max(s.maxIdle, s.chunks, 0))*int64(p.chunkSize), maxAlloc))
	p.store.bin(p.chunkSize).keep = max(s.chunks, 0)
	for range s.chunks {
		p.store.created++
		p.store.put([]chunk{newChunk(p.chunkSize)})
	}
	p.known.debug = &recorder{}
	for _, v := range s.attached {
		p.known.attach(v, true)
	}
	p.debugOn.Store(s.debug)
	p.renewShards()
	return p
}

// NewAllocatorPool makes a pool: name and logger for reports, lacCap idle arenas
// at most, chunks of chunkSize bytes, defaultChunks allocated at once and never
// trimmed, chunksCap idle chunks at most. A nil logger means the log package;
// values out of range are brought into it as the options of [NewPool] say.
// O(defaultChunks).
func NewAllocatorPool(name string, logger Logger, lacCap, chunkSize, defaultChunks, chunksCap int) *AllocatorPool {
	return NewPool(name, WithLogger(logger), WithIdleArenas(lacCap), WithChunkSize(chunkSize),
		WithIdleChunks(defaultChunks, chunksCap))
}

// renewShards replaces all shards by empty ones. Idle cores of the old ones are
// left to the collector, and so is a core released to an old shard later. The
// old ones are counted for one more turn, as a goroutine may still be pinned to
// one. The caller holds p.mu.
func (p *AllocatorPool) renewShards() {
	gets, releases := p.prev.counts()
	p.oldGets += gets
	p.oldReleases.Add(releases)
	if old := p.shards.Load(); old != nil {
		p.prev = *old
	}
	list := make(shards, shardCount())
	for i := range list {
		list[i].slab = &noHandles
	}
	p.shards.Store(&list)
}

// growShards makes new shards after GOMAXPROCS grew.
func (p *AllocatorPool) growShards() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shardCount() > len(*p.shards.Load()) {
		p.renewShards()
	}
}

// pinned is pin that makes the shards it misses.
func (p *AllocatorPool) pinned() *shard {
	for {
		s := p.pin()
		if s != &noShard {
			return s
		}
		unpin(s)
		p.growShards()
	}
}

// Get lends an arena out, empty, until its Release. The handle is owned by the
// caller until then. A nil pool, or any pool while DisableAllLac is
// set, returns nil, which allocates from the Go heap. O(1), amortised over the
// handles made at once; takes no lock in steady state.
func (p *AllocatorPool) Get() *Allocator {
	if p == nil || DisableAllLac {
		return nil
	}
	s := p.at(procPin())
	h, l := &s.slab[s.next%slabLen], &s.slab[(s.next-1)%slabLen]
	if atomic.LoadInt32(&h.refs) == 0 && h.core == nil {
		var c *core
		if atomic.LoadInt32(&l.refs) == 0 && l.core != nil && l.core.plain {
			// The handle lent before this one was released and kept its core.
			c = l.core
			c.first.used = l.off
			s.releases++
			l.base, l.core = nil, nil
		} else if s.idle > 0 {
			s.idle--
			c, s.cores[s.idle] = s.cores[s.idle], nil
		} else {
			unpin(s)
			return p.getSlow()
		}
		h.base, h.core = c.whole.base, c
		h.off, h.end, h.refs = c.whole.off, c.whole.end, 1
		s.next++
		s.last = uintptr(unsafe.Pointer(h))
		s.gets++
		unpin(s)
		c.first.wipe()
		return h
	}
	unpin(s)
	return p.getSlow()
}

// noHandles stands in for the slab of a shard that has none: all are taken.
var noHandles = func() (slab [slabLen]Allocator) {
	for i := range slab {
		slab[i].refs = 1
	}
	return slab
}()

// noShard stands in for a shard that does not exist yet: it has nothing to give
// and room for nothing.
var noShard = shard{slab: &noHandles, idle: shardCores}

// handle returns a free handle of the slab, marked as taken, or nil if the shard
// needs a new slab: too many in a row are out, or one was out when a collection
// ran. The slab would keep the arena of a dropped handle alive otherwise. The
// caller is pinned at s.
func (s *shard) handle(epoch uint32) *Allocator {
	for range 8 {
		h := &s.slab[s.next%slabLen]
		if atomic.LoadInt32(&h.refs) == 0 {
			s.reap(h)
			s.next++
			h.refs = 1
			s.last = uintptr(unsafe.Pointer(h))
			return h
		}
		if s.born != epoch {
			break
		}
		s.next++
	}
	return nil
}

// reap makes the core that a released handle kept idle, or the collector's if too
// many are. The caller is pinned at s.
func (s *shard) reap(h *Allocator) {
	if atomic.LoadInt32(&h.refs) != 0 || h.core == nil || !h.core.plain {
		return
	}
	c := h.core
	c.first.used = h.off
	s.releases++
	h.base, h.core = nil, nil
	if s.idle < len(s.cores) {
		s.cores[s.idle] = c
		s.idle++
	}
}

// getSlow finds or makes a core and a handle.
func (p *AllocatorPool) getSlow() *Allocator {
	var spare *[slabLen]Allocator
	var c *core
	for {
		s := p.pinned()
		s.drain()
		if s.idle == 0 {
			s.reap(&s.slab[(s.next-1)%slabLen])
		}
		if c == nil && s.idle > 0 {
			s.idle--
			c, s.cores[s.idle] = s.cores[s.idle], nil
		}
		if spare != nil {
			for i := range s.slab {
				s.reap(&s.slab[i])
			}
			s.slab, s.next, s.born, spare = spare, 0, p.epoch.Load(), nil
		}
		short := false
		if c != nil && c.debug != nil {
			s.gets++
			unpin(s)
			h := &Allocator{pool: p, refs: 1}
			p.start(h, c)
			return h
		}
		if c != nil {
			if h := s.handle(p.epoch.Load()); h != nil {
				c.home = s
				s.gets++
				unpin(s)
				p.start(h, c)
				return h
			}
			short = true
		}
		unpin(s)
		if short {
			spare = new([slabLen]Allocator)
			for i := range spare {
				spare[i].pool = p
			}
		}
		if c == nil {
			c = p.findCore()
		}
	}
}

// start gives a core to a new handle.
func (p *AllocatorPool) start(h *Allocator, c *core) {
	h.core = c
	if c.debug != nil {
		p.mu.Lock()
		if p.live == nil {
			p.live = map[*core]struct{}{}
		}
		p.live[c] = struct{}{}
		p.mu.Unlock()
		return
	}
	c.first.wipe()
	h.base, h.off, h.end = c.whole.base, c.whole.off, c.whole.end
}

// findCore takes an idle core from the shared list, or makes one.
func (p *AllocatorPool) findCore() *core {
	p.mu.Lock()
	if !p.watched {
		p.watched = true
		watch(weak.Make(p))
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.idleLow = min(p.idleLow, n-1)
		p.mu.Unlock()
		return c
	}
	p.mu.Unlock()
	return p.newCore()
}

// retire makes an empty core idle. The caller owns it alone.
func (p *AllocatorPool) retire(c *core) {
	if p.debugOn.Load() {
		return
	}
	s := p.pinned()
	if s.idle < len(s.cores) {
		c.home, s.cores[s.idle] = s, c
		s.idle++
		unpin(s)
		return
	}
	unpin(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < p.idleCap {
		p.idle = append(p.idle, c)
		return
	}
	p.store.put([]chunk{c.first})
}

// watch trims the pool after each collection for as long as the pool lives.
func watch(p weak.Pointer[AllocatorPool]) {
	// A fresh object dies at the next collection; its cleanup is the signal.
	runtime.AddCleanup(new([2]*byte), func(p weak.Pointer[AllocatorPool]) {
		if pool := p.Value(); pool != nil {
			pool.collected()
			watch(p)
		}
	}, p)
}

// collected gives memory back that the pool did not need since the last
// collection: surplus chunks and cores, and everything if nobody called Get.
func (p *AllocatorPool) collected() {
	p.epoch.Add(1)
	p.store.trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	gets, _ := p.counts()
	n := min(p.idleLow, len(p.idle))
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	p.idleLow = kept
	if gets == p.lastGets && !p.debugOn.Load() {
		p.renewShards()
	}
	p.lastGets = gets
}

package lac

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// DisableAllLac makes every Get return nil, so that all allocation falls back to
// the Go heap. Use it to find out whether an arena is to blame for a bug. Set it
// before the first Get.
var DisableAllLac = false

const (
	defaultChunkSize = 64 << 10
	minChunkSize     = 512
	maxChunkSize     = 256 << 20
	// shardCores is how many idle arenas a processor keeps at hand.
	shardCores = 8
	// seatLen and slabLen are how many handles a seat and a processor have in turn. That of
	// a seat is released before the next one is lent. That of a processor may be out for as
	// long as it likes: it is looked at when half of the others had their turn, and lent
	// again at its own if it was released by then.
	seatLen = 128
	slabLen = 256

	// mostOut is how many handles of a slab may be passed over in a round, so that of those
	// between that look and its turn at least 64 are lent before a handle is lent again.
	mostOut = slabLen/8 - 2
)

// AllocatorPool lends arenas out and keeps their memory for reuse. It is safe for use
// by several goroutines. A nil pool lends nil, which means the Go heap; it has no
// statistics and nothing to check. The zero value is a pool without a name and with
// the defaults of all options; it must not be copied.
//
//	Get: own seat -> own shard: arena released last, idle cores, handles sent home -> shared list -> new core
//
// A few goroutines have a seat, with a core that nobody else uses. Each
// processor has a shard with a few idle cores, reached without a lock; all
// other idle cores, and the idle chunks, are shared under locks.
type AllocatorPool struct {
	name      string
	logger    Logger
	onMisuse  func(error)
	chunkSize uintptr
	idleCap   int // idle cores beside those in the shards
	scanned   bool
	known     core // holds what WithAttached names; no arena

	seats   seats
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

	mu                     sync.Mutex
	idle                   []*core
	idleLow                int // fewest idle cores since the last collection
	watched                bool
	lastGets, lastReleases uint64             // of the shards, at the last collection
	fresh                  bool               // nobody used the shards since they were renewed
	oldGets                uint64             // counts of the shards before older
	prev, older            []shards           // shards replaced since the last collection, and since the one before
	live                   map[*core]struct{} // arenas in debug mode
}

// shard is what one processor owns of a pool.
type shard struct {
	_        [0]atomic.Uint64 // aligns the counters on 32-bit machines
	count    uint64           // arenas lent that the one before had left: a get and a release each
	gets     uint64           // the other gets and releases
	releases uint64
	last     *Allocator // the handle lent last; the next one follows it
	//lint:ignore U1000 only the portable form locks
	lock shardLock

	idle  int
	born  uint32  // epoch of the slab
	out   uint32  // handles that were out when their turn came in this round
	outAt uintptr // where the last of them is
	slab  *[slabLen]Allocator
	half  *Allocator // half the slab behind the one whose turn is next
	cores [shardCores]*core
	inbox atomic.Pointer[returned]
	_     [64]byte // keeps two shards off one cache line
}

// shards is one shard per processor.
type shards []shard

// counts adds up the shards.
func (list shards) counts() (gets, releases uint64) {
	for i := range list {
		turns := list[i].read(&list[i].count)
		gets += turns + list[i].read(&list[i].gets)
		releases += turns + list[i].read(&list[i].releases) + list[i].waiting()
	}
	return gets, releases
}

// NewPool makes a pool with the given options. O(1), apart from the chunks
// requested by [WithIdleChunks].
func NewPool(name string, opts ...Option) *AllocatorPool {
	s := defaults()
	for _, o := range opts {
		if o != nil {
			o(&s)
		}
	}
	p := &AllocatorPool{name: name, logger: s.logger, onMisuse: s.onMisuse}
	p.prepare(s)
	return p
}

// prepare makes p, which is zero but for what reports need, a pool with the given
// settings.
func (p *AllocatorPool) prepare(s settings) {
	if s.chunkSize <= 0 {
		s.chunkSize = defaultChunkSize
	}
	p.scanned = s.scanned
	p.chunkSize = uintptr(min(max(s.chunkSize, minChunkSize), maxChunkSize)+word-1) &^ (word - 1)
	p.idleCap = s.lacCap
	p.store.bins = map[uintptr]*bin{}
	p.store.limit = min(uintptr(max(s.maxIdle, s.chunks, 0)), maxAlloc/p.chunkSize) * p.chunkSize
	p.store.bin(p.chunkSize).keep = max(s.chunks, 0)
	for range s.chunks {
		p.store.created++
		p.store.put([]chunk{newChunk(p.chunkSize)})
	}
	p.known.debug = &recorder{}
	for _, v := range s.attached {
		p.known.attach(v, true)
	}
	if s.debug {
		p.debugOn.Store(true)
	}
	p.renewShards()
}

// NewAllocatorPool makes a pool: name and logger are for reports, at most lacCap
// arenas and chunksCap chunks are kept idle, a chunk has chunkSize bytes, and
// defaultChunks of them are allocated at once; [WithIdleChunks] says which chunks
// these numbers count. A nil logger means the log package; values out of range are
// adjusted as described at the options of [NewPool]. O(defaultChunks).
func NewAllocatorPool(name string, logger Logger, lacCap, chunkSize, defaultChunks, chunksCap int) *AllocatorPool {
	return NewPool(name, WithLogger(logger), WithIdleArenas(lacCap), WithChunkSize(chunkSize),
		WithIdleChunks(defaultChunks, chunksCap))
}

// renewShards replaces all shards by empty ones. Idle cores of the old ones are
// left to the collector, and so is a core released to an old shard later. The
// old ones are counted until the second collection from now, since a goroutine may
// still be pinned to one. The caller holds p.mu.
func (p *AllocatorPool) renewShards() {
	if old := p.shards.Load(); old != nil {
		p.prev = append(p.prev, *old)
		old.disown()
	}
	list := make(shards, shardCount())
	for i := range list {
		list[i].slab, list[i].last, list[i].half = noHandles, &noHandles[0], &noHandles[slabLen/2]
	}
	p.shards.Store(&list)
}

func (list shards) disown() {
	for i := range list {
		list[i].disown()
	}
}

// growShards makes new shards after GOMAXPROCS grew, and the first ones of a zero pool.
func (p *AllocatorPool) growShards() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shards.Load() == nil {
		p.prepare(defaults())
	} else if shardCount() > len(*p.shards.Load()) {
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
	s := p.pinned()
	if p.debugOn.Load() { // as it is wherever shards are found that were made for it
		unpin(s)
		return
	}
	if s.idle < len(s.cores) {
		c.home, s.cores[s.idle] = s, c
		s.idle++
		unpin(s)
		return
	}
	unpin(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.debugOn.Load() {
		p.shelve(c)
	}
}

// shelve makes an empty core idle for all, or its chunk if there are too many. The caller
// holds p.mu.
func (p *AllocatorPool) shelve(c *core) {
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

// collected gives back the memory that the pool has not needed since the last
// collection: surplus chunks and cores, and seats and shards that nobody used.
func (p *AllocatorPool) collected() {
	p.epoch.Add(1)
	p.store.trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seats.collected()
	gets, releases := p.shardCounts()
	n := min(p.idleLow, len(p.idle))
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	p.idleLow = kept
	p.takeSent()
	list := *p.shards.Load()
	unused := gets == p.lastGets
	p.agePrev()
	switch {
	case p.debugOn.Load():
	case len(list) > shardCount(), unused && !(p.fresh && releases == p.lastReleases):
		p.renewShards()
		p.fresh = true
	default:
		p.fresh = p.fresh && unused
	}
	p.lastGets, p.lastReleases = gets, releases
}

// agePrev adds up the shards that were replaced before the last collection and lets go of
// them, and so of the arenas that were dropped there. The caller holds p.mu.
func (p *AllocatorPool) agePrev() {
	for _, list := range p.older {
		list.disown() // a Get at the moment when it was replaced may have lent it again
		gets, releases := list.counts()
		p.oldGets += gets
		p.oldReleases.Add(releases)
	}
	p.prev, p.older = nil, p.prev
}

// takeSent takes what was sent home to shards and waits there: a shard takes no more than
// it has room for, and only if it lends by the general way. The caller holds p.mu.
func (p *AllocatorPool) takeSent() {
	list := *p.shards.Load()
	for i := range list {
		for r := list[i].inbox.Swap(nil); r != nil; r = r.next {
			if c := r.end(); c != nil {
				p.shelve(c)
			}
		}
	}
}

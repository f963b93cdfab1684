// Package prommem shows Prometheus the figures of the allocators of package gomem, of the
// arenas of package lac, of the pools of package tlsf, and of what is mapped in the process.
//
//	frames := gomem.NewScalableMemoryAllocator(1 << 20)
//	arenas := lac.NewPool("requests")
//	pool, err := tlsf.New(1<<20, tlsf.WithLock())
//	…
//	prometheus.MustRegister(
//		prommem.Allocator("frames", frames),
//		prommem.Arenas("requests", arenas),
//		prommem.TLSF("packets", pool.Stats),
//		prommem.Mapped(),
//	)
//	http.Handle("/metrics", promhttp.Handler())
//
// Each metric has the label name with the name given here, so that any number of allocators
// can be registered. Two of a kind with one name are a duplicate, which Register refuses.
// Mapped is one figure of the whole process: register it once.
//
// # What the figures are
//
// A counter never goes down. Some figures of an allocator and an arena pool waver for a
// moment while others work, as during Recycle, Close or a garbage collection; a collector of
// this package then repeats the highest value it has shown. If a counter is set back to
// zero, as [lac.AllocatorPool.DumpStats] does for misuses, the collector goes on from the
// value before. Live bytes are never shown below zero.
//
// The figures of one scrape are not from one moment: freed may exceed what is shown as
// malloced. What is live is a gauge of its own, so do not subtract.
//
// # Closing
//
// A closed allocator has nothing live and nothing mapped, and its counters stay: a scrape
// goes on as before. But the registry holds the allocator, and with it tables on the Go heap
// and whatever memory was not given back, until the collector is unregistered:
//
//	c := prommem.Allocator("frames", frames)
//	prometheus.MustRegister(c)
//	…
//	prometheus.Unregister(c)
//	frames.Close()
//
// # What a scrape costs
//
// Measured once, on a machine with two processors: reading the figures takes some 10 ns for
// an allocator or a TLSF pool and 1 µs for an arena pool, and grows with the processors, but
// for TLSF; making metrics of them takes 5 µs and 3 KB of garbage; what the registry and the
// handler do with those takes ten times as long. BenchmarkCollect measures it anew.
//
// Reading an allocator takes no lock, except under the race detector, with the tag
// gomem_portable and on processors where GoMem uses its portable form: there it takes the
// allocator's lock for a moment. Reading an arena pool takes its two locks, and reading a
// TLSF pool the one of [tlsf.WithLock], each for less than a microsecond, during which a
// goroutine that has a deadline may have to wait.
//
// # Without Prometheus
//
// Package expvar needs no adapter. It is not used here because importing it adds a handler
// to http.DefaultServeMux. Publish panics if the name is taken, and nothing can be withdrawn:
// publish from main, not from a function that may run twice.
//
//	expvar.Publish("gomem.frames", expvar.Func(func() any { return frames.Stats() }))
package prommem

import (
	"errors"
	"sync"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
	"github.com/prometheus/client_golang/prometheus"
)

// Allocator returns a collector of the figures of a, as gomem_allocator_… with the label
// name. Several collectors of one allocator need different names.
//
// A nil a shows zeros, a closed one the totals so far. A name that is not valid UTF-8 is
// an error of Register; so is one that another collector of this kind has there.
// O(processors) per scrape. Any goroutine may use the collector.
func Allocator(name string, a *gomem.ScalableMemoryAllocator) prometheus.Collector {
	return newCollector("allocator", named(name), a.Stats, allocatorFigures)
}

var allocatorFigures = []figure[gomem.Stats]{
	{noisy, "malloced_bytes_total", "Bytes requested so far.", func(s gomem.Stats) float64 { return float64(s.Malloced) }},
	{noisy, "freed_bytes_total", "Bytes given back so far.", func(s gomem.Stats) float64 { return float64(s.Freed) }},
	{gauge, "live_bytes", "Bytes requested and not given back.", func(s gomem.Stats) float64 { return float64(max(s.Live, 0)) }},
	{gauge, "mapped_bytes", "Bytes of all chunks, as asked of the source.", func(s gomem.Stats) float64 { return float64(s.Backing) }},
	{gauge, "peak_mapped_bytes", "Most bytes of all chunks so far.", func(s gomem.Stats) float64 { return float64(s.PeakBacking) }},
	{gauge, "chunks", "Chunks mapped.", func(s gomem.Stats) float64 { return float64(s.Chunks) }},
	{gauge, "empty_chunks", "Chunks without a block.", func(s gomem.Stats) float64 { return float64(s.EmptyChunks) }},
	{gauge, "spans", "Runs of slots for small blocks.", func(s gomem.Stats) float64 { return float64(s.Spans) }},
	{noisy, "failed_requests_total", "Requests for which there was no memory.", func(s gomem.Stats) float64 { return float64(s.Failed) }},
	{noisy, "refused_frees_total", "Frees that were refused as misuse.", func(s gomem.Stats) float64 { return float64(s.Refused) }},
	{noisy, "raced_frees_total", "Frees that lost to another free of the same block, whose bytes count as freed twice.", func(s gomem.Stats) float64 { return float64(s.Raced) }},
	{noisy, "sampled_blocks_total", "Blocks that went to the sampled guard.", func(s gomem.Stats) float64 { return float64(s.Sampled) }},
	{noisy, "unguarded_blocks_total", "Times that there was no mapping for guard pages.", func(s gomem.Stats) float64 { return float64(s.Unguarded) }},
	{noisy, "damages_total", "Times that a guard found bytes written that nobody owned.", func(s gomem.Stats) float64 { return float64(s.Damaged) }},
}

// Arenas returns a collector of the figures of p, as gomem_lac_… with the label name.
// Several collectors of one pool need different names; that of the pool is not used.
//
// A nil p shows zeros. For the name see [Allocator]. O(processors) per scrape. Any goroutine
// may use the collector.
func Arenas(name string, p *lac.AllocatorPool) prometheus.Collector {
	return newCollector("lac", named(name), p.Stats, arenaFigures)
}

var arenaFigures = []figure[lac.Stats]{
	{noisy, "gets_total", "Arenas lent out.", func(s lac.Stats) float64 { return float64(s.Gets) }},
	{noisy, "releases_total", "Arenas given back.", func(s lac.Stats) float64 { return float64(s.Releases) }},
	{noisy, "arenas_made_total", "Arenas made; the others that were lent out had been used before.", func(s lac.Stats) float64 { return float64(s.Cores) }},
	{noisy, "chunks_made_total", "Chunks allocated from the Go heap.", func(s lac.Stats) float64 { return float64(s.ChunksMade) }},
	{noisy, "chunks_reused_total", "Chunks served from the pool.", func(s lac.Stats) float64 { return float64(s.ChunksReused) }},
	{noisy, "chunks_dropped_total", "Idle chunks left to the collector, without those of idle arenas.", func(s lac.Stats) float64 { return float64(s.ChunksDropped) }},
	{gauge, "idle_bytes", "Bytes of idle chunks, without those of idle arenas.", func(s lac.Stats) float64 { return float64(s.IdleBytes) }},
	{exact, "misuses_total", "Misuses reported.", func(s lac.Stats) float64 { return float64(s.Misuses) }},
}

// TLSF returns a collector of what stats returns, as gomem_tlsf_… with the label name. Pass
// the method Stats of a pool made [tlsf.WithLock], open or closed. Any other pool
// belongs to one goroutine at a time, and a scrape runs on its own: let its owner store the
// figures now and then, as the example shows. The figures may be those of one pool
// after another; the counters add up, unless the new one is ahead of the old one already.
//
// TLSF panics if stats is nil. For the name see [Allocator]. A scrape costs what stats does:
// O(1), and the pool's lock. Any goroutine may use the collector, if stats is safe for that.
func TLSF(name string, stats func() tlsf.Stats) prometheus.Collector {
	if stats == nil {
		panic(errors.New("prommem: TLSF needs a function"))
	}
	return newCollector("tlsf", named(name), stats, tlsfFigures)
}

var tlsfFigures = []figure[tlsf.Stats]{
	{gauge, "size_bytes", "Bytes of the whole pool.", func(s tlsf.Stats) float64 { return float64(s.Size) }},
	{gauge, "used_bytes", "Bytes asked for by the live blocks.", func(s tlsf.Stats) float64 { return float64(s.Used) }},
	{gauge, "peak_used_bytes", "Most bytes used so far.", func(s tlsf.Stats) float64 { return float64(s.Peak) }},
	{gauge, "free_bytes", "Bytes not used.", func(s tlsf.Stats) float64 { return float64(s.Free) }},
	{gauge, "largest_bytes", "Largest block that would be served now.", func(s tlsf.Stats) float64 { return float64(s.Largest) }},
	{gauge, "blocks", "Live blocks.", func(s tlsf.Stats) float64 { return float64(s.Blocks) }},
	{exact, "allocs_total", "Blocks handed out.", func(s tlsf.Stats) float64 { return float64(s.Allocs) }},
	{exact, "frees_total", "Blocks given back.", func(s tlsf.Stats) float64 { return float64(s.Frees) }},
	{exact, "failed_allocs_total", "Requests that found no free block.", func(s tlsf.Stats) float64 { return float64(s.Failed) }},
	{exact, "misuses_total", "Frees that were refused.", func(s tlsf.Stats) float64 { return float64(s.Misuses) }},
}

// Mapped returns a collector of [backing.Mapped], as gomem_backing_mapped_bytes: all bytes
// that the process has from the system outside of the Go heap, by whichever allocator. A
// registry takes it once; the error for a second one is a
// [prometheus.AlreadyRegisteredError]. O(1) per scrape. Any goroutine may use the collector.
func Mapped() prometheus.Collector {
	return newCollector("backing", nil, backing.Mapped, mappedFigures)
}

var mappedFigures = []figure[int]{
	{gauge, "mapped_bytes", "Bytes mapped outside of the Go heap, which GOMEMLIMIT does not count.", func(n int) float64 { return float64(n) }},
}

// kind is how a figure becomes a metric.
type kind int

const (
	gauge kind = iota
	noisy      // a counter that may be read too low or too high for a moment
	exact      // a counter whose fall means that it began anew
)

type figure[S any] struct {
	kind       kind
	name, help string
	of         func(S) float64
}

// collector shows figures of S.
type collector[S any] struct {
	stats   func() S
	figures []figure[S]
	descs   []*prometheus.Desc // of the figures

	mu     sync.Mutex // also held to read: an older value that came later would be a fall
	last   []float64  // noisy: highest; exact: last read
	before []float64  // exact: sum of the values from which it fell
}

func named(name string) prometheus.Labels { return prometheus.Labels{"name": name} }

func newCollector[S any](subsystem string, labels prometheus.Labels, stats func() S, figures []figure[S]) *collector[S] {
	c := &collector[S]{
		stats: stats, figures: figures,
		last: make([]float64, len(figures)), before: make([]float64, len(figures)),
	}
	for _, f := range figures {
		c.descs = append(c.descs, prometheus.NewDesc(prometheus.BuildFQName("gomem", subsystem, f.name), f.help, nil, labels))
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector[S]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector[S]) Collect(ch chan<- prometheus.Metric) {
	for i, v := range c.read() {
		kind := prometheus.CounterValue
		if c.figures[i].kind == gauge {
			kind = prometheus.GaugeValue
		}
		m, err := prometheus.NewConstMetric(c.descs[i], kind, v)
		if err != nil {
			m = prometheus.NewInvalidMetric(c.descs[i], err)
		}
		ch <- m
	}
}

// read returns the values to show.
func (c *collector[S]) read() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats()
	values := make([]float64, len(c.figures))
	for i, f := range c.figures {
		v := f.of(s)
		switch f.kind {
		case noisy:
			v = max(v, c.last[i])
			c.last[i] = v
		case exact:
			if v < c.last[i] {
				c.before[i] += c.last[i]
			}
			c.last[i] = v
			v += c.before[i]
		}
		values[i] = v
	}
	return values
}

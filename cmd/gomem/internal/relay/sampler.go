package relay

import (
	"runtime"
	"time"
)

// figures are what one engine did in the measured time, and what it took.
type figures struct {
	engine              string
	elapsed             time.Duration
	framesIn, framesOut int64
	bytesIn, bytesOut   int64
	dropped             int64
	allocs, allocBytes  int64 // of the Go heap
	gcs                 int64
	gcPause, gcWorst    time.Duration
	heap, offHeap, rss  int64 // peaks; rss is negative where it is unknown
}

// add makes f the figures of two runs.
func (f *figures) add(o *figures) {
	f.elapsed += o.elapsed
	f.framesIn += o.framesIn
	f.framesOut += o.framesOut
	f.bytesIn += o.bytesIn
	f.bytesOut += o.bytesOut
	f.dropped += o.dropped
	f.allocs += o.allocs
	f.allocBytes += o.allocBytes
	f.gcs += o.gcs
	f.gcPause += o.gcPause
	f.gcWorst = max(f.gcWorst, o.gcWorst)
	f.heap = max(f.heap, o.heap)
	f.offHeap = max(f.offHeap, o.offHeap)
	f.rss = max(f.rss, o.rss)
}

// sampler watches a server. Taking a sample allocates nothing, so it can run
// while allocations are counted.
type sampler struct {
	srv   *server
	mem   runtime.MemStats
	rss   rssReader
	since figures // totals when the measured time began
	begun time.Time
	seen  uint32 // garbage collections looked at
	worst time.Duration
	peak  struct{ heap, offHeap, rss int64 }
}

func newSampler(srv *server) *sampler {
	s := &sampler{srv: srv}
	s.begin()
	return s
}

// begin starts the measured time.
func (s *sampler) begin() {
	s.sample()
	s.worst = 0
	s.peak.heap, s.peak.offHeap, s.peak.rss = 0, 0, 0
	s.begun = time.Now()
	s.since = s.totals()
}

// sample updates the peaks. It must come often enough that no more than
// len(MemStats.PauseNs) collections happen in between.
func (s *sampler) sample() {
	runtime.ReadMemStats(&s.mem)
	ring := uint32(len(s.mem.PauseNs))
	for n := max(s.seen, s.mem.NumGC-min(s.mem.NumGC, ring)); n < s.mem.NumGC; n++ {
		s.worst = max(s.worst, time.Duration(s.mem.PauseNs[n%ring]))
	}
	s.seen = s.mem.NumGC
	s.peak.heap = max(s.peak.heap, int64(s.mem.HeapInuse))
	s.peak.offHeap = max(s.peak.offHeap, s.srv.engine.memory().backing)
	s.peak.rss = max(s.peak.rss, s.rss.read())
}

func (s *sampler) totals() figures {
	c := &s.srv.count
	return figures{
		framesIn:   c.framesIn.Load(),
		framesOut:  c.framesOut.Load(),
		bytesIn:    c.bytesIn.Load(),
		bytesOut:   c.bytesOut.Load(),
		dropped:    c.dropped.Load(),
		allocs:     int64(s.mem.Mallocs),
		allocBytes: int64(s.mem.TotalAlloc),
		gcs:        int64(s.mem.NumGC),
		gcPause:    time.Duration(s.mem.PauseTotalNs),
	}
}

// end takes a last sample and returns the figures since begin.
func (s *sampler) end() *figures {
	s.sample()
	f := s.totals()
	f.engine = s.srv.engine.name()
	f.elapsed = time.Since(s.begun)
	f.framesIn -= s.since.framesIn
	f.framesOut -= s.since.framesOut
	f.bytesIn -= s.since.bytesIn
	f.bytesOut -= s.since.bytesOut
	f.dropped -= s.since.dropped
	f.allocs -= s.since.allocs
	f.allocBytes -= s.since.allocBytes
	f.gcs -= s.since.gcs
	f.gcPause -= s.since.gcPause
	f.gcWorst = s.worst
	f.heap, f.offHeap, f.rss = s.peak.heap, s.peak.offHeap, s.peak.rss
	if f.rss == 0 {
		f.rss = -1
	}
	return &f
}

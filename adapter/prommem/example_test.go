package prommem_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"log"
	"strings"
	"sync/atomic"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/adapter/prommem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

// show prints what a scrape of r would see of the metrics with these names.
func show(r *prometheus.Registry, names ...string) {
	text, err := testutil.GatherAndFormat(r, expfmt.TypeTextPlain, names...)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			fmt.Print(line)
		}
	}
}

func ExampleAllocator() {
	frames := gomem.NewScalableMemoryAllocator(1 << 20)
	packets := gomem.NewScalableMemoryAllocator(1 << 20)
	r := prometheus.NewRegistry()
	r.MustRegister(prommem.Allocator("frames", frames), prommem.Allocator("packets", packets))

	frames.Malloc(1500)
	frames.Close()
	packets.Malloc(500)
	show(r, "gomem_allocator_malloced_bytes_total", "gomem_allocator_live_bytes")
	// Output:
	// gomem_allocator_live_bytes{name="frames"} 0
	// gomem_allocator_live_bytes{name="packets"} 500
	// gomem_allocator_malloced_bytes_total{name="frames"} 1500
	// gomem_allocator_malloced_bytes_total{name="packets"} 500
}

func ExampleArenas() {
	arenas := lac.NewPool("requests")
	r := prometheus.NewRegistry()
	r.MustRegister(prommem.Arenas("requests", arenas))

	arenas.Get().Release()
	show(r, "gomem_lac_gets_total", "gomem_lac_releases_total")
	// Output:
	// gomem_lac_gets_total{name="requests"} 1
	// gomem_lac_releases_total{name="requests"} 1
}

func ExampleTLSF() {
	pool, err := tlsf.New(1<<20, tlsf.WithLock())
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	r := prometheus.NewRegistry()
	r.MustRegister(prommem.TLSF("packets", pool.Stats))

	if _, err := pool.Alloc(1500); err != nil {
		log.Fatal(err)
	}
	show(r, "gomem_tlsf_used_bytes", "gomem_tlsf_size_bytes")
	// Output:
	// gomem_tlsf_size_bytes{name="packets"} 1.048576e+06
	// gomem_tlsf_used_bytes{name="packets"} 1500
}

// A pool without a lock belongs to one goroutine, which stores the figures for the scrape.
func ExampleTLSF_unlocked() {
	var latest atomic.Pointer[tlsf.Stats]
	latest.Store(new(tlsf.Stats))
	r := prometheus.NewRegistry()
	r.MustRegister(prommem.TLSF("audio", func() tlsf.Stats { return *latest.Load() }))

	done := make(chan bool)
	go func() {
		defer close(done)
		pool, err := tlsf.New(1 << 20)
		if err != nil {
			log.Fatal(err)
		}
		defer pool.Close()
		if _, err := pool.Alloc(480); err != nil {
			log.Fatal(err)
		}
		s := pool.Stats() // once a second, say
		latest.Store(&s)
	}()
	<-done
	show(r, "gomem_tlsf_used_bytes")
	// Output: gomem_tlsf_used_bytes{name="audio"} 480
}

func ExampleMapped() {
	r := prometheus.NewRegistry()
	r.MustRegister(prommem.Mapped())

	families, err := r.Gather()
	if err != nil {
		log.Fatal(err)
	}
	shown := families[0].GetMetric()[0].GetGauge().GetValue()
	fmt.Println(families[0].GetName(), shown == float64(backing.Mapped()))
	// Output: gomem_backing_mapped_bytes true
}

// Package expvar needs no adapter.
func Example_expvar() {
	frames := gomem.NewScalableMemoryAllocator(1 << 20)
	if expvar.Get("gomem.frames") == nil { // Publish panics on a name that is taken
		expvar.Publish("gomem.frames", expvar.Func(func() any { return frames.Stats() }))
	}

	frames.Malloc(1500)
	var s gomem.Stats
	if err := json.Unmarshal([]byte(expvar.Get("gomem.frames").String()), &s); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Live)
	// Output: 1500
}

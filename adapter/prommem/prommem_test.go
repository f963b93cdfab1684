package prommem

import (
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/backing"
	"github.com/gomem-go/gomem/gomemtest"
	"github.com/gomem-go/gomem/lac"
	"github.com/gomem-go/gomem/tlsf"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

// values gathers everything that r has: the value of each metric by its name, and that of
// its label.
func values(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := strings.TrimPrefix(f.GetName(), "gomem_")
			if len(m.Label) > 0 {
				key += " " + m.Label[0].GetValue()
			}
			all[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

func pedantic(t *testing.T, collectors ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestLint(t *testing.T) {
	pool, err := tlsf.New(4096, tlsf.WithLock())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for what, c := range map[string]prometheus.Collector{
		"allocator": Allocator("a", gomemtest.New(t)),
		"arenas":    Arenas("a", lac.NewPool("test")),
		"tlsf":      TLSF("a", pool.Stats),
		"mapped":    Mapped(),
	} {
		problems, err := testutil.CollectAndLint(c)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", what, problems, err)
		}
	}
}

// TestEveryFigure: each metric shows the field that it is to show, and none of the fields
// that the statistics have, also in later versions, is left out.
func TestEveryFigure(t *testing.T) {
	everyFigure(t, "allocator", allocatorFigures, "malloced_bytes_total freed_bytes_total live_bytes mapped_bytes "+
		"peak_mapped_bytes chunks empty_chunks spans failed_requests_total refused_frees_total raced_frees_total sampled_blocks_total "+
		"unguarded_blocks_total damages_total")
	everyFigure(t, "lac", arenaFigures, "gets_total releases_total arenas_made_total chunks_made_total "+
		"chunks_reused_total chunks_dropped_total idle_bytes misuses_total")
	everyFigure(t, "tlsf", tlsfFigures, "size_bytes used_bytes peak_used_bytes free_bytes largest_bytes blocks "+
		"allocs_total frees_total failed_allocs_total misuses_total")
	everyFigure(t, "backing", mappedFigures, "mapped_bytes")
}

// everyFigure sets the fields of S to 1, 2, 3 and so on. The names are those of the metrics
// in the order of the fields.
func everyFigure[S any](t *testing.T, subsystem string, figures []figure[S], names string) {
	t.Helper()
	var s S
	if v := reflect.ValueOf(&s).Elem(); v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			v.Field(i).Set(reflect.ValueOf(i + 1).Convert(v.Field(i).Type()))
		}
	} else {
		v.SetInt(1)
	}
	want := map[string]float64{}
	for i, name := range strings.Fields(names) {
		want[subsystem+"_"+name+" x"] = float64(i + 1)
	}
	got := values(t, pedantic(t, newCollector(subsystem, named("x"), func() S { return s }, figures)))
	if n := reflect.TypeFor[S](); n.Kind() == reflect.Struct && n.NumField() != len(want) {
		t.Errorf("%v has %d fields, %d are shown", n, n.NumField(), len(want))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", subsystem, got, want)
	}
	for _, f := range figures { // Lint sees to the names of counters; a total that can fall is a gauge
		if counter := strings.HasSuffix(f.name, "_total"); counter == (f.kind == gauge) {
			t.Errorf("%s: kind %d", f.name, f.kind)
		}
	}
}

// TestCountersNeverFall: whatever is read, in a wavering reading and after a fresh start.
func TestCountersNeverFall(t *testing.T) {
	run := func(k kind, read, want []float64) {
		t.Helper()
		i := -1
		c := newCollector("x", nil, func() float64 { i++; return read[i] },
			[]figure[float64]{{k, "y_total", "Help.", func(v float64) float64 { return v }}})
		var got []float64
		for range read {
			got = append(got, c.read()...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("read %v: got %v, want %v", read, got, want)
		}
	}
	run(noisy, []float64{100, 90, 110, 220, 120, 230}, []float64{100, 100, 110, 220, 220, 230})
	run(exact, []float64{3, 5, 0, 2, 1, 1}, []float64{3, 5, 5, 7, 8, 8})
	run(gauge, []float64{100, 90, 110}, []float64{100, 90, 110})
}

func TestLiveIsNotNegative(t *testing.T) {
	c := newCollector("allocator", named("x"), func() gomem.Stats { return gomem.Stats{Live: -5} }, allocatorFigures)
	if got := values(t, pedantic(t, c))["allocator_live_bytes x"]; got != 0 {
		t.Error(got)
	}
}

// TestRealFigures: some figures of each kind, while in use, after misuse and when closed.
func TestRealFigures(t *testing.T) {
	a := gomem.NewScalableMemoryAllocator(1<<20, gomem.WithBacking(backing.Mmap()))
	arenas := lac.NewPool("test", lac.WithMisuse(func(error) {}))
	pool, err := tlsf.New(4096, tlsf.WithLock())
	if err != nil {
		t.Fatal(err)
	}
	r := pedantic(t, Allocator("a", a), Arenas("b", arenas), TLSF("c", pool.Stats), Mapped())
	check := func(want map[string]float64) {
		t.Helper()
		got := values(t, r)
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s: got %v, want %v", name, got[name], v)
			}
		}
	}

	b, ac := a.Malloc(1000), arenas.Get()
	c, err := pool.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{
		"allocator_malloced_bytes_total a": 1000, "allocator_live_bytes a": 1000, "allocator_chunks a": 1,
		"allocator_mapped_bytes a": float64(a.Stats().Backing), "backing_mapped_bytes": float64(backing.Mapped()),
		"lac_gets_total b": 1, "lac_releases_total b": 0,
		"tlsf_used_bytes c": 100, "tlsf_blocks c": 1, "tlsf_allocs_total c": 1,
	})

	a.Free(b)
	a.Free(b)
	ac.Release()
	ac.Release()
	_ = arenas.DumpStats(false)
	check(map[string]float64{
		"allocator_freed_bytes_total a": 1000, "allocator_live_bytes a": 0, "allocator_refused_frees_total a": 1,
		"lac_releases_total b": 1, "lac_misuses_total b": 1,
	})

	arenas.DumpStats(true) // sets Misuses to zero
	check(map[string]float64{"lac_misuses_total b": 1})
	ac.Release()
	check(map[string]float64{"lac_misuses_total b": 2})

	if err := errors.Join(pool.Free(c), pool.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{
		"allocator_malloced_bytes_total a": 1000, "allocator_freed_bytes_total a": 1000, "allocator_live_bytes a": 0,
		"allocator_mapped_bytes a": 0, "allocator_chunks a": 0,
		"tlsf_size_bytes c": 0, "tlsf_blocks c": 0, "tlsf_allocs_total c": 1, "tlsf_frees_total c": 1,
	})
}

func TestNil(t *testing.T) {
	for name, v := range values(t, pedantic(t, Allocator("a", nil), Arenas("a", nil))) {
		if v != 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(error).Error(), "needs a function") {
			t.Error(r)
		}
	}()
	TLSF("a", nil)
}

// TestNames: what a registry takes and what it refuses.
func TestNames(t *testing.T) {
	a, b := gomemtest.New(t), gomemtest.New(t)
	first := Allocator("a", a)
	r := pedantic(t, first, Allocator("b", b), Allocator("", b), Allocator("a\"\n", b), Arenas("a", nil),
		TLSF("a", func() tlsf.Stats { return tlsf.Stats{} }), Mapped())
	var already prometheus.AlreadyRegisteredError
	for _, c := range []prometheus.Collector{Allocator("a", b), Arenas("a", lac.NewPool("a")), Mapped()} {
		if err := r.Register(c); !errors.As(err, &already) {
			t.Errorf("got %v", err)
		}
	}
	bad := Allocator("\xff", b)
	if err := r.Register(bad); err == nil || errors.As(err, &already) {
		t.Errorf("got %v", err)
	}
	ch := make(chan prometheus.Metric, 100)
	bad.Collect(ch) // who collects without a registry gets no panic
	if len(ch) != len(allocatorFigures) {
		t.Error(len(ch))
	}
	if n := len(values(t, r)); n != 4*len(allocatorFigures)+len(arenaFigures)+len(tlsfFigures)+1 {
		t.Errorf("%d metrics", n)
	}
	if !r.Unregister(first) {
		t.Error("not unregistered")
	}
	if err := r.Register(Allocator("a", b)); err != nil { // the name is free again
		t.Error(err)
	}
}

// TestScrapesMeanwhile: two scrapes at a time while everything is used, recycled and
// closed. Each sees counters that do not fall, and the last one sees the end.
func TestScrapesMeanwhile(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 30
	}
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	arenas := lac.NewPool("test")
	pool, err := tlsf.New(1<<16, tlsf.WithLock())
	if err != nil {
		t.Fatal(err)
	}
	r := pedantic(t, Allocator("a", a), Arenas("b", arenas), TLSF("c", pool.Stats), Mapped())
	var stop atomic.Bool
	var scrapes sync.WaitGroup
	for range 2 {
		scrapes.Go(func() {
			last := map[string]float64{}
			for !stop.Load() {
				families, err := r.Gather()
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range families {
					if c := f.Metric[0].Counter; c != nil {
						if c.GetValue() < last[f.GetName()] {
							t.Errorf("%s fell from %v to %v", f.GetName(), last[f.GetName()], c.GetValue())
						}
						last[f.GetName()] = c.GetValue()
					}
				}
			}
		})
	}
	for range rounds {
		for range 1100 { // enough for caches per processor, whose counters Recycle adds up
			a.Free(a.Malloc(100))
		}
		a.Recycle()
		ac := arenas.Get()
		done := make(chan bool)
		go func() { ac.Release(); close(done) }()
		<-done
		b, err := pool.Alloc(100)
		if err != nil {
			t.Fatal(err)
		}
		if err := pool.Free(b); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	if err := errors.Join(a.Close(), pool.Close()); err != nil {
		t.Fatal(err)
	}
	stop.Store(true)
	scrapes.Wait()
	if got := values(t, r)["tlsf_frees_total c"]; got != float64(rounds) {
		t.Errorf("%v frees, want %d", got, rounds)
	}
}

// TestManyNames: Describe and Collect agree for many collectors in one registry.
func TestManyNames(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	for i := range 100 {
		r.MustRegister(Allocator(strconv.Itoa(i), gomem.NewScalableMemoryAllocator(1<<20)))
	}
	if n := len(values(t, r)); n != 100*len(allocatorFigures) {
		t.Error(n)
	}
}

// What a scrape costs, and what it does not count: the making of the text.
func BenchmarkCollect(b *testing.B) {
	a := gomem.NewScalableMemoryAllocator(1 << 20)
	for range 5000 {
		a.Free(a.Malloc(100))
	}
	pool, err := tlsf.New(1<<16, tlsf.WithLock())
	if err != nil {
		b.Fatal(err)
	}
	arenas := lac.NewPool("bench")
	for range 100 {
		arenas.Get().Release()
	}
	b.Run("read=allocator", func(b *testing.B) { bench(b, func() { a.Stats() }) })
	b.Run("read=arenas", func(b *testing.B) { bench(b, func() { arenas.Stats() }) })
	b.Run("read=tlsf", func(b *testing.B) { bench(b, func() { pool.Stats() }) })
	for name, c := range map[string]prometheus.Collector{
		"allocator": Allocator("a", a), "arenas": Arenas("a", arenas), "tlsf": TLSF("a", pool.Stats), "mapped": Mapped(),
	} {
		b.Run("collect="+name, func(b *testing.B) {
			ch := make(chan prometheus.Metric, 100)
			bench(b, func() {
				c.Collect(ch)
				for len(ch) > 0 {
					<-ch
				}
			})
		})
	}
	r := prometheus.NewRegistry()
	r.MustRegister(Allocator("a", a))
	b.Run("text=allocator", func(b *testing.B) {
		bench(b, func() {
			text, _ := testutil.GatherAndFormat(r, expfmt.TypeTextPlain)
			_, _ = io.Discard.Write(text)
		})
	})
}

func bench(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

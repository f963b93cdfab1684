package lac

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// The large rows of the predecessor: one message of 1,656 objects.

type enumA int32

type pbItemEx struct {
	Id1, Id2, Id3, Id4, Id5, Id6, Id7, Id8, Id9, Id10 *int
	Price                                             *int
	Class                                             *int
	Name1                                             *string
	Active                                            *bool
	EnumVal                                           *enumA
}

type pbDataEx struct {
	Age   [10]*int
	Items [9][]*pbItemEx
	InUse [10]*pbItemEx
}

// treeItem makes an item and its 15 scalars; a nil arena is the Go heap.
func treeItem(ac *Allocator, j int) *pbItemEx {
	item := New[pbItemEx](ac)
	item.Id1 = ac.Int(2 + j)
	item.Id2 = ac.Int(2 + j)
	item.Id3 = ac.Int(2 + j)
	item.Id4 = ac.Int(2 + j)
	item.Id5 = ac.Int(2 + j)
	item.Id6 = ac.Int(2 + j)
	item.Id7 = ac.Int(2 + j)
	item.Id8 = ac.Int(2 + j)
	item.Id9 = ac.Int(2 + j)
	item.Id10 = ac.Int(2 + j)
	item.Price = ac.Int(100 + j)
	item.Class = ac.Int(3 + j)
	item.Name1 = ac.String("name")
	item.Active = ac.Bool(true)
	item.EnumVal = NewEnum(ac, enumA(2))
	return item
}

func tree(ac *Allocator, i int) *pbDataEx {
	d := New[pbDataEx](ac)
	for k := range d.Age {
		d.Age[k] = ac.Int(11 + i)
	}
	for k := range d.InUse {
		d.InUse[k] = treeItem(ac, i)
	}
	for k := range d.Items {
		for j := range 10 {
			d.Items[k] = Append(ac, d.Items[k], treeItem(ac, j))
		}
	}
	return d
}

// checkTree fails the benchmark if the tree is not what tree makes.
func checkTree(b *testing.B, d *pbDataEx, i int) {
	b.Helper()
	if *d.Age[9] != 11+i || *d.InUse[9].Id1 != 2+i || len(d.Items[8]) != 10 || *d.Items[8][9].Name1 != "name" {
		b.Fatal("the tree is damaged")
	}
}

func Benchmark_RawMallocLarge2(b *testing.B) {
	b.ReportAllocs()
	var d *pbDataEx
	i := 0
	for b.Loop() {
		i++
		d = tree(nil, i)
	}
	checkTree(b, d, i)
}

func benchTree(b *testing.B, p *AllocatorPool, shared bool) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		ac := p.Get()
		if shared {
			ac.IncRef()
		}
		d := tree(ac, i)
		if d.Age[0] == nil {
			b.Fatal("lost a value")
		}
		if shared {
			ac.DecRef()
		}
		ac.Release()
	}
}

func Benchmark_LacMallocLarge2(b *testing.B) { benchTree(b, NewPool("b"), false) }

func Benchmark_LacMallocLarge2Mt(b *testing.B) { benchTree(b, NewPool("b"), true) }

func Benchmark_LacScannedLarge2(b *testing.B) { benchTree(b, NewPool("b", WithScanned()), false) }

// Large keeps every tree alive until the end of a round, as a server with many
// requests at once does; the collector has to look at all of it.
func benchLarge(b *testing.B, get func() *Allocator) {
	b.ReportAllocs()
	const live = 64
	var trees [live]*pbDataEx
	var acs [live]*Allocator
	i := 0
	for b.Loop() {
		k := i % live
		if trees[k] != nil {
			acs[k].Release()
		}
		acs[k] = get()
		trees[k] = tree(acs[k], i)
		i++
	}
	runtime.KeepAlive(trees)
	for _, ac := range acs {
		if ac != nil {
			ac.Release()
		}
	}
}

func Benchmark_RawMallocLarge(b *testing.B) { benchLarge(b, func() *Allocator { return nil }) }

func Benchmark_LacMallocLarge(b *testing.B) {
	p := NewPool("b")
	benchLarge(b, p.Get)
}

func Benchmark_LacScannedLarge(b *testing.B) {
	p := NewPool("b", WithScanned())
	benchLarge(b, p.Get)
}

// Several goroutines build items in one arena; the time is for all of them, so
// that twice the goroutines on two processors should not take longer than those
// with an arena each do.
func Benchmark_Goroutines(b *testing.B) {
	for _, items := range []int{2000, 40_000} {
		for _, mode := range []string{"single-1", "single-2", "incref-1", "incref-2", "fork-1", "fork-2"} {
			b.Run(fmt.Sprintf("items=%d/%s", items, mode), func(b *testing.B) {
				n := int(mode[len(mode)-1] - '0')
				own, pools := make([]*Allocator, n), make([]*AllocatorPool, n)
				for i := range pools {
					pools[i] = NewPool("b", WithChunkSize(1<<20))
				}
				round, stop := inRounds(n, func(worker int) {
					ac := own[worker]
					if mode[0] == 's' {
						ac = pools[worker].Get()
					}
					for i := range items {
						arenaItem(ac, i)
					}
					switch mode[0] {
					case 'i':
						ac.DecRef()
					case 'f', 's':
						ac.Release()
					}
				})
				for b.Loop() {
					var ac *Allocator
					if mode[0] != 's' {
						ac = pools[0].Get()
					}
					for i := range own {
						own[i] = ac
						switch mode[0] {
						case 'i':
							ac.IncRef()
						case 'f':
							own[i] = ac.Fork()
						}
					}
					round()
					ac.Release()
				}
				stop()
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
			})
		}
	}
}

// inRounds starts workers beside the caller, who is worker 0: round has each of
// them work once. In between they spin, because to wake a processor takes about as
// long as a round.
func inRounds(workers int, work func(worker int)) (round, stop func()) {
	var started, busy struct {
		atomic.Int64
		_ [64]byte // a cache line each
	}
	var group sync.WaitGroup
	over := false
	await := func(v *atomic.Int64, want int64) {
		for i := 0; v.Load() != want; i++ {
			if i >= 10_000 {
				runtime.Gosched()
			}
		}
	}
	for worker := 1; worker < workers; worker++ {
		group.Go(func() {
			for n := int64(1); ; n++ {
				if await(&started.Int64, n); over {
					return
				}
				work(worker)
				busy.Add(-1)
			}
		})
	}
	round = func() {
		busy.Store(int64(workers - 1))
		started.Add(1)
		work(0)
		await(&busy.Int64, 0)
	}
	return round, func() {
		over = true
		started.Add(1)
		group.Wait()
	}
}

// One operation at a time, called directly; the arena is renewed once in 2,000.
func Benchmark_One(b *testing.B) {
	const every = 2000
	plain, scanned := NewPool("b"), NewPool("b", WithScanned())
	for _, m := range []struct {
		name string
		pool *AllocatorPool
	}{{"heap", nil}, {"lac", plain}, {"scanned", scanned}} {
		b.Run("new8/"+m.name, func(b *testing.B) {
			b.ReportAllocs()
			ac, left := m.pool.Get(), every
			for b.Loop() {
				sink = New[int](ac)
				if left--; left == 0 {
					ac.Release()
					ac, left = m.pool.Get(), every
				}
			}
			ac.Release()
		})
		b.Run("new40/"+m.name, func(b *testing.B) {
			b.ReportAllocs()
			ac, left := m.pool.Get(), every
			for b.Loop() {
				sinkItem = New[pbItem](ac)
				if left--; left == 0 {
					ac.Release()
					ac, left = m.pool.Get(), every
				}
			}
			ac.Release()
		})
	}
	run := func(name string, p *AllocatorPool, f func(ac *Allocator)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ac, left := p.Get(), every
			for b.Loop() {
				f(ac)
				if left--; left == 0 {
					ac.Release()
					ac, left = p.Get(), every
				}
			}
			ac.Release()
		})
	}
	run("append/heap", nil, appendSome)
	run("append/lac", plain, appendSome)
	run("string/lac", plain, func(ac *Allocator) { ac.NewString("sixteen bytes...") })
	b.Run("getrelease", func(b *testing.B) {
		p := NewPool("b")
		for b.Loop() {
			p.Get().Release()
		}
	})
	b.Run("syncpool", func(b *testing.B) {
		p := sync.Pool{New: func() any { return new(pbItem) }}
		for b.Loop() {
			p.Put(p.Get())
		}
	})
}

var (
	sink      *int
	sinkSlice []int
)

// appendSome appends 16 elements, one at a time.
func appendSome(ac *Allocator) {
	var s []int
	for i := range 16 {
		s = Append(ac, s, i)
	}
	if ac == nil {
		sinkSlice = s
	}
}

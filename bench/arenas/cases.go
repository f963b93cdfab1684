package arenas

import (
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/lac"
)

// The ways of allocating.
const (
	Heap    = "heap"
	Lac     = "lac"
	Shared  = "lac, IncRef" // the handle may be used by several goroutines
	Scanned = "lac, scanned"
	GoArena = "Go arena"
)

// Cases returns what one goroutine does. The goals of an arena include its
// release and reuse.
func Cases() []rows.Case {
	// A goal in ns holds for the machine on which the heap took what was published
	// with it. The share of the heap's time is the same goal for any machine.
	atMost := func(ns, share float64) []rows.Goal {
		return []rows.Goal{{Way: Lac, Most: ns, NoAllocs: true}, {Way: Lac, Than: Heap, Most: share}, {Way: Scanned, Than: Heap, Most: 1}}
	}
	const fiveShare, treeShare = 0.118, 0.128 // 15 of 117 to 137, 6,000 of 36,000 to 58,000
	return []rows.Case{
		{Op: "5 objects, released each time", Ways: messages(), Goals: atMost(15, fiveShare)},
		{Op: "5 objects, released every 100", Ways: fills(100, fiveObjects), Goals: atMost(15, fiveShare)},
		{Op: "5 objects, released every 10,000", Ways: append(fills(10_000, fiveObjects), goArenaItems(10_000)...)},
		{Op: "New of 8 B", Ways: fills(2000, oneInt), Goals: []rows.Goal{{Way: Lac, Most: 3, NoAllocs: true}}},
		{Op: "New of 40 B of pointers", Ways: fills(2000, oneItem), Goals: []rows.Goal{{Way: Scanned, Than: Heap, Most: 1}}},
		{Op: "Append of 16 elements, one by one", Ways: fills(2000, appends)},
		{Op: "tree of 1,656 objects", Ways: append(fills(1, wholeTree), goArenaTrees()...), Goals: atMost(6000, treeShare)},
		{Op: "the same, 64 trees alive", Ways: forests()},
	}
}

// filler does one operation n times in an arena.
type filler func(ac *lac.Allocator, n int)

func fiveObjects(ac *lac.Allocator, n int) {
	for i := range n {
		Kept.Item = small(ac, i)
	}
}

func oneInt(ac *lac.Allocator, n int) {
	for range n {
		Kept.Int = lac.New[int](ac)
	}
}

func oneItem(ac *lac.Allocator, n int) {
	for range n {
		Kept.Item = lac.New[item](ac)
	}
}

func appends(ac *lac.Allocator, n int) {
	for range n {
		var s []int
		for i := range 16 {
			s = lac.Append(ac, s, i)
		}
		Kept.Slice = s
	}
}

func wholeTree(ac *lac.Allocator, n int) {
	for i := range n {
		Kept.Tree = tree(ac, i)
	}
}

// fills returns the ways that need no experiment: an arena is released after
// every so many operations, and its memory serves the next one.
func fills(every int, fill filler) []rows.Way {
	return []rows.Way{
		{Name: Heap, Start: func() (func(int), func()) {
			return func(n int) { fill(nil, n) }, func() {}
		}},
		inArenas(Lac, every, fill),
		inArenas(Shared, every, func(ac *lac.Allocator, n int) {
			ac.IncRef()
			fill(ac, n)
			ac.DecRef()
		}),
		inArenas(Scanned, every, fill, lac.WithScanned()),
	}
}

func inArenas(name string, every int, fill filler, options ...lac.Option) rows.Way {
	return rows.Way{Name: name, Start: func() (func(int), func()) {
		pool := lac.NewPool("bench", options...)
		return func(n int) { inTurn(pool, n, every, fill) }, func() {}
	}}
}

// inTurn does n operations, so many in each arena. Here and below the loops are
// functions because the compiler copies literals with what makes the ways, and
// does not inline the release then as it does in other code.
func inTurn(pool *lac.AllocatorPool, n, every int, fill filler) {
	for n > 0 {
		ac := pool.Get()
		fill(ac, min(n, every))
		ac.Release()
		n -= every
	}
}

// messages makes a message in an arena of its own, without the call in between
// that fills has for each arena: here it would be a tenth of the time.
func messages() []rows.Way {
	way := func(name string, pool *lac.AllocatorPool, loop func(*lac.AllocatorPool, int)) rows.Way {
		return rows.Way{Name: name, Start: func() (func(int), func()) {
			return func(n int) { loop(pool, n) }, func() {}
		}}
	}
	return []rows.Way{
		way(Heap, nil, oneEach),
		way(Lac, lac.NewPool("bench"), oneEach),
		way(Shared, lac.NewPool("bench"), sharedEach),
		way(Scanned, lac.NewPool("bench", lac.WithScanned()), oneEach),
	}
}

func oneEach(pool *lac.AllocatorPool, n int) {
	for i := range n {
		ac := pool.Get()
		Kept.Item = small(ac, i)
		ac.Release()
	}
}

func sharedEach(pool *lac.AllocatorPool, n int) {
	for i := range n {
		ac := pool.Get()
		ac.IncRef()
		Kept.Item = small(ac, i)
		ac.DecRef()
		ac.Release()
	}
}

// forests keep the last 64 trees alive, as a server does that works on many
// requests at once: the collector has to look at them.
func forests() []rows.Way {
	const alive = 64
	forest := func(name string, pool *lac.AllocatorPool) rows.Way {
		return rows.Way{Name: name, Start: func() (func(int), func()) {
			var trees [alive]*message
			var arenas [alive]*lac.Allocator
			next := 0
			return func(n int) {
					for range n {
						trees[next] = nil
						arenas[next].Release()
						arenas[next] = pool.Get()
						trees[next] = tree(arenas[next], next)
						next = (next + 1) % alive
					}
				}, func() {
					for i, ac := range arenas {
						trees[i] = nil
						ac.Release()
					}
				}
		}}
	}
	return []rows.Way{
		forest(Heap, nil),
		forest(Lac, lac.NewPool("bench")),
		forest(Scanned, lac.NewPool("bench", lac.WithScanned())),
	}
}

// The ways of several goroutines. A plain number is how many there are.
const (
	Alone     = "1, not shared"
	TwoAlone  = "2, not shared" // an arena each: what the machine leaves of two cores
	OneShared = "1, IncRef"
	TwoShared = "2, IncRef"
	OneFork   = "1, Fork"
	TwoFork   = "2, Fork"
)

// Together returns what several goroutines do in one arena. An operation is one
// in each of them: on as many cores it takes as long as one alone.
func Together() []rows.Case {
	// The goal, over one goroutine and, for machines that do not give two of them two
	// cores, over two that share nothing.
	const overAlone = 1.3
	return []rows.Case{{
		Op: "5 objects",
		Ways: []rows.Way{
			together(Alone, 1, nil), together(TwoAlone, 2, nil),
			together(OneShared, 1, byIncRef), together(TwoShared, 2, byIncRef),
			together(OneFork, 1, byFork), together(TwoFork, 2, byFork),
		},
		Goals: []rows.Goal{
			{Way: TwoShared, Than: Alone, Most: overAlone, NoAllocs: true},
			{Way: TwoFork, Than: Alone, Most: overAlone, NoAllocs: true},
			{Way: TwoShared, Than: TwoAlone, Most: overAlone},
			{Way: TwoFork, Than: TwoAlone, Most: overAlone},
		},
	}}
}

// A share gives a goroutine its access to an arena, and what ends it.
func byIncRef(ac *lac.Allocator) (own *lac.Allocator, done func()) {
	ac.IncRef()
	return ac, ac.DecRef
}

func byFork(ac *lac.Allocator) (own *lac.Allocator, done func()) {
	own = ac.Fork()
	return own, own.Release
}

// together lets goroutines fill one arena after the other, 2,000 items each at a
// time: few enough for the caches, so that the memory of the machine, which the
// goroutines share whatever allocates, does not count. Without a share each has
// an arena of its own.
func together(name string, goroutines int, share func(*lac.Allocator) (*lac.Allocator, func())) rows.Way {
	const batch, chunk = 2000, 1 << 20
	return rows.Way{Name: name, Start: func() (func(int), func()) {
		pools := make([]*lac.AllocatorPool, goroutines)
		for i := range pools {
			pools[i] = lac.NewPool("bench", lac.WithChunkSize(chunk))
		}
		own, done := make([]*lac.Allocator, goroutines), make([]func(), goroutines)
		return func(n int) {
			c := gather(goroutines, func(worker int) {
				ac, end := own[worker], done[worker]
				if share == nil {
					ac = pools[worker].Get()
					end = ac.Release
				}
				var it *item
				for i := range min(n, batch) {
					it = small(ac, i)
				}
				if *it.ID < 0 {
					panic("the last item is damaged")
				}
				end()
			})
			defer c.dismiss()
			for ; n > 0; n -= batch {
				if share == nil {
					c.together()
					continue
				}
				ac := pools[0].Get()
				for worker := range own {
					own[worker], done[worker] = share(ac)
				}
				c.together()
				ac.Release()
			}
		}, func() {}
	}}
}

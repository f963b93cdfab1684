// Moving allocates from one handle in many goroutines, whose stacks grow and shrink
// all the time, for a few seconds, and from one of their own each. It fails if one
// object is handed out twice. A test compiles it otherwise than package lac.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/gomem-go/gomem/lac"
)

const (
	goroutines = 40
	objects    = 600 // of each goroutine
	lasting    = 2 * time.Second
)

func main() {
	runtime.GOMAXPROCS(3)
	go func() {
		for {
			runtime.GC() // which shrinks stacks
		}
	}()
	pool := lac.NewPool("moving")
	for start := time.Now(); time.Since(start) < lasting; {
		round(pool)
	}
}

// round is one arena.
func round(pool *lac.AllocatorPool) {
	var all [goroutines][objects]*int
	ac := pool.Get()
	defer ac.Release()
	var group sync.WaitGroup
	for g := range all {
		ac.IncRef()
		group.Go(func() {
			defer ac.DecRef()
			for i := range all[g] {
				if i%100 == 0 {
					deep(6 + g%30)
				}
				all[g][i] = allocate(ac)
				alone(pool, g+1)
			}
		})
	}
	group.Wait()
	for g := range all {
		for i, v := range all[g] {
			if *v != 0 {
				fmt.Printf("object %d of goroutine %d is object %d of goroutine %d\n", i, g, (*v-1)%objects, (*v-1)/objects)
				os.Exit(1)
			}
			*v = g*objects + i + 1
		}
	}
}

// allocate is in a frame of its own, so that what it calls may be what the stack
// has no room for.
//
//go:noinline
func allocate(ac *lac.Allocator) *int { return lac.New[int](ac) }

// alone has an arena for a moment, in which others may work meanwhile if it is theirs
// too.
//
//go:noinline
func alone(pool *lac.AllocatorPool, id int) {
	own := pool.Get()
	defer own.Release()
	v := lac.New[int](own)
	was := *v
	*v = id
	for range 20 {
		if was != 0 || *v != id {
			fmt.Printf("goroutine %d shares its arena with goroutine %d\n", id, max(was, *v))
			os.Exit(1)
		}
	}
}

// deep makes the stack grow.
//
//go:noinline
func deep(depth int) byte {
	var pad [256]byte
	if depth > 0 {
		pad[depth] = deep(depth - 1)
	}
	return pad[depth/2]
}

package lac_test

import (
	"sync"
	"testing"

	"github.com/gomem-go/gomem/lac"
)

// TestSwitchLosesNoCounts: arenas that come and go while debug mode is switched are all
// counted.
func TestSwitchLosesNoCounts(t *testing.T) {
	const workers, each = 6, 300
	for range 50 {
		p := lac.NewPool("switched", lac.WithMisuse(func(err error) { t.Error(err) }))
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					if w < 2 && i%4 == 0 {
						p.EnableDebugMode(false)
					}
					ac := p.Get()
					lac.New[int](ac)
					ac.Release()
				}
			})
		}
		wg.Wait()
		if s := p.Stats(); s.Gets != workers*each || s.Releases != workers*each {
			t.Fatalf("%d arenas lent and %d released, want %d", s.Gets, s.Releases, workers*each)
		}
		p.DebugCheck() // all are released
	}
}

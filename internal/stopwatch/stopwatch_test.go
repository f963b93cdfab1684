package stopwatch

import (
	"testing"
	"time"
)

// TestNow: it goes on, in steps of a microsecond or less, and as fast as the time.
func TestNow(t *testing.T) {
	const nap = 20 * time.Millisecond
	earliest, begin, latest := Now(), time.Now(), Now()
	least := time.Hour
	for last := latest; time.Since(begin) < nap; {
		now := Now()
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		if now > last {
			least = min(least, now-last)
		}
		last = now
	}
	if least > time.Microsecond {
		t.Errorf("the smallest step is %v", least)
	}
	// The clock of package time may be 16 ms late at either end.
	const late = 16 * time.Millisecond
	atLeast, passed, atMost := Now()-latest, time.Since(begin), Now()-earliest
	if passed < atLeast-late || passed > atMost+late {
		t.Errorf("%v to %v passed, by package time %v", atLeast, atMost, passed)
	}
}

func TestNowAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

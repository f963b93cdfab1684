package stopwatch

import (
	"testing"
	"time"
)

// TestNow: it goes on, in steps of less than a microsecond, and as fast as the time.
func TestNow(t *testing.T) {
	const nap = 20 * time.Millisecond
	start, begin := Now(), time.Now()
	least := time.Hour
	for last := start; time.Since(begin) < nap; {
		now := Now()
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		if now > last {
			least = min(least, now-last)
		}
		last = now
	}
	// The clock of package time may be 16 ms late at both ends.
	if passed, want := Now()-start, time.Since(begin); passed < want-20*time.Millisecond || passed > want+20*time.Millisecond {
		t.Errorf("%v passed, by package time %v", passed, want)
	}
	if least > time.Microsecond {
		t.Errorf("the smallest step is %v", least)
	}
}

func TestNowAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

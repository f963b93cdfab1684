//go:build !windows

package stopwatch

import "time"

var epoch = time.Now()

// Now is the time since a moment at the start of the program. It never decreases.
func Now() time.Duration { return time.Since(epoch) }

//go:build race

package load

// raceEnabled: the race detector reports the bytes that goroutines on the floor share.
const raceEnabled = true

//go:build race

package relay

// raceEnabled: sync.Pool then drops at random what is put into it.
const raceEnabled = true

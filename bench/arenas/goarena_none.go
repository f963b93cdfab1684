//go:build !goexperiment.arenas

package arenas

import "github.com/gomem-go/gomem/bench/rows"

// HasGoArena is whether the program was built with GOEXPERIMENT=arenas.
const HasGoArena = false

func goArenaItems(int) []rows.Way { return nil }

func goArenaTrees() []rows.Way { return nil }

//go:build !asan

package backing

// Poisons reports whether [Poison] does anything in this build.
const Poisons = false

// Poison marks memory that may not be accessed: under -asan a read or write of
// it ends the program with a report of where. In any other build it is an
// empty function and costs nothing. mem should start on a multiple of 8, the
// granularity of the sanitizer. Accesses that the sanitizer does not instrument (system
// calls, assembly) are not checked; runtime.ASanRead asks it explicitly.
func Poison(mem []byte) {}

// Unpoison takes back [Poison]. Memory must be unpoisoned before it is handed
// out again; Unmap does it for what it gives back.
func Unpoison(mem []byte) {}

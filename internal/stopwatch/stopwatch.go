// Package stopwatch measures times of less than a microsecond on every system. Package time does
// so too, but for Windows, where its clock moves in steps of half a millisecond or more, and
// nearly all that is shorter takes no time at all.
//
// Now costs what time.Since does, and on Windows a call of its library.
package stopwatch

// Package soak keeps an allocator under a mixed load for as long as it is told
// to, and stops at the first thing that is not as promised.
//
// The load comes in cycles of ramp, plateau and drain, each with another number
// of goroutines. Every block carries a stamp that is checked before it is freed;
// blocks are freed whole and in parts, by their goroutine and by others; frees
// that are none are mixed in and must be refused; Verify, Trim and Stats run all
// the while. When a drain is over nothing may be live, at most one chunk be
// kept, and both the resident memory and the Go heap must be back where they
// were.
package soak

//go:build (unix && !aix && !solaris) || illumos || windows

package gomem

// maxWritev is how many buffers package net passes to one writev. More are several
// packets on a connection of packets.
const maxWritev = 1024

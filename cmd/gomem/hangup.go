//go:build unix || windows

package main

import (
	"os"
	"syscall"
)

// hangup is the end of the terminal.
var hangup = []os.Signal{syscall.SIGHUP}

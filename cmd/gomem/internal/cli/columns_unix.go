//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is the width of the terminal f, 0 if that is unknown.
func columns(f *os.File) (n int) {
	conn, err := f.SyscallConn() // f.Fd may change how f is read
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			n = int(size.Col)
		}
	})
	return n
}

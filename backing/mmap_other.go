//go:build race || !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package backing

func mmapWith(mmapFlags) Source { return Heap() }

func mapped() int { return 0 }

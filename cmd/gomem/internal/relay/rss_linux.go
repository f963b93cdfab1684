package relay

import (
	"bytes"
	"os"
)

// rssReader reads the resident set size of the process.
type rssReader struct {
	file *os.File
	buf  [128]byte
}

// read returns bytes, 0 if unknown. It allocates with the first call only.
func (r *rssReader) read() int64 {
	if r.file == nil {
		f, err := os.Open("/proc/self/statm")
		if err != nil {
			return 0
		}
		r.file = f
	}
	n, _ := r.file.ReadAt(r.buf[:], 0)
	_, rest, _ := bytes.Cut(r.buf[:n], []byte(" "))
	var pages int64
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		pages = pages*10 + int64(c-'0')
	}
	return pages * int64(os.Getpagesize())
}

func (r *rssReader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

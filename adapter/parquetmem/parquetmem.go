// Package parquetmem gives the writers of parquet-go their buffers from an allocator of
// package gomem: pages wait there until a row group is complete, and all rows of a sorting
// writer until it is closed. That memory then has a limit, may lie off the Go heap, and is
// free at once when it is no longer needed, where parquet-go's own pools keep it on the heap
// until two garbage collections have passed.
//
//	pages := gomem.NewScalableMemoryAllocator(16<<20,
//		gomem.WithBacking(backing.Mmap()),
//		gomem.WithMaxBytes(1<<30)) // of all writers together
//	pool := parquetmem.New(pages, 64<<10)
//
//	w := parquet.NewGenericWriter[Row](file, parquet.ColumnPageBuffers(pool))
//
//	s := parquet.NewSortingWriter[Row](file, 100_000,
//		parquet.ColumnPageBuffers(pool),
//		parquet.SortingWriterConfig(
//			parquet.SortingColumns(parquet.Ascending("name")),
//			parquet.SortingBuffers(pool)))
//
// DeferBloomFiltersWithBuffers takes the pool, too. The encoded values of the page that is
// being filled, dictionaries and the rows that a sorting writer has yet to sort are not in
// these buffers: parquet-go has them on the Go heap.
//
// # When there is no room
//
// A Write to a buffer returns an error that wraps that of the allocator, such as
// [gomem.ErrLimit], and so do Write, Flush or Close of the writer, whichever came to write
// the page. The file is then incomplete.
//
// # What a writer does not give back
//
// A writer that is closed without an error gives back all its buffers. If Close fails, for
// example because the output refuses the first bytes of the file, some may remain. Call Reset
// of the writer, with io.Discard, to give those back, too. Buffers of a writer that is
// neither closed nor reset come back with a garbage collection after the writer was dropped.
//
// Close the allocator after the writers, and never Recycle it: a buffer that is freed later
// would take the bytes from a new owner.
//
// # What it costs
//
// Writing takes as long as with the pools of parquet-go, within what two runs differ by; see
// BenchmarkWriter. A block is in use as soon as its first byte is, and a writer has a buffer
// for each column: with 64 KiB a writer of 100 columns takes 6.4 MiB at least, however little
// it writes. For many columns or small row groups choose 4 KiB or 16 KiB. A buffer is a few
// small objects of garbage, which parquet-go's own pools reuse.
package parquetmem

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/gomem-go/gomem"
)

// Pool is a parquet.BufferPool over an allocator. Any goroutine may call its methods; each
// buffer is for one goroutine at a time, except for its ReadAt. The zero value takes blocks
// of 64 KiB from the Go heap.
type Pool struct {
	a    *gomem.ScalableMemoryAllocator
	size int
}

const (
	defaultSize = 64 << 10
	leastSize   = 512
)

// New returns a pool of buffers that consist of blocks of blockSize bytes from a. 64 KiB is
// the default if blockSize is not positive; less than 512 counts as 512. A nil a is the Go
// heap.
func New(a *gomem.ScalableMemoryAllocator, blockSize int) *Pool {
	p := &Pool{a: a}
	if blockSize > 0 {
		p.size = max(blockSize, leastSize)
	}
	return p
}

// GetBuffer returns an empty buffer: bytes that are written, overwritten and read at a
// position, like those of a file, except that the position never lies behind the end: Seek
// goes to the end instead. It also implements io.ReaderAt, with which parquet-go need not
// seek, and io.WriterTo.
//
// It takes no block before the first Write, which fails if there is no room. O(1), four
// small objects on the Go heap.
func (p *Pool) GetBuffer() io.ReadWriteSeeker {
	b := &buffer{content: &content{a: p.a}, size: p.size}
	if b.size == 0 {
		b.size = defaultSize
	}
	// So that the blocks of a buffer which never comes back are not lost.
	runtime.AddCleanup(b, (*content).free, b.content)
	return b
}

// PutBuffer frees the blocks of a buffer, which returns an error from then on. A buffer that
// was given back before, one that is not from this package, and nil are ignored; one of
// another Pool goes back to the allocator it is from. O(blocks).
func (p *Pool) PutBuffer(buf io.ReadWriteSeeker) {
	if b, ok := buf.(*buffer); ok && b != nil {
		b.content.free()
		b.length, b.seek, b.returned = 0, 0, true
	}
}

// content is what a buffer has of the allocator.
type content struct {
	a      *gomem.ScalableMemoryAllocator
	blocks [][]byte
}

func (c *content) free() {
	for _, b := range c.blocks {
		c.a.Free(b)
	}
	c.blocks = nil
}

var errReturned = errors.New("parquetmem: the buffer was given back")

// buffer has length bytes in the blocks of content, which are size bytes each.
type buffer struct {
	content      *content // does not refer to the buffer, whose cleanup holds it
	size         int
	length, seek int64
	returned     bool
}

// at returns the bytes of one block from position off on.
func (b *buffer) at(off int64) []byte {
	i := off / int64(b.size)
	end := min(b.length-i*int64(b.size), int64(b.size))
	return b.content.blocks[i][off-i*int64(b.size) : end]
}

// ReadAt implements [io.ReaderAt].
func (b *buffer) ReadAt(p []byte, off int64) (n int, err error) {
	if b.returned {
		return 0, errReturned
	}
	if off < 0 {
		return 0, fmt.Errorf("parquetmem: negative offset: %d", off)
	}
	for n < len(p) && off < b.length {
		m := copy(p[n:], b.at(off))
		n, off = n+m, off+int64(m)
	}
	runtime.KeepAlive(b) // its cleanup must not free what is being copied
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Read implements [io.Reader].
func (b *buffer) Read(p []byte) (int, error) {
	n, err := b.ReadAt(p, b.seek)
	b.seek += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Write implements [io.Writer].
func (b *buffer) Write(p []byte) (n int, err error) {
	if b.returned {
		return 0, errReturned
	}
	for n < len(p) {
		c := b.content
		i := int(b.seek / int64(b.size))
		if i == len(c.blocks) {
			block, err := c.a.TryMalloc(b.size)
			if err != nil {
				return n, fmt.Errorf("parquetmem: no room for a page: %w", err)
			}
			c.blocks = append(c.blocks, block)
		}
		m := copy(c.blocks[i][b.seek%int64(b.size):], p[n:])
		n, b.seek = n+m, b.seek+int64(m)
		b.length = max(b.length, b.seek)
	}
	return n, nil
}

// WriteTo implements [io.WriterTo].
func (b *buffer) WriteTo(w io.Writer) (written int64, err error) {
	if b.returned {
		return 0, errReturned
	}
	for b.seek < b.length {
		p := b.at(b.seek)
		n, err := w.Write(p)
		if n < 0 || n > len(p) {
			return written, gomem.ErrInvalidWrite
		}
		written, b.seek = written+int64(n), b.seek+int64(n)
		if err != nil {
			return written, err
		}
		if n < len(p) {
			return written, io.ErrShortWrite
		}
	}
	return written, nil
}

// Seek implements [io.Seeker].
func (b *buffer) Seek(offset int64, whence int) (int64, error) {
	switch {
	case b.returned:
		return 0, errReturned
	case whence == io.SeekCurrent:
		offset += b.seek
	case whence == io.SeekEnd:
		offset += b.length
	case whence != io.SeekStart:
		return 0, fmt.Errorf("parquetmem: invalid whence: %d", whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("parquetmem: negative position: %d", offset)
	}
	b.seek = min(offset, b.length)
	return b.seek, nil
}

package gomem

import "io"

var _ io.ReaderFrom = (*RecyclableMemory)(nil)

// ReadFrom implements [io.ReaderFrom]: it reads src to its end and returns how many bytes
// that were. They are at the end of the chain, in buffers of [DefaultBufLen] bytes and a
// last one of what is left, as if NextN had added them. Bytes that came before an error
// or a panic of src stay in the chain.
//
// The error is that of src, of [ScalableMemoryAllocator.TryMalloc], [io.ErrNoProgress] if
// src keeps returning nothing, or wraps [ErrInvalidRead] if a count is impossible. Nothing
// but the allocator's WithMaxBytes bounds a src without end: use an [io.LimitReader].
// The cost is that of the reads, and of NextN for each buffer.
func (r *RecyclableMemory) ReadFrom(src io.Reader) (n int64, err error) {
	for err == nil {
		var got int
		got, err = r.readBuffer(src)
		n += int64(got)
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// readBuffer adds one buffer with what src has, full unless there is an error.
func (r *RecyclableMemory) readBuffer(src io.Reader) (got int, err error) {
	a := r.allocator
	if !r.recycles() {
		a = nil
	}
	b, err := a.TryMalloc(DefaultBufLen)
	if err != nil {
		return 0, err
	}
	defer func() {
		switch a.FreeRest(&b, got); {
		case got == 0:
		case r.recycles():
			r.AddRecycleBytes(b)
		default:
			r.pushOfHeap(b)
		}
	}()
	for empty := 0; got < len(b) && err == nil; {
		var n int
		n, err = src.Read(b[got:])
		if n < 0 || n > len(b)-got {
			return got, invalidRead(n, len(b)-got)
		}
		if got += n; n > 0 {
			empty = 0
		} else if empty++; empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
	}
	return got, err
}

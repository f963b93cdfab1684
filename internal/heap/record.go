package heap

// Recorder is told what a heap hands out and takes back, in the order in which
// that happens: it runs each operation itself. A heap with a recorder has no
// spans, so that every call takes the slow path and none escapes it.
type Recorder interface {
	// Malloc runs alloc and returns what it returns.
	Malloc(alloc func() ([]byte, error)) ([]byte, error)
	// Free runs free and returns its error; without one the bytes of b are
	// free.
	Free(b []byte, free func() error) error
	// Reset says that nothing is live any more.
	Reset()
	// Close ends the record and returns the first failure to keep it.
	Close() error
}

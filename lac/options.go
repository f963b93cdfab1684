package lac

// An Option sets one property of a pool made by [NewPool].
type Option func(*settings)

type settings struct {
	logger                             Logger
	onMisuse                           func(error)
	lacCap, chunkSize, chunks, maxIdle int
	scanned, debug                     bool
	attached                           []any
}

// defaults are the settings of a pool made without options.
func defaults() settings {
	return settings{lacCap: 256, chunkSize: defaultChunkSize, maxIdle: 1024}
}

// WithLogger sends one line per misuse to logger instead of the log package.
func WithLogger(logger Logger) Option { return func(s *settings) { s.logger = logger } }

// WithMisuse calls f with a [*MisuseError] per misuse, instead of the logger.
// f may panic: then, too, the misuse has changed nothing, and a release that reports
// [ErrHeld] or [ErrUnattached] is done.
func WithMisuse(f func(error)) Option { return func(s *settings) { s.onMisuse = f } }

// WithIdleArenas bounds how many idle arenas the pool keeps besides the few
// of each processor. The default is 256.
func WithIdleArenas(n int) Option { return func(s *settings) { s.lacCap = n } }

// WithChunkSize sets the bytes of a chunk. The default is 64 KiB, also for 0 and less;
// sizes below 512 B or above 256 MiB are brought into that range.
func WithChunkSize(n int) Option { return func(s *settings) { s.chunkSize = n } }

// WithIdleChunks allocates some chunks at once and never trims below that number,
// and bounds the idle memory of the pool to most chunks. Neither counts the first chunk
// of an arena: that chunk stays with an idle arena, and is dropped with it once nobody
// needed the arena between two collections. The defaults are 0 and 1,024.
func WithIdleChunks(some, most int) Option {
	return func(s *settings) { s.chunks, s.maxIdle = some, most }
}

// WithScanned makes arenas in which any Go pointer may be stored without
// [Attach]: objects of a type with pointers lie in slabs of that type, which
// the collector scans. An idle arena keeps the last slab of each type, of 32 KiB at most;
// an arena that needs more takes it from the Go heap each time. So such an arena costs
// several times as much as one with Attach, and for a few objects of many types as much
// as the Go heap: it is for code that cannot attach.
func WithScanned() Option { return func(s *settings) { s.scanned = true } }

// WithDebug starts the pool in debug mode. See [AllocatorPool.EnableDebugMode],
// which also says what debug mode misses under the tag gomem_portable.
func WithDebug() Option { return func(s *settings) { s.debug = true } }

// WithAttached attaches values to every arena of the pool at once. It is for
// values that arena objects point to and that a global variable keeps alive
// anyway, such as the type descriptions of a library. The pool keeps them
// alive, too.
func WithAttached(values ...any) Option {
	return func(s *settings) { s.attached = append(s.attached, values...) }
}

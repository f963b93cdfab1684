package lac_test

import "github.com/gomem-go/gomem/lac"

// The names that programs written against the predecessor use, each with the
// type it had there: this file compiles only while all of them are as they were.
type (
	arena = *lac.Allocator
	pool  = *lac.AllocatorPool
)

var (
	_ func(string, lac.Logger, int, int, int, int) pool = lac.NewAllocatorPool
	_ func(pool) arena                                  = pool.Get
	_ func(pool, bool)                                  = pool.EnableDebugMode
	_ func(pool, bool) string                           = pool.DumpStats
	_ func(pool)                                        = pool.DebugCheck
	_ *bool                                             = &lac.DisableAllLac

	// An interface is assignable both ways only if it has the same methods.
	_ interface {
		Errorf(format string, args ...any)
	} = lac.Logger(nil)
	_ lac.Logger = interface {
		Errorf(format string, args ...any)
	}(nil)
)

var (
	_ func(arena)                = arena.Release
	_ func(arena)                = arena.IncRef
	_ func(arena)                = arena.DecRef
	_ func(arena)                = arena.CheckExternalPointers
	_ func(arena, string) string = arena.NewString

	_ func(arena, bool) *bool       = arena.Bool
	_ func(arena, int) *int         = arena.Int
	_ func(arena, int32) *int32     = arena.Int32
	_ func(arena, uint32) *uint32   = arena.Uint32
	_ func(arena, int64) *int64     = arena.Int64
	_ func(arena, uint64) *uint64   = arena.Uint64
	_ func(arena, float32) *float32 = arena.Float32
	_ func(arena, float64) *float64 = arena.Float64
	_ func(arena, string) *string   = arena.String
)

var (
	_ func(arena) *int                     = lac.New[int]
	_ func(arena, *int) *int               = lac.NewFrom[int]
	_ func(arena, int, int) []int          = lac.NewSlice[int]
	_ func(arena, []int, ...int) []int     = lac.Append[int]
	_ func(arena, int) map[string]int      = lac.NewMap[string, int]
	_ func(arena, int) *int                = lac.NewEnum[int]
	_ func(arena, map[int]any) map[int]any = lac.Attach[map[int]any]
)

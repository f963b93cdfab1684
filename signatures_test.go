package gomem_test

import (
	"io"
	"net"
	"net/textproto"

	"github.com/gomem-go/gomem"
)

// The names that programs written against the predecessors use, each with the
// type it had there. A method that gains a result still compiles where it is
// called as a statement, but fits no interface and no variable of a function any
// more; so this file compiles only while all of them are as they were.
type (
	placer       = *gomem.Allocator
	fixed        = *gomem.MemoryAllocator
	scalable     = *gomem.ScalableMemoryAllocator
	recyclable   = *gomem.RecyclableMemory
	chain        = *gomem.Memory
	chainReader  = *gomem.MemoryReader
	buddy        = *gomem.Buddy
	streamReader = *gomem.BufReader
)

var (
	_ func(int) placer         = gomem.NewAllocator
	_ func(placer, int) int    = placer.Allocate
	_ func(placer, int) int    = placer.Find
	_ func(placer, int, int)   = placer.Free
	_ func(placer) int         = placer.GetFreeSize
	_ func(placer, int)        = placer.Init
	_ func(placer)             = placer.Recycle
	_ int                      = gomem.Allocator{}.Size
	_ struct{ Start, End int } = gomem.Block{}

	_ func(placer) []*gomem.Block = placer.GetBlocks
)

var (
	_ func(int) fixed            = gomem.GetMemoryAllocator
	_ func(fixed, int) []byte    = fixed.Malloc
	_ func(fixed, int) []byte    = fixed.Find
	_ func(fixed) []*gomem.Block = fixed.GetBlocks
	_ func(fixed)                = fixed.Recycle
	_ *int                       = &new(gomem.MemoryAllocator).Size
)

var (
	// The options came after the predecessors; calls without them compile.
	_ func(int, ...gomem.Option) scalable            = gomem.NewScalableMemoryAllocator
	_ func(scalable, int) []byte                     = scalable.Malloc
	_ func(scalable, []byte) bool                    = scalable.Free
	_ func(scalable, *[]byte, int)                   = scalable.FreeRest
	_ func(scalable, int) []byte                     = scalable.Borrow
	_ func(scalable, io.Reader, int) ([]byte, error) = scalable.Read
	_ func(scalable)                                 = scalable.Recycle
	_ func(scalable)                                 = scalable.Trim
	_ func(scalable) int64                           = scalable.GetTotalMalloc
	_ func(scalable) int64                           = scalable.GetTotalFree
	_ func(scalable) []fixed                         = scalable.GetChildren
	_ func(scalable) scalable                        = scalable.GetAllocator
)

var (
	_ func(scalable) gomem.RecyclableMemory   = gomem.NewRecyclableMemory
	_ func(recyclable, int) []byte            = recyclable.NextN
	_ func(recyclable, []byte)                = recyclable.AddRecycleBytes
	_ func(recyclable, int)                   = recyclable.InitRecycleIndexes
	_ func(recyclable)                        = recyclable.Recycle
	_ func(recyclable) gomem.RecyclableMemory = recyclable.Clone
	_ func(recyclable) scalable               = recyclable.GetAllocator
	_ func(recyclable, scalable)              = recyclable.SetAllocator
	_ gomem.Memory                            = gomem.RecyclableMemory{}.Memory

	// The methods it has in place of those of its Memory.
	_ func(recyclable, chain)       = recyclable.CopyFrom
	_ func(recyclable)              = recyclable.Reset
	_ func(recyclable, int, []byte) = recyclable.UpdateBuffer

	_ func(recyclable) gomem.MemoryReader = recyclable.NewReader
)

var (
	_ struct {
		Size    int
		Buffers [][]byte
	} = gomem.Memory{}
	_ func([]byte) gomem.Memory             = gomem.NewMemory
	_ func(chain, ...[]byte)                = chain.Push
	_ func(chain, []byte)                   = chain.PushOne
	_ func(chain, gomem.Memory) chain       = chain.Append
	_ func(chain, func([]byte))             = chain.Range
	_ func(chain) int                       = chain.Count
	_ func(chain) []byte                    = chain.ToBytes
	_ func(chain, []byte)                   = chain.CopyTo
	_ func(chain, chain)                    = chain.CopyFrom
	_ func(chain, chain) bool               = chain.Equal
	_ func(chain)                           = chain.Reset
	_ func(chain, int, []byte)              = chain.UpdateBuffer
	_ func(chain, io.Writer) (int64, error) = chain.WriteTo
	_ func(chain) gomem.MemoryReader        = chain.NewReader
)

var (
	_ func(...[]byte) gomem.MemoryReader     = gomem.NewReadableBuffersFromBytes
	_ chain                                  = gomem.MemoryReader{}.Memory
	_ int                                    = gomem.MemoryReader{}.Length
	_ func(chainReader, []byte) (int, error) = chainReader.Read
	_ func(chainReader) (byte, error)        = chainReader.ReadByte
	_ func(chainReader, int) ([]byte, error) = chainReader.ReadBytes
	_ func(chainReader, int) (uint32, error) = chainReader.ReadBE
	_ func(chainReader, ...*byte) error      = chainReader.ReadByteTo
	_ func(chainReader, byte) (byte, error)  = chainReader.ReadByteMask
	_ func(chainReader) (uint, int, error)   = chainReader.LEB128Unmarshal
	_ func(chainReader, int) error           = chainReader.Skip
	_ func(chainReader, int)                 = chainReader.Unread
	_ func(chainReader, func([]byte))        = chainReader.Range
	_ func(chainReader, int, func([]byte))   = chainReader.RangeN
	_ func(chainReader, func([]byte) bool)   = chainReader.ClipFront
	_ func(chainReader) []byte               = chainReader.GetCurrent
	_ func(chainReader)                      = chainReader.MoveToEnd
	_ func(chainReader) int                  = chainReader.Offset
	_ func(chainReader) []byte               = chainReader.Pop
)

var (
	_ func() buddy                  = gomem.NewBuddy
	_ func() buddy                  = gomem.GetBuddy
	_ func(buddy)                   = gomem.PutBuddy
	_ func(buddy, int) (int, error) = buddy.Alloc
	_ func(buddy, int) error        = buddy.Free
	_                               = []error{gomem.InValidParameterErr, gomem.NotFoundErr}
	_ [gomem.MaxBlockSize]struct{}  = [1 << 22]struct{}{}
	_ [gomem.MinPowerOf2]struct{}   = [10]struct{}{}
)

const _ int = gomem.BuddySize

var (
	_ func(func() *int) *gomem.Pool[*int]  = gomem.NewPool[*int]
	_ func(*gomem.Pool[*int]) *int         = (*gomem.Pool[*int]).Get
	_ func(*gomem.Pool[*int], *int)        = (*gomem.Pool[*int]).Put
	_ func(*gomem.Pool[*int], func() *int) = (*gomem.Pool[*int]).SetNew
)

var (
	_ func(io.Reader) streamReader                     = gomem.NewBufReader
	_ func(io.Reader, int) streamReader                = gomem.NewBufReaderWithBufLen
	_ func(chan []byte) streamReader                   = gomem.NewBufReaderChan
	_ func(chan net.Buffers) streamReader              = gomem.NewBufReaderBuffersChan
	_ *scalable                                        = &new(gomem.BufReader).Allocator
	_ *int                                             = &new(gomem.BufReader).BufLen
	_ *chan []byte                                     = &new(gomem.BufReader).Mouth
	_ func(streamReader, []byte) bool                  = streamReader.Feed
	_ func(streamReader, []byte) (int, error)          = streamReader.Read
	_ func(streamReader) (byte, error)                 = streamReader.ReadByte
	_ func(streamReader, int) (int, error)             = streamReader.ReadBE
	_ func(streamReader, int) (uint32, error)          = streamReader.ReadBE32
	_ func(streamReader, int) (uint32, error)          = streamReader.ReadLE32
	_ func(streamReader, int, func([]byte)) error      = streamReader.ReadRange
	_ func(streamReader, int, []byte) error            = streamReader.ReadNto
	_ func(streamReader, int) (gomem.Memory, error)    = streamReader.ReadBytes
	_ func(streamReader, int) (string, error)          = streamReader.ReadString
	_ func(streamReader, int) error                    = streamReader.Skip
	_ func(streamReader, int) ([]byte, error)          = streamReader.Peek
	_ func(streamReader) (string, error)               = streamReader.ReadLine
	_ func(streamReader) (textproto.MIMEHeader, error) = streamReader.ReadMIMEHeader
	_ func(streamReader) int                           = streamReader.Buffered
	_ func(streamReader)                               = streamReader.Recycle
)

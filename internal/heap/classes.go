package heap

// Size classes. A request of up to maxSlot bytes takes a slot of
// slotSize[classOf[(n+15)/16]] bytes. Steps of 16 up to 256, 32 up to 512 and
// 64 up to 2048 keep the rounding below 16 bytes or an eighth of the request.
// Above, the sizes are those of which 15 to 8 fill a span, and the spans double
// with the sizes; above 32 KiB, 7 to 4. Spans of half the size, if they have 8 slots,
// serve where there is little of a class, or little room, and spans of twice the size
// where there is much of a class of small requests.
//
// Every fourth class of small requests is a host. The three below it are its guests:
// as long as a guest has no span of its own, and the host none with free slots but its
// current one, the guest takes slots of that. So a program that has a few blocks of each
// size has one span for four classes.
const (
	slotShift = 4
	slotAlign = 1 << slotShift // bytes: the alignment of every slot
	maxSmall  = 4096           // bytes: the largest small request
	maxSlot   = 64 << 10       // bytes: the largest request that a slot serves
	small     = 56             // number of classes of small requests
	classes   = small + 28

	// Strips are a class of their own, which no request has.
	stripClass = classes
	kinds      = classes + 1 // of spans

	spanShift = 14
	spanUnit  = 1 << spanShift // bytes: a span's alignment in the chunk, and its size is a multiple
	maxSpan   = 256 << 10      // bytes
)

var (
	classOf     [maxSlot/slotAlign + 1]uint8
	slotSize    [classes]uint32
	spanBytes   [classes]int
	halfBytes   [classes]int // of a smaller span; spanBytes if there is none
	doubleBytes [classes]int // of a larger one; the same
)

func init() {
	size, span := 0, 32<<10
	for c := range slotSize {
		switch {
		case size < 256:
			size += 16
		case size < 512:
			size += 32
		case size < 2048:
			size += 64
		default:
			if size == span/8 && span < maxSpan {
				span *= 2
			}
			align := slotAlign
			if size >= maxSmall {
				align = chunkUnit // so that the chunk's placement can take over each slot
			}
			size = span / (span/size - 1) &^ (align - 1)
		}
		slotSize[c], spanBytes[c], halfBytes[c], doubleBytes[c] = uint32(size), span, span, span
		if span/2/size >= 8 {
			halfBytes[c] = span / 2
		}
		if c < small {
			doubleBytes[c] = 2 * span
		}
	}
	c := 0
	for i := range classOf {
		if uint32(i*slotAlign) > slotSize[c] {
			c++
		}
		classOf[i] = uint8(c)
	}
}

// hostOf returns the host of class c; that is c unless c is a guest.
func hostOf(c int) int {
	if c < small {
		return c | 3
	}
	return c
}

// class returns the class of requests of n bytes, from 1 to maxSlot.
func class(n int) int { return int(classOf[(n+slotAlign-1)/slotAlign]) }

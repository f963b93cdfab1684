package heap

// Size classes. A small request of n bytes takes a slot of
// slotSize[classOf[(n+15)/16]] bytes. Steps of 16 up to 256, 32 up to 512 and
// 64 up to 2048 keep the rounding below 16 bytes or an eighth of the request.
// Above, the sizes are those of which 15 to 8 fill a span.
const (
	slotAlign = 16   // bytes: the alignment of every slot
	maxSmall  = 4096 // bytes: the largest request that a slot serves
	classes   = 56

	spanShift = 15
	spanSize  = 1 << spanShift // bytes: a span's size and its alignment in the chunk
)

var (
	classOf  [maxSmall/slotAlign + 1]uint8
	slotSize [classes]uint32
)

func init() {
	c, size := 0, 0
	for c < classes {
		switch {
		case size < 256:
			size += 16
		case size < 512:
			size += 32
		case size < 2048:
			size += 64
		default:
			size = spanSize / (spanSize/size - 1) &^ (slotAlign - 1)
		}
		slotSize[c] = uint32(size)
		c++
	}
	c = 0
	for i := range classOf {
		if uint32(i*slotAlign) > slotSize[c] {
			c++
		}
		classOf[i] = uint8(c)
	}
}

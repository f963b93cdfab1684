package heap

// Size classes. A small request of n bytes takes a slot of
// slotSize[classOf[(n+15)/16]] bytes. Steps of 16 up to 256, 32 up to 512 and
// 64 up to 2048 keep the rounding below 16 bytes or an eighth of the request.
const (
	slotAlign = 16   // bytes: the alignment of every slot
	maxSmall  = 2048 // bytes: the largest request that a slot serves
	classes   = 48

	spanShift = 14
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
		default:
			size += 64
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

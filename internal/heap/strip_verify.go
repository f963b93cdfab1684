package heap

import (
	"fmt"
	"sync/atomic"
)

// verifyStrip checks the records and the accounting equation of a strip.
func (sp *span) verifyStrip() error {
	used, end := uint32(0), uint32(0) // of the block before
	for i, r := range sp.recs {
		i := uint32(i)
		if begins := sp.begins[i/64]>>(i%64)&1 != 0; begins != (r != stateFree) {
			return fmt.Errorf("record %#x at %d, where a block begins: %v", r, i, begins)
		}
		switch r & stateMask {
		case stateQueue:
			if !sp.posted(i) || atomic.LoadUint32(&sp.notified) == 0 {
				return fmt.Errorf("block %d is queued, but nobody will know", i)
			}
		case stateCut, stateParts, stateBusy:
			if n := lengthOf(r); n == 0 || n > maxCut {
				return fmt.Errorf("block %d holds %d", i, n)
			}
			if err := sp.verifyParts(i); err != nil {
				return err
			}
		default:
			if r != stateFree {
				return fmt.Errorf("record %#x at %d", r, i)
			}
			continue
		}
		if i < end || i > sp.last {
			return fmt.Errorf("block %d begins before %d or after the last at %d", i, end, sp.last)
		}
		used, end = used+1, i+granules(lengthOf(r))
	}
	if used != sp.used() || end > sp.carved || sp.last > sp.carved || sp.carved > sp.end {
		return fmt.Errorf("%d blocks, the last ends at %d", used, end)
	}
	if used == 0 && sp.carved != 0 {
		return fmt.Errorf("empty, but does not start over")
	}
	return nil
}

package offset

// FindAligned is what AllocateAligned would return; nothing is taken.
func (t *TLSF) FindAligned(size, align int) int {
	_, at := t.findAligned(size, align)
	return at
}

// StepCount is the steps of all placements so far, under the tag gomem_steps.
func StepCount() (n int, counted bool) { return stepCount, countSteps }

// A TLSFFault damages one field of a TLSF made by DamageableTLSF.
type TLSFFault struct {
	Name  string
	Break func(t *TLSF)
}

// The offsets of the blocks of DamageableTLSF, in granules of 16.
const (
	wholeAt = 0        // 100 live bytes, 12 of slack
	freeAt  = 7 * 16   // two free blocks of one class, here and at twinAt
	midAt   = 70 * 16  // live
	twinAt  = 71 * 16  // free
	tailAt  = 134 * 16 // 300 live bytes with a hole at 40
	lastAt  = 153 * 16 // live, 64 bytes, the first 5 freed
	restAt  = 157 * 16 // free to the end
)

// DamageableTLSF is a TLSF with every kind of node.
func DamageableTLSF() *TLSF {
	t := NewTLSF(2000*16, 16)
	for _, size := range []int{100, 63 * 16, 16, 63 * 16, 300, 64, 16, 16, 16} {
		t.Allocate(size)
	}
	for _, b := range []Block{{restAt, restAt + 16}, {restAt + 32, restAt + 48}, {restAt + 16, restAt + 32},
		{freeAt, midAt}, {twinAt, tailAt}, {tailAt + 40, tailAt + 43}, {lastAt, lastAt + 5}} {
		if err := t.Free(b.Start, b.Size()); err != nil {
			panic(err)
		}
	}
	return t
}

// TLSFFaults is one damage for each thing that Verify promises to notice.
func TLSFFaults() []TLSFFault {
	at := func(t *TLSF, pos int) *tlsfNode { return &t.nodes[t.blockAt(pos)] }
	node := func(pos int, change func(n *tlsfNode)) func(*TLSF) {
		return func(t *TLSF) { change(at(t, pos)) }
	}
	class := tlsfClass(63)
	const hole = tailAt + 32
	return []TLSFFault{
		{"free bytes, one more", func(t *TLSF) { t.free++ }},
		{"free bytes, one less", func(t *TLSF) { t.free-- }},
		{"shift", func(t *TLSF) { t.shift = 7 }},
		{"low bits", func(t *TLSF) { t.low = 31 }},
		{"total", func(t *TLSF) { t.total++ }},
		{"classes", func(t *TLSF) { t.classes-- }},
		{"spare list cut", func(t *TLSF) { t.spare = 0 }},
		{"spare list into a block", func(t *TLSF) { t.spare = t.blockAt(midAt) }},
		{"spare list out of range", func(t *TLSF) { t.spare = uint32(len(t.nodes)) }},
		{"spare node with a size", func(t *TLSF) { t.nodes[t.spare].size = 1 }},
		{"spare node with a start", func(t *TLSF) { t.nodes[t.spare].start = 3 }},
		{"tag of a live block", func(t *TLSF) { t.tags[midAt/16] = t.tags[0] }},
		{"tag out of range", func(t *TLSF) { t.tags[midAt/16] = uint32(len(t.nodes)) }},
		{"tag of a head", func(t *TLSF) { t.tags[0] = 1 }},
		{"last tag of a free block", func(t *TLSF) { t.tags[midAt/16-1] = 0 }},
		{"tags cut", func(t *TLSF) { t.tags = t.tags[:restAt/16] }},
		{"list map bit missing", func(t *TLSF) { t.lists[class>>6] &^= 1 << (class & 63) }},
		{"list map bit too many", func(t *TLSF) { t.lists[1] |= 1 << 40 }},
		{"summary bit missing", func(t *TLSF) { t.summary = 0 }},
		{"summary bit too many", func(t *TLSF) { t.summary |= 1 << 9 }},
		{"head empties its list", func(t *TLSF) { t.nodes[class].next = uint32(class) }},
		{"head's last", func(t *TLSF) { t.nodes[class].prev = uint32(class) }},
		{"head with a size", func(t *TLSF) { t.nodes[class].size = freeBit | 3 }},
		{"head with a start", func(t *TLSF) { t.nodes[class].start = 3 }},
		{"start bit missing", func(t *TLSF) { t.starts.words[0] &^= 1 << 7 }},
		{"start bit too many", func(t *TLSF) { t.starts.words[0] |= 1 << 9 }},
		{"start level above", func(t *TLSF) { t.starts.upper[0][0] ^= 2 }},
		{"start level missing", func(t *TLSF) { t.starts.upper = nil }},
		{"mask missing", func(t *TLSF) { delete(t.holes, hole/16) }},
		{"mask too many", func(t *TLSF) { t.holes[1] = 5 }},
		{"mask of one run", func(t *TLSF) { t.holes[hole/16] = 0xff }},
		{"mask beyond the granule", func(t *TLSF) { t.holes[hole/16] |= 1 << 20 }},
		{"mask dead towards its junction", func(t *TLSF) { t.holes[hole/16] &^= 1 }},
		{"live block longer", node(midAt, func(n *tlsfNode) { n.size++ })},
		{"live block of no size", node(midAt, func(n *tlsfNode) { n.size = 0 })},
		{"live block marked free", node(midAt, func(n *tlsfNode) { n.size |= freeBit })},
		{"live block's start", node(midAt, func(n *tlsfNode) { n.start++ })},
		{"live block's slack", node(wholeAt, func(n *tlsfNode) { n.prev-- })},
		{"slack of a whole granule", node(wholeAt, func(n *tlsfNode) { n.prev = 16 })},
		{"skip", node(lastAt, func(n *tlsfNode) { n.prev += 1 << skipShift })},
		{"junction to a free block", node(wholeAt, func(n *tlsfNode) { n.prev = joinRight })},
		{"junction on one side", node(midAt, func(n *tlsfNode) { n.prev |= joinLeft })},
		{"junction missing", node(tailAt, func(n *tlsfNode) { n.prev &^= joinRight })},
		{"hole flag missing", node(hole, func(n *tlsfNode) { n.prev &^= holed })},
		{"unknown flag", node(midAt, func(n *tlsfNode) { n.prev |= 1 << 30 })},
		{"free block marked live", node(freeAt, func(n *tlsfNode) { n.size &^= freeBit })},
		{"free block longer", node(freeAt, func(n *tlsfNode) { n.size++ })},
		{"free block's next", node(freeAt, func(n *tlsfNode) { n.next = n.prev })},
		{"free block's next out of range", node(freeAt, func(n *tlsfNode) { n.next = 1 << 30 })},
		{"free block's previous", node(freeAt, func(n *tlsfNode) { n.prev = 0 })},
		{"free rest shorter", node(restAt, func(n *tlsfNode) { n.size-- })},
		{"a node too many", func(t *TLSF) { t.nodes = append(t.nodes, tlsfNode{}) }},
		{"a node too few", func(t *TLSF) { t.nodes = t.nodes[:t.classes-1] }},
	}
}

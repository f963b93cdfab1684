package main

// growthFaults are in package internal/heap. What its own tests do not notice
// those of the allocator may.
func growthFaults() []fault {
	all := make([]fault, len(heapFaults))
	for i, f := range heapFaults {
		f.name, f.file = "heap: "+f.name, "internal/heap/"+f.file
		f.pkgs = []string{"./internal/heap", "."}
		all[i] = f
	}
	return all
}

var heapFaults = []fault{
	{name: "remote free lost in the drain", file: "shard.go", from: "== stateQueue {\n\t\t\t\tsp.give(i)\n", to: "== stateQueue {\n"},
	{name: "remote free announced once only", file: "shard.go", from: "\t\tatomic.StoreUint32(&sp.notified, 0)\n", to: ""},
	{name: "remote free not announced", file: "free.go", from: "\t\tkeep(s)\n\t\towner.announce(sp)\n", to: "\t\tkeep(s)\n"},
	{name: "remote free that was looked up again not announced", file: "free.go", from: "\t\t\towner.announce(sp)\n", to: "\t\t\t_ = owner\n"},
	{name: "remote free does not count", file: "shard.go", from: "\ts.freed += uint64(n)\n\treturn true", to: "\treturn true"},
	{name: "span full after a refill", file: "shard.go", from: "\t\tif !old.full() {\n\t\t\ts.file(old)\n\t\t}\n", to: ""},
	{name: "empty span not counted", file: "shard.go", from: "\t\ts.idle += sp.units()\n", to: ""},
	{name: "idle count not reset", file: "shard.go", from: "\ts.idle = 0\n\treturn idle", to: "\treturn idle"},
	{name: "empty span in front", file: "shard.go", from: "\t\tl.pushBack(sp)\n", to: "\t\tl.pushFront(sp)\n"},
	{name: "free list unlinked", file: "span.go", from: "\tsp.recs[to-1] = noSlot\n", to: "\tsp.recs[to-1] = from\n"},
	{name: "carving one too many", file: "span.go", from: "to := min(from+64, uint32(len(sp.recs)))", to: "to := min(from+64, uint32(len(sp.recs))+1)"},
	{name: "span that is gone still guessed", file: "spanmap.go", from: "\t\tg.Store(exhausted)\n", to: "\t\tg.Store(sp)\n"},
	{name: "span not guessed", file: "spanmap.go", from: "\tm.guessed(addr).Store(sp)\n}", to: "}"},
	{name: "section in the shard of P 0", file: "section_runtime.go", from: "\t\t\treturn (*set)[id]\n", to: "\t\t\treturn (*set)[0]\n"},
	{name: "section lost on the way to a pin", file: "section_runtime.go", from: "func keep(*shard) { procPin() }", to: "func keep(*shard) {}"},
	{name: "a reused span keeps its slots", file: "span.go", from: "sp.head, sp.used, sp.carved = noSlot, 0, 0", to: "sp.head, sp.used = noSlot, 0"},
	{name: "slot by the wrong divisor", file: "span.go", from: "(1<<35 + uint64(size) - 1) / uint64(size)", to: "(1 << 35) / uint64(size)"},
	{name: "Free of an interior byte frees the slot", file: "heap.go", from: "\t\tif within == 0 {\n\t\t\twas", to: "\t\tif within < sp.size {\n\t\t\twas"},
	{name: "tail freed without a trace", file: "heap.go", from: "sp.recs[i] = stateLive | within //", to: "sp.recs[i] |= 0 //"},
	{name: "tail freed elsewhere without a trace", file: "free.go", from: "(rec, r, stateLive|within)", to: "(rec, r, r)"},
	{name: "part counts the slot", file: "free.go", from: "\t\tp.left -= len(b)\n", to: "\t\tp.left -= len(b) + 1\n"},
	{name: "part freed twice", file: "free.go", from: "return *w&bits == 0", to: "return *w&bits == 0 || true"},
	{name: "part does not count", file: "free.go", from: "\t\tp.left -= len(b)\n\t\ts.freed += uint64(len(b))\n", to: "\t\tp.left -= len(b)\n"},
	{name: "words of a part off by one", file: "free.go", from: "end := min(at&^63+64, to)", to: "end := min(at&^63+63, to)"},
	{name: "record of a part kept", file: "free.go", from: "\tcase p.left == 0:\n\t\tdelete(h.parts, key)\n", to: "\tcase p.left == 0:\n"},
	{name: "large free does not count", file: "place.go", from: "\th.freed += uint64(len(b))\n\th.gaveBack(e.c)\n", to: "\th.gaveBack(e.c)\n"},
	{name: "melted slots not split", file: "melt.go", from: "if i > 0 && !t.Split(start) {", to: "if i > len(sp.recs) && !t.Split(start) {"},
	{name: "melted slot keeps its whole size", file: "melt.go", from: "\t\tif n < size {\n", to: "\t\tif n == 0 {\n"},
	{name: "rest of a melted span lost", file: "melt.go", from: "\tif used < sp.bytes() {\n", to: "\tif used > sp.bytes() {\n"},
	{name: "melted span still in its list", file: "melt.go", from: "\towner.unlink(sp)\n", to: ""},
	{name: "melted slot still live", file: "melt.go", from: "\t\t\tsp.recs[i] = stateGone\n", to: ""},
	{name: "trimmed classes keep their slots", file: "melt.go", from: "\th.wait[sp.class-small] = meltWait\n", to: ""},
	{name: "second place of a span not entered", file: "place.go", from: "for i := range sp.units() {\n\t\tat :=", to: "for i := range 1 {\n\t\tat :="},
	{name: "second place of a span not left", file: "place.go", from: "\tfor i := range sp.units() {\n\t\th.spans", to: "\tfor i := range 1 {\n\t\th.spans"},
	{name: "empty chunks not dropped for a large block", file: "place.go", from: "if n >= ownChunk && h.crowded(n) && h.dropFor(n) {", to: "if n < 0 && h.dropFor(n) {"},
	{name: "limit exceeded", file: "place.go", from: "size > limit-h.mapped-h.leave {", to: "size > limit {"},
	{name: "no smaller chunk when memory is short", file: "place.go", from: "if err != nil && size > least && errors.Is(err, ErrOutOfMemory) {", to: "if err != nil && size < least && errors.Is(err, ErrOutOfMemory) {"},
	{name: "empty chunk not counted", file: "place.go", from: "\t\tc.idle = true\n\t\th.nempty++\n", to: "\t\tc.idle = true\n"},
	{name: "room of a chunk not told", file: "place.go", from: "\tif c != h.last {\n\t\th.fits", to: "\tif c == h.last {\n\t\th.fits"},
	{name: "larger of the children not kept", file: "chunk.go", from: "fits = max(t.node[i], t.node[i^1])", to: "fits = t.node[i]"},
	{name: "wrong child", file: "chunk.go", from: "\t\tif t.node[i] < n {\n", to: "\t\tif t.node[i] >= n {\n"},
	{name: "mapped bytes not restored", file: "reclaim.go", from: "\th.mapped -= len(c.raw)\n", to: ""},
	{name: "mapping not given back", file: "reclaim.go", from: "\th.dead = append(h.dead, c.raw)\n", to: ""},
	{name: "refused unmap forgotten", file: "reclaim.go", from: "\t\t\tkept = append(kept, mem)\n", to: ""},
	{name: "remote frees not reclaimed", file: "reclaim.go", from: "\t\ts.drain()\n", to: ""},
	{name: "spans not reclaimed", file: "reclaim.go", from: "\t\th.dropSpans(s.takeIdle(true))\n", to: ""},
	{name: "span taken over without its owner", file: "reclaim.go", from: "\t\t\tsp.owner.Store(s)\n", to: ""},
	{name: "nothing trimmed by itself", file: "reclaim.go", from: "h.dropEmpty(max(1, h.nempty-low))", to: "h.dropEmpty(max(h.nempty, low))"},
	{name: "free of a slot does not start the clock", file: "reclaim.go", from: "\tif !h.ticking.Load() {\n\t\th.startClock()", to: "\tif h.closed {\n\t\th.startClock()"},
	{name: "count of empty chunks not restored", file: "reclaim.go", from: "\th.nempty--\n", to: ""},
	{name: "Reset leaves bytes live", file: "reclaim.go", from: "\th.freed = h.malloced\n", to: ""},
	{name: "borrow counts", file: "heap.go", from: "\t\th.malloced -= uint64(n)\n", to: ""},
	{name: "debug: quarantine too short", file: "debug_free.go", from: "d.held > keep &&", to: "d.held > 0 &&"},
	{name: "debug: damage not looked for", file: "debug_free.go", from: "\t\t\td.report(w.Check(q.from, q.to))\n", to: ""},
	{name: "sample: slot lost", file: "sample.go", from: "\ts.free = append(s.free, i)\n}", to: "}"},
}

package heap

import (
	"runtime"
	"testing"
)

// pastWait returns a heap of one shard in which the next block of each class that lacks
// a span makes one be placed.
func pastWait(t *testing.T, size int) *Heap {
	h := newHeap(size)
	h.ticking.Store(true) // no clock: nothing is taken back
	for range 1024 {
		mustFree(t, h, mustMalloc(t, h, 1))
	}
	clear(h.wait[:])
	return h
}

// TestGuestAtTheLimit: where the heap cannot grow a guest takes what its busy host has
// freed.
func TestGuestAtTheLimit(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const guest, host = 40, 64
	h := pastWait(t, 1<<20)
	h.cfg.MaxBytes = 1 << 20
	var live [][]byte
	for len(live) == 0 || classAt(t, h, live[len(live)-1]) != class(guest) {
		live = append(live, mustMalloc(t, h, guest), mustMalloc(t, h, host), mustMalloc(t, h, guest))
	}
	for b := h.Malloc(host); b != nil; b = h.Malloc(host) {
		live = append(live, b)
	}
	for i := len(live) / 2; i < len(live); i += 2 {
		mustFree(t, h, live[i])
		live[i] = nil
	}
	for b := h.Malloc(guest); b != nil; b = h.Malloc(guest) {
		live = append(live, b)
	}
	mustVerify(t, h)
	if h.Malloc(host) != nil {
		t.Errorf("%d bytes are refused and %d are not: %+v", guest, host, h.Stats())
	}
	for _, b := range live {
		if b != nil {
			mustFree(t, h, b)
		}
	}
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Live != 0 || s.Chunks != 0 {
		t.Errorf("Trim leaves %+v", s)
	}
	mustVerify(t, h)
}

// classAt is the class of the span that b lies in.
func classAt(t *testing.T, h *Heap, b []byte) int {
	sp := h.spanAt(addressOf(b))
	if sp == nil {
		t.Fatalf("%d bytes lie in no span", len(b))
	}
	return int(sp.class)
}

// TestGuestsShareSpans: where there are a few blocks of each small size, four classes
// take the slots of one span, and what they hold is freed as any block.
func TestGuestsShareSpans(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	h := pastWait(t, 4<<20)
	var live [][]byte
	for c := range small {
		for range 2 {
			live = append(live, mustMalloc(t, h, int(slotSize[c])))
		}
	}
	for _, b := range live {
		if got, want := classAt(t, h, b), hostOf(class(len(b))); got != want {
			t.Errorf("%d bytes lie in a span of class %d, not %d", len(b), got, want)
		}
	}
	if got := h.Stats().Spans; got != small/4 {
		t.Errorf("%d spans for %d classes", got, small)
	}
	mustVerify(t, h)
	for i, b := range live {
		switch i % 4 {
		case 1: // by its tail first
			mustFree(t, h, b[len(b)/2:], b[:len(b)/2])
		case 2: // from the middle
			mustFree(t, h, b[5:len(b)-5], b[len(b)-5:], b[:5])
		default:
			mustFree(t, h, b)
		}
		if h.Free(b) {
			t.Errorf("%d bytes were freed twice", len(b))
		}
	}
	mustVerify(t, h)
	if err := h.Trim(); err != nil || h.Stats().Backing != 0 {
		t.Errorf("%v, %d bytes mapped, all is free", err, h.Stats().Backing)
	}
	mustVerify(t, h)
}

// TestGuestGetsItsOwn: a guest has spans of its own from where the host's is full, and
// then takes none of the host's slots any more.
func TestGuestGetsItsOwn(t *testing.T) {
	// A shard's number is the P's.
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	for host := 3; host < small; host += 4 {
		for c := host - 3; c < host; c++ {
			h := pastWait(t, 1<<20)
			n := int(slotSize[c])
			first := mustMalloc(t, h, int(slotSize[host]))
			var live [][]byte
			for range h.spanAt(addressOf(first)).recs[1:] {
				b := mustMalloc(t, h, n)
				if live = append(live, b); classAt(t, h, b) != host {
					t.Fatalf("%d bytes are no guests", n)
				}
			}
			own := mustMalloc(t, h, n)
			if got := classAt(t, h, own); got != c {
				t.Errorf("%d bytes lie in a span of class %d, the host's is full", n, got)
			}
			if got := h.spanAt(addressOf(own)).bytes(); got != halfBytes[c] {
				t.Errorf("%d bytes: the first span has %d bytes", n, got)
			}
			mustFree(t, h, first)
			if b := mustMalloc(t, h, n); classAt(t, h, b) != c {
				t.Errorf("%d bytes are guests again", n)
			}
			mustVerify(t, h)
			mustFree(t, h, live...)
			if err := h.Trim(); err != nil { // of which the host's span goes
				t.Fatal(err)
			}
			for spans := h.Stats().Spans; h.Stats().Spans == spans; {
				if b := mustMalloc(t, h, n); classAt(t, h, b) != c {
					t.Fatalf("%d bytes are guests again", n)
				}
			}
			if got := h.set.Load().byID[0].own(host); got != exhausted {
				t.Errorf("%d bytes: the host has %v, nobody asked for it", n, got)
			}
			mustVerify(t, h)
		}
	}
}

// TestGuestFollowsHost: guests go with the host to its next span, stay with nothing where
// the host's goes, and prefer a span of their own.
func TestGuestFollowsHost(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	h := pastWait(t, 1<<20)
	s := h.set.Load().byID[0]
	const guest, host = 900, 1024
	g, c := class(guest), class(host)
	var live [][]byte
	fill := func(n int) {
		for s.cur[class(n)].head != noSlot || s.cur[class(n)].carve() {
			live = append(live, mustMalloc(t, h, n))
		}
	}
	for range 2 {
		live = append(live, mustMalloc(t, h, guest))
		fill(host)
		live = append(live, mustMalloc(t, h, host)) // the next span
		if s.cur[g] != s.cur[c] || int(s.cur[g].class) != c {
			t.Fatal("the guest stays at the span before")
		}
		mustVerify(t, h)
	}
	mustFree(t, h, live...)
	if err := h.Trim(); err != nil {
		t.Fatal(err)
	}
	if s.cur[g] != exhausted || s.cur[c] != exhausted {
		t.Error("the guest stays at a span that is gone")
	}
	mustVerify(t, h)

	// A span of the guest's own, which is taken from it and filed, comes before the host's.
	live = [][]byte{mustMalloc(t, h, guest)}
	fill(guest)
	own := mustMalloc(t, h, guest)
	other := newShard()
	h.mu.Lock()
	other.takeOver(s)
	for k := range other.spans {
		for l := &other.spans[k]; l.front != nil; {
			sp := l.front
			l.remove(sp)
			sp.owner.Store(s)
			s.file(sp)
		}
	}
	h.mu.Unlock()
	mustVerify(t, h)
	mustFree(t, h, live...)
	if b := mustMalloc(t, h, guest); classAt(t, h, b) != g {
		t.Error("the guest took a slot of the host, it has a span")
	}
	mustFree(t, h, own)
	mustVerify(t, h)
}

// TestBusyHostHasNoGuests: the slots that come free in the spans of a busy host are the
// host's: a guest that needs another gets a span of its own.
func TestBusyHostHasNoGuests(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const guest, host = 900, 1024
	h := pastWait(t, 1<<20)
	first := mustMalloc(t, h, host)
	for classAt(t, h, mustMalloc(t, h, host)) == class(host) {
		if h.spanAt(addressOf(first)).where == isFull {
			break
		}
	}
	mustFree(t, h, first) // its span has a free slot
	for s := h.set.Load().byID[0]; s.cur[class(host)].head != noSlot || s.cur[class(host)].carve(); {
		mustMalloc(t, h, guest)
	}
	if b := mustMalloc(t, h, guest); classAt(t, h, b) != class(guest) {
		t.Error("a guest took what the host freed")
	}
	if b := mustMalloc(t, h, host); &b[0] != &first[0] {
		t.Error("the host did not get what it freed")
	}
	mustVerify(t, h)
}

// TestGuestOfListedSpan: where the current span of a host has gone, a guest takes slots of
// what else the host has, and no span is placed for it.
func TestGuestOfListedSpan(t *testing.T) {
	needPins(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one shard
	const guest, host = 900, 1024
	h := pastWait(t, 1<<20)
	live := [][]byte{mustMalloc(t, h, host)}
	for h.Stats().Spans < 2 {
		live = append(live, mustMalloc(t, h, host))
	}
	mustFree(t, h, live[1:]...) // the current span is empty, the one before is not
	if err := h.Trim(); err != nil || h.Stats().Spans != 1 {
		t.Fatalf("%v, %d spans", err, h.Stats().Spans)
	}
	if b := mustMalloc(t, h, guest); classAt(t, h, b) != class(host) || h.Stats().Spans != 1 {
		t.Errorf("a span of class %d was placed", classAt(t, h, b))
	}
	mustVerify(t, h)
}

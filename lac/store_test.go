package lac

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// A store counts what it keeps to the byte, serves it again and owns it no more, and
// gives back what lay idle from one trim to the next.
func TestStoreCounts(t *testing.T) {
	const size = 1024
	s := &store{bins: map[uintptr]*bin{}, limit: 3 * size}
	want := func(made, reused, dropped int64, chunks uintptr) {
		t.Helper()
		if s.created != made || s.reused != reused || s.dropped != dropped || s.bytes != chunks*size {
			t.Errorf("%d made, %d reused, %d dropped, %d bytes, want %d, %d, %d, %d",
				s.created, s.reused, s.dropped, s.bytes, made, reused, dropped, chunks*size)
		}
	}
	var all []chunk
	for range 5 {
		all = append(all, s.get(size))
		all[len(all)-1].own(&core{})
	}
	want(5, 0, 0, 0)
	s.put(all)
	want(5, 0, 2, 3)
	for _, c := range all {
		if *(*unsafe.Pointer)(c.base) != nil {
			t.Error("a chunk keeps the arena that had it")
		}
	}
	s.trim()
	want(5, 0, 2, 3) // they came since the last time
	s.put([]chunk{s.get(size)})
	want(5, 1, 2, 3)
	s.trim()
	want(5, 1, 4, 1)
	s.trim()
	want(5, 1, 5, 0)
	if len(s.bins) != 0 {
		t.Error("an empty bin stays")
	}
	s.put([]chunk{s.get(size)})
	want(6, 1, 5, 1)
}

// Chunks to be kept are, also after all of them were in use during a trim.
func TestStoreKeeps(t *testing.T) {
	s := &store{bins: map[uintptr]*bin{}, limit: 1024}
	s.bin(512).keep = 1
	c := s.get(512)
	s.trim()
	s.put([]chunk{c})
	for range 3 {
		s.trim()
	}
	if s.bytes != 512 || s.dropped != 0 {
		t.Errorf("%d bytes kept, %d chunks dropped", s.bytes, s.dropped)
	}
}

// The largest left-over windows are remembered, in whatever order they come, and of the
// others how much is to be cleared.
func TestLargestRestsAreRemembered(t *testing.T) {
	const size = 4096
	for _, rooms := range [][]uintptr{
		{56, 64, 128, 256, 512, 1024},
		{1024, 512, 256, 128, 64, 56},
		{512, 56, 1024, 64, 256, 128},
		{128, 1024, 64, 512, 56, 256},
		{64, 56, 48},
	} {
		c := &core{}
		for i, room := range rooms {
			c.chunks = append(c.chunks, chunk{size: size})
			c.remember(rest{window{nil, size - room, size}, 0, i})
		}
		var got []uintptr
		for _, r := range c.rests {
			got = append(got, r.room())
		}
		want := slices.DeleteFunc(slices.Sorted(slices.Values(rooms)), func(n uintptr) bool { return n < minRest })
		want = want[max(len(want)-maxRests, 0):]
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v: remembered %v, want %v", rooms, got, want)
		}
		for i, room := range rooms {
			if !slices.Contains(want, room) && c.chunks[i].used != size-room {
				t.Errorf("%v: %d bytes to clear of a chunk with %d free", rooms, c.chunks[i].used, room)
			}
		}
	}
}

// After a large object the larger of two windows serves on: the one in front of it, or
// what is behind it.
func TestLargerWindowServesOn(t *testing.T) {
	ac := quietPool(t, WithChunkSize(1024)).Get()
	defer ac.Release()
	room := func() uintptr { return ac.end - ac.off }
	ac.Int(1)
	before := room()
	NewSlice[byte](ac, 1500, 1500)
	if room() != before {
		t.Errorf("%d bytes free in the window, before the large object %d", room(), before)
	}
	NewSlice[byte](ac, 800, 800)
	before = room()
	NewSlice[byte](ac, 300, 300)
	if room() <= before {
		t.Errorf("%d bytes free in the window, %d were before", room(), before)
	}
}

// Large blocks come in eight sizes for each power of two, at most an eighth larger than
// asked for, and what is allocated has that size.
func TestTiers(t *testing.T) {
	for low := uintptr(128); low < 1<<26; low *= 2 {
		sizes := map[uintptr]bool{}
		for n := low + 1; n <= 2*low; n += max(low/1000, 1) {
			size := tier(n)
			if size < n || size%word != 0 || size-n > max(n/8, pageSize-1) {
				t.Errorf("%d bytes for %d", size, n)
			}
			sizes[size] = true
		}
		if len(sizes) > 8 {
			t.Errorf("%d sizes above %d bytes", len(sizes), low)
		}
	}
	newChunk(1000)
	if chunk, _ := chunkTypes.Load(uintptr(1000)); chunk.(reflect.Type).Size() != 1000 {
		t.Errorf("a chunk of 1000 bytes takes %d", chunk.(reflect.Type).Size())
	}
}

// TestIdleCoreKeepsNoRests: the windows that an arena had left are not kept by its core.
func TestIdleCoreKeepsNoRests(t *testing.T) {
	p := quietPool(t)
	ac := p.Get()
	c := ac.core
	for _, n := range []int{100_000, 3 << 20, 200_000, 5 << 20, 300_000} {
		NewSlice[byte](ac, n, n)
		New[int](ac)
	}
	if len(c.rests) == 0 {
		t.Fatal("nothing is left over")
	}
	all := c.rests[:cap(c.rests)]
	ac.Release()
	for i, r := range all {
		if r.base != nil {
			t.Errorf("rest %d is kept", i)
		}
	}
}

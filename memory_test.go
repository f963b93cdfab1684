package gomem

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
)

// checkMemory fails unless m holds want and keeps its invariant.
func checkMemory(t *testing.T, m *Memory, want string) {
	t.Helper()
	size := 0
	for _, b := range m.Buffers {
		size += len(b)
	}
	if m.Size != size {
		t.Fatalf("Size %d, the buffers hold %d", m.Size, size)
	}
	if got := string(m.ToBytes()); got != want {
		t.Fatalf("memory holds %q, want %q", got, want)
	}
}

func TestMemoryBuild(t *testing.T) {
	var m Memory
	checkMemory(t, &m, "")
	m.PushOne([]byte("he"))
	m.Push([]byte("l"), nil, []byte("lo"))
	checkMemory(t, &m, "hello")
	if m.Count() != 4 {
		t.Errorf("Count() = %d, want 4", m.Count())
	}
	if got := m.Append(m); got != &m {
		t.Errorf("Append returns %p, want its receiver %p", got, &m)
	}
	checkMemory(t, &m, "hellohello")
	m.CopyFrom(&m)
	checkMemory(t, &m, "hellohellohellohello")
	m.CopyFrom(nil)
	m.CopyFrom(new(Memory))
	checkMemory(t, &m, "hellohellohellohello")
	var parts []string
	m.Range(func(b []byte) { parts = append(parts, string(b)) })
	want := []string{"he", "l", "", "lo", "he", "l", "", "lo", "hellohello"}
	if !slices.Equal(parts, want) {
		t.Errorf("Range yields %q, want %q", parts, want)
	}
	m.Push()
	m.Append(Memory{})
	checkMemory(t, &m, "hellohellohellohello")
}

// A chain with spare capacity that is appended to itself moves within one array.
func TestMemoryAppendSelfInPlace(t *testing.T) {
	m := Memory{Buffers: make([][]byte, 0, 8)}
	m.Push([]byte("a"), []byte("b"))
	m.Append(m).Append(m)
	checkMemory(t, &m, "abababab")
}

// TestMemoryDoubles: a chain that grows buffer by buffer moves as seldom as doubling
// allows.
func TestMemoryDoubles(t *testing.T) {
	b := []byte("b")
	for name, push := range map[string]func(m *Memory){
		"PushOne": func(m *Memory) { m.PushOne(b) },
		"Push":    func(m *Memory) { m.Push(b) },
		"Append":  func(m *Memory) { m.Append(Memory{Size: 1, Buffers: [][]byte{b}}) },
	} {
		var m Memory
		moves, room := 0, 0
		for range minChain << 10 {
			if push(&m); cap(m.Buffers) != room {
				room = cap(m.Buffers)
				moves++
			}
		}
		if moves > 11 || room > minChain<<11 {
			t.Errorf("%s: %d buffers moved %d times, to room for %d", name, m.Count(), moves, room)
		}
	}
}

func TestMemoryCopyFromIsOwned(t *testing.T) {
	src := []byte("abc")
	from := NewMemory(src)
	var m Memory
	m.CopyFrom(&from)
	src[0] = 'X'
	checkMemory(t, &m, "abc")
}

func TestMemoryToBytesIsOwned(t *testing.T) {
	for _, list := range [][][]byte{nil, {nil}, {[]byte("abc")}, {[]byte("a"), []byte("bc")}} {
		var m Memory
		m.Push(list...)
		b := m.ToBytes()
		if b == nil || len(b) != m.Size || cap(b) != len(b) {
			t.Fatalf("ToBytes of %q: %v with len %d cap %d, want %d of each", list, b, len(b), cap(b), m.Size)
		}
		if len(b) > 0 {
			b[0] = 'X'
			checkMemory(t, &m, "abc")
		}
	}
}

func TestMemoryCopyTo(t *testing.T) {
	var m Memory
	m.Push([]byte("ab"), nil, []byte("cde"))
	for n := range 8 {
		buf := bytes.Repeat([]byte{'.'}, n)
		m.CopyTo(buf)
		if want := "abcde..."[:n]; string(buf) != want {
			t.Errorf("CopyTo of %d bytes gives %q, want %q", n, buf, want)
		}
	}
}

func TestMemoryEqual(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	data := []byte("equality does not depend on where a chain is cut")
	random := func(b []byte) *Memory {
		var m Memory
		for len(b) > 0 {
			n := rnd.IntN(len(b) + 1)
			m.PushOne(b[:n])
			b = b[n:]
		}
		return &m
	}
	for range 500 {
		a, b := random(data), random(data)
		if !a.Equal(b) {
			t.Fatalf("%q and %q are not equal", a.Buffers, b.Buffers)
		}
		other := slices.Clone(data)
		other[rnd.IntN(len(other))]++
		if c := random(other); a.Equal(c) || c.Equal(a) {
			t.Fatalf("%q and %q are equal", a.Buffers, c.Buffers)
		}
	}
	empty, one := new(Memory), NewMemory([]byte{1})
	if !empty.Equal(nil) || one.Equal(nil) || one.Equal(empty) || !empty.Equal(random(nil)) {
		t.Error("comparison with an empty or nil chain is wrong")
	}
	for n := range data {
		if a, b := random(data[:n]), random(data); a.Equal(b) || b.Equal(a) {
			t.Fatalf("%q equals %q", a.Buffers, b.Buffers)
		}
	}
	if lying := (&Memory{Size: 1}); one.Equal(lying) {
		t.Error("a chain whose Size is wrong equals one that has the bytes")
	}
}

func TestG31UpdateBuffer(t *testing.T) {
	build := func() Memory {
		var m Memory
		m.Push([]byte("abc"), []byte("defg"), []byte("hi"))
		return m
	}
	for _, c := range []struct {
		index int
		ok    bool
		want  string
	}{
		{0, true, "XYdefghi"}, {1, true, "abcXYhi"}, {2, true, "abcdefgXY"},
		{-1, true, "abcdefgXY"}, {-2, true, "abcXYhi"}, {-3, true, "XYdefghi"},
		{3, false, "abcdefghi"}, {-4, false, "abcdefghi"},
	} {
		m := build()
		before := m
		if ok := m.TryUpdateBuffer(c.index, []byte("XY")); ok != c.ok {
			t.Errorf("UpdateBuffer(%d) = %v, want %v", c.index, ok, c.ok)
		}
		checkMemory(t, &m, c.want)
		checkMemory(t, &before, "abcdefghi")
	}
}

func TestG32ResetKeepsCopies(t *testing.T) {
	m := NewMemory([]byte("hello"))
	kept := m
	m.Reset()
	checkMemory(t, &m, "")
	checkMemory(t, &kept, "hello")
	m.Push([]byte("other"), []byte("!"))
	checkMemory(t, &kept, "hello")
	checkMemory(t, &m, "other!")
}

// faultyWriter takes limit bytes in all and then does what its mode says.
type faultyWriter struct {
	bytes.Buffer
	limit int
	mode  string
}

var errFaulty = errors.New("faulty writer")

func (w *faultyWriter) Write(p []byte) (int, error) {
	if len(p) <= w.limit {
		w.limit -= len(p)
		return w.Buffer.Write(p)
	}
	switch w.mode {
	case "too many":
		return len(p) + 1, nil
	case "negative":
		return -1, nil
	}
	n, _ := w.Buffer.Write(p[:w.limit])
	w.limit = 0
	if w.mode == "short" {
		return n, nil
	}
	return n, errFaulty
}

func TestMemoryWriteToFaults(t *testing.T) {
	var m Memory
	m.Push([]byte("ab"), nil, []byte("cde"), []byte("f"))
	for mode, want := range map[string]error{
		"error": errFaulty, "short": io.ErrShortWrite, "too many": ErrInvalidWrite, "negative": ErrInvalidWrite,
	} {
		for limit := range m.Size {
			w := &faultyWriter{limit: limit, mode: mode}
			n, err := m.WriteTo(w)
			if !errors.Is(err, want) || int(n) != w.Len() || !bytes.HasPrefix(m.ToBytes(), w.Bytes()) {
				t.Errorf("%s after %d: wrote %d, %v; the writer got %q", mode, limit, n, err, w.Bytes())
			}
			r := m.NewReader()
			w = &faultyWriter{limit: limit, mode: mode}
			n, err = r.WriteTo(w)
			rest := string(r.ToBytes())
			if !errors.Is(err, want) || int(n) != w.Len() || w.String()+rest != "abcdef" {
				t.Errorf("reader, %s after %d: wrote %d, %v; got %q, left %q", mode, limit, n, err, w.Bytes(), rest)
			}
		}
	}
}

func TestMemoryWriteToConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback network:", err)
	}
	defer ln.Close()
	got := make(chan []byte, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			got <- nil
			return
		}
		b, _ := io.ReadAll(c)
		c.Close()
		got <- b
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var m Memory
	m.Push([]byte("ab"), nil, []byte("cde"), []byte("f"))
	if n, err := m.WriteTo(c); n != 6 || err != nil {
		t.Errorf("Memory.WriteTo = %d, %v", n, err)
	}
	checkMemory(t, &m, "abcdef")
	r := m.NewReader()
	if err := r.Skip(1); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(c, &r); n != 5 || err != nil || r.Length != 0 {
		t.Errorf("io.Copy = %d, %v; %d bytes left", n, err, r.Length)
	}
	checkMemory(t, &m, "abcdef")
	r = m.NewReader()
	r.Length += 10 // more than there is, as over any other writer
	if n, err := r.WriteTo(c); n != 6 || err != io.ErrUnexpectedEOF {
		t.Errorf("a reader that promises too much: WriteTo = %d, %v", n, err)
	}
	var zero MemoryReader
	if n, err := zero.WriteTo(c); n != 0 || err != nil {
		t.Errorf("a reader of nothing: WriteTo = %d, %v", n, err)
	}
	c.Close()
	if b := <-got; string(b) != "abcdefbcdefabcdef" {
		t.Errorf("the peer got %q", b)
	}
}

// TestResetMakesRoomAtOnce: a chain that is filled as far as before its Reset, or a
// little further, allocates once, and what was copied before stays as it was.
func TestResetMakesRoomAtOnce(t *testing.T) {
	for _, n := range []int{1, 2, 4, 5, 10, 50, 200} {
		var m Memory
		one := []byte{1}
		fill := func() {
			m.Reset()
			for range n {
				m.PushOne(one)
			}
		}
		fill()
		if allocs := leastAllocs(20, fill); allocs > 1 {
			t.Errorf("%d buffers: %v allocations for each Reset", n, allocs)
		}
		list := make([][]byte, n)
		if allocs := leastAllocs(20, func() { m = Memory{}; m.Push(list...) }); allocs > 1 {
			t.Errorf("%v allocations for a Push of %d buffers", allocs, n)
		}
	}
}

// TestResetLeavesNothing: whatever is done with the list that Reset leaves, copies and
// other chains do not notice.
func TestResetLeavesNothing(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var m Memory
	var kept []Memory
	var want []string
	for round := range byte(60) {
		m.Reset()
		if len(m.Buffers) != 0 || cap(m.Buffers) != 0 || m.Size != 0 {
			t.Fatalf("after Reset %d of %d buffers, Size %d", len(m.Buffers), cap(m.Buffers), m.Size)
		}
		empty := m
		text := bytes.Repeat([]byte{round}, rng.IntN(400))
		for i := range text {
			switch round % 3 {
			case 0:
				m.PushOne(text[i : i+1])
			case 1:
				m.Append(NewMemory(text[i : i+1]))
			default:
				m.Buffers = append(m.Buffers, text[i:i+1])
				m.Size++
			}
		}
		checkMemory(t, &empty, "")
		empty.PushOne([]byte("own"))
		kept, want = append(kept, m, empty), append(want, string(text), "own")
	}
	for i := range kept {
		checkMemory(t, &kept[i], want[i])
		kept[i].PushOne([]byte("!"))
	}
	for i := range kept {
		checkMemory(t, &kept[i], want[i]+"!")
	}
}

package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/offset"
)

// TestEveryByte: a write is found where it is, in the part that is looked at, once,
// and named for what the byte was.
func TestEveryByte(t *testing.T) {
	const size, start, end = 64, 16, 48
	for at := range size {
		for _, part := range [][2]int{{0, size}, {0, at}, {at, size}, {at, at + 1}, {at + 1, size}, {18, 26}, {20, 48}} {
			mem := make([]byte, size)
			b := Watch(mem, start, end-start, nil)
			if from, to, err := b.Free(b.addr()+20, 8, nil); from != 20 || to != 28 || err != nil || b.Left != 24 {
				t.Fatalf("freed %d to %d, %v, %d bytes left", from, to, err, b.Left)
			}
			mem[at]++
			var want error
			switch {
			case at < part[0] || at >= part[1]:
			case at < start || at >= end:
				want = ErrOverrun
			case at >= 20 && at < 28:
				want = ErrUseAfterFree
			}
			err := b.Check(part[0], part[1])
			if !errors.Is(err, want) {
				t.Errorf("byte %d, looked at %v: %v, want %v", at, part, err, want)
			}
			if e, ok := errors.AsType[*Error](err); ok && (e.At != at-start || e.Addr != b.addr()+start || e.Size != end-start || strings.Contains(e.Error(), "\n")) {
				t.Errorf("byte %d, looked at %v: %+v: %v", at, part, e, e)
			}
			if again := b.Check(part[0], part[1]); again != nil {
				t.Errorf("byte %d, looked at %v: found again: %v", at, part, again)
			}
		}
	}
}

// TestFirstByte: of several writes the first is named, however far it is.
func TestFirstByte(t *testing.T) {
	const start, last = 9000, 3*4096 + 99
	for _, at := range []int{0, 1, 4095, 4096, 8191, 8192, 8999, 9010, last} {
		mem := make([]byte, last+1)
		b := Watch(mem, start, 10, nil)
		mem[at], mem[last] = 0, 0
		if e, ok := errors.AsType[*Error](b.CheckAll()); !ok || e.At != at-start {
			t.Errorf("byte %d: %+v", at, e)
		}
		if err := b.CheckAll(); err != nil {
			t.Errorf("byte %d: found again: %v", at, err)
		}
	}
}

// TestGivenBack: what was released is nobody's, and the rest is in as few runs as
// there are.
func TestGivenBack(t *testing.T) {
	mem := make([]byte, 64)
	b := Watch(mem, 16, 32, nil)
	if got := b.Bytes(); len(got) != 32 || cap(got) != 32 || &got[0] != &mem[16] || b.Size() != 32 {
		t.Errorf("%d bytes of %d", len(got), cap(got))
	}
	rest := func(want ...int) {
		t.Helper()
		var got []int
		for from, to := range b.Rest {
			got = append(got, from, to)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rest %v, want %v", got, want)
		}
		for at := -1; at <= len(mem); at++ {
			held := false
			for i := 0; i < len(want); i += 2 {
				held = held || at >= want[i] && at < want[i+1]
			}
			if b.Holds(b.addr()+uintptr(at)) != held {
				t.Errorf("byte %d: held %v, want %v", at, !held, held)
			}
		}
	}
	free := func(from, to int) {
		t.Helper()
		if _, _, err := b.Free(b.addr()+uintptr(from), to-from, nil); err != nil {
			t.Fatal(err)
		}
	}
	rest(0, 64)
	free(20, 28)
	free(28, 30)
	rest(0, 64)
	b.Release(20, 28)
	rest(0, 20, 28, 64)
	b.Release(28, 30)
	rest(0, 20, 30, 64)
	free(40, 48)
	b.Release(40, 48)
	rest(0, 20, 30, 40, 48, 64)
	for range b.Rest {
		break
	}
	mem[22] = 1 // somebody else's
	if err := b.CheckAll(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		from, to, at int
		want         error
	}{{18, 24, 20, offset.ErrDoubleFree}, {44, 46, 44, offset.ErrDoubleFree}, {12, 18, 12, offset.ErrNotOwned}, {30, 41, 40, offset.ErrDoubleFree}, {38, 100, 40, offset.ErrDoubleFree}} {
		_, _, err := b.Free(b.addr()+uintptr(c.from), c.to-c.from, nil)
		if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, c.want) || e.At != c.at-16 || b.Left != 14 {
			t.Errorf("free of [%d, %d): %v, %d bytes left", c.from, c.to, err, b.Left)
		}
	}
}

// TestBehindTheEnd: the first byte that is not the block's is named, red zone or not.
func TestBehindTheEnd(t *testing.T) {
	for _, zone := range []int{0, 16} {
		b := Watch(make([]byte, 32+zone), 0, 32, nil)
		for _, n := range []int{33, 48, 100} {
			_, _, err := b.Free(b.addr(), n, nil)
			if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, offset.ErrNotOwned) || e.At != 32 || b.Left != 32 {
				t.Errorf("red zone of %d: free of %d bytes of 32: %v, %d left", zone, n, err, b.Left)
			}
		}
	}
}

// TestLeaks: by place, most bytes first.
func TestLeaks(t *testing.T) {
	blocks := []Block{
		{Left: 10, Alloc: Stack{1}}, {Left: 30, Alloc: Stack{2}}, {Alloc: Stack{3}},
		{Left: 5, Alloc: Stack{1}}, {Left: 15, Alloc: Stack{4}},
	}
	all := func(yield func(*Block) bool) {
		for i := range blocks {
			if !yield(&blocks[i]) {
				return
			}
		}
	}
	got := Leaks(all)
	if got == nil || got.Blocks != 4 || got.Bytes != 60 || len(got.Leaks) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []Leak{{1, 30, Stack{2}}, {2, 15, Stack{1}}, {1, 15, Stack{4}}} {
		if l := got.Leaks[i]; l.Blocks != want.Blocks || l.Bytes != want.Bytes || !slices.Equal(l.Stack, want.Stack) {
			t.Errorf("place %d: %+v, want %+v", i, l, want)
		}
	}
	clear(blocks)
	if got := Leaks(all); got != nil {
		t.Errorf("no leak: %v", got)
	}
}

// TestStacks: they are as deep as asked for, and leave the guard out.
func TestStacks(t *testing.T) {
	for depth, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 2} {
		if got := Callers(depth); len(got) != want {
			t.Errorf("depth %d: %d frames", depth, len(got))
		}
	}
	if got := Stack(nil).String(); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	if got := Callers(10).String(); strings.Contains(got, "guard.") || !strings.HasPrefix(got, "\ttesting.tRunner\n\t\t") {
		t.Errorf("the stack is\n%s", got)
	}
}

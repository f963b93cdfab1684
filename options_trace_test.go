package gomem

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/gomem-go/gomem/internal/trace"
)

// A trace says of each block how long it was and when it went, whatever the
// placement, and replays.
func TestTraceReplays(t *testing.T) {
	for _, place := range []Placement{SizeClasses, TLSF, SingleTree, TwoTree} {
		var out bytes.Buffer
		a := NewScalableMemoryAllocator(0, WithPlacement(place), WithTrace(&out))
		before := a.Malloc(0)
		s := newShadow(t, a, uint64(place)+1)
		s.run(3000)
		s.drain()
		a.Free(before)
		a.Free(make([]byte, 5)) // refused
		if _, err := a.TryMalloc(-1); err == nil {
			t.Error("a negative size: no error")
		}
		if b := a.Borrow(100); len(b) != 100 {
			t.Errorf("Borrow(100): %d bytes", len(b))
		}
		total := a.GetTotalMalloc()
		if err := a.Verify(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}

		recorded, err := trace.Decode(&out, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if recorded.TotalBytes != total || recorded.Recorded != 2*len(recorded.Sizes) || len(recorded.Sizes) == 0 {
			t.Errorf("placement %d: %d bytes in %d blocks, %d operations; the allocator counted %d bytes",
				place, recorded.TotalBytes, len(recorded.Sizes), recorded.Recorded, total)
		}
		again := NewScalableMemoryAllocator(0)
		blocks := make([][]byte, 0, len(recorded.Sizes))
		for i, op := range recorded.Ops {
			if op&trace.FreeBit == 0 {
				blocks = append(blocks, again.Malloc(int(op)))
			} else if !again.Free(blocks[op&^trace.FreeBit]) {
				t.Fatalf("operation %d cannot be replayed", i)
			}
		}
		if live := again.Stats().Live; live != 0 {
			t.Errorf("%d bytes are live after the replay", live)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTraceIsExact(t *testing.T) {
	var out bytes.Buffer
	a := NewScalableMemoryAllocator(0, WithTrace(&out))
	one, two := a.Malloc(5000), a.Malloc(70)
	three, err := a.MallocAligned(300, 512)
	if err != nil {
		t.Fatal(err)
	}
	a.FreeRest(&one, 100)
	a.Malloc(4000) // may be where the rest of the first was
	a.Free(two)
	a.Free(three)
	a.Free(one[:40])
	a.Free(one[40:])
	a.Recycle()
	a.Malloc(9)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := trace.Decode(&out, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{5000, 70, 300, 4000, 1 | trace.FreeBit, 2 | trace.FreeBit, trace.FreeBit, 3 | trace.FreeBit, 9}
	if len(got.Ops) != len(want)+1 || got.Recorded != len(want) {
		t.Fatalf("%d operations, recorded %d, want %d: %x", len(got.Ops), got.Recorded, len(want), got.Ops)
	}
	for i, op := range want {
		if got.Ops[i] != op {
			t.Errorf("operation %d: %x, want %x", i, got.Ops[i], op)
		}
	}
}

// A trace in which a free comes after the allocation that it made room for, or
// of a block before its allocation, does not decode.
func TestTraceOfManyGoroutines(t *testing.T) {
	var out bytes.Buffer
	a := NewScalableMemoryAllocator(0, WithTrace(&out))
	passed := make(chan []byte, 64)
	var group, frees sync.WaitGroup
	frees.Go(func() {
		for b := range passed {
			half := len(b) / 2
			if !a.Free(b[half:]) || !a.Free(b[:half]) {
				t.Error("a free was refused")
			}
		}
	})
	const workers, blocks = 4, 1500
	for range workers {
		group.Go(func() {
			for i := range blocks {
				passed <- a.Malloc(1 + i*37%5000)
			}
		})
	}
	group.Wait()
	close(passed)
	frees.Wait()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := trace.Decode(&out, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sizes) != workers*blocks || got.Recorded != 2*workers*blocks {
		t.Errorf("%d blocks, %d operations", len(got.Sizes), got.Recorded)
	}
}

func TestTraceUnderDebugAndSampling(t *testing.T) {
	for name, option := range map[string]Option{
		"debug": WithDebug(DebugOptions{}), "guard pages": WithDebug(DebugOptions{GuardPages: true}),
		"sampled": WithSampledGuard(SampleOptions{Rate: 1, Interval: -1}),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := NewScalableMemoryAllocator(0, WithTrace(&out), option, WithMisuse(func(err error) { t.Error(err) }))
			for range 50 {
				a.Borrow(20)
				b := a.Malloc(100)
				a.FreeRest(&b, 30)
				a.Free(b)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if got, err := trace.Decode(&out, trace.Limits{}); err != nil || len(got.Sizes) != 50 || got.Recorded != 100 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

type brokenWriter struct {
	left int
	err  error
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestTraceReportsTheFirstFailureToWrite(t *testing.T) {
	full := errors.New("disk full")
	for _, left := range []int{0, 100_000} {
		a := NewScalableMemoryAllocator(0, WithTrace(&brokenWriter{left, full}))
		for range 30_000 {
			if b, err := a.TryMalloc(100); err != nil || !a.Free(b) {
				t.Fatalf("the allocator fails with its trace: %v", err)
			}
		}
		if err := a.Close(); !errors.Is(err, full) {
			t.Errorf("%d bytes written: Close says %v", left, err)
		}
		if err := a.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	}
}

func TestTraceToNothing(t *testing.T) {
	a := NewScalableMemoryAllocator(0, WithTrace(nil))
	if !a.Free(a.Malloc(10)) || a.Close() != nil {
		t.Error("an allocator without a trace fails")
	}
}

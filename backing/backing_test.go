package backing_test

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/gomem-go/gomem/backing"
)

var sources = []struct {
	name string
	src  backing.Source
}{
	{"heap", backing.Heap()},
	{"mmap", backing.Mmap()},
	{"huge", backing.Mmap(backing.HugePages())},
	{"populate", backing.Mmap(backing.Populate())},
	{"guard", backing.Mmap(backing.GuardPages())},
	{"guard+huge", backing.Mmap(backing.GuardPages(), backing.HugePages(), backing.Populate())},
	{"faulty", backing.NewFaulty(backing.Mmap())},
}

func TestMapContract(t *testing.T) {
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			page := s.src.PageSize()
			if page <= 0 || page&(page-1) != 0 {
				t.Fatalf("PageSize() = %d, want a power of two", page)
			}
			for _, size := range []int{1, 100, page - 1, page, page + 1, 1 << 20, 3<<20 + 5} {
				mem, err := s.src.Map(size)
				if err != nil {
					t.Fatalf("Map(%d): %v", size, err)
				}
				if len(mem) != size || cap(mem) != size {
					t.Errorf("Map(%d): len %d cap %d", size, len(mem), cap(mem))
				}
				if at := uintptr(unsafe.Pointer(&mem[0])); at%uintptr(page) != 0 {
					t.Errorf("Map(%d): %#x is not on a page", size, at)
				}
				for i, b := range mem {
					if b != 0 {
						t.Fatalf("Map(%d): byte %d is %#x, want 0", size, i, b)
					}
					mem[i] = 0xa5
				}
				if err := s.src.Release(mem); err != nil {
					t.Errorf("Release: %v", err)
				}
				for i, b := range mem {
					if b != 0 && b != 0xa5 {
						t.Fatalf("after Release byte %d is %#x, want 0 or as before", i, b)
					}
				}
				if err := s.src.Unmap(mem); err != nil {
					t.Errorf("Unmap(%d bytes): %v", size, err)
				}
			}
		})
	}
}

func TestMapSizes(t *testing.T) {
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			for _, size := range []int{0, -1, math.MinInt} {
				if mem, err := s.src.Map(size); mem != nil || !errors.Is(err, backing.ErrInvalidSize) {
					t.Errorf("Map(%d) = %d bytes, %v; want ErrInvalidSize", size, len(mem), err)
				}
			}
			for _, size := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 4096} {
				if mem, err := s.src.Map(size); mem != nil || !errors.Is(err, backing.ErrOutOfMemory) {
					t.Errorf("Map(%d) = %d bytes, %v; want ErrOutOfMemory", size, len(mem), err)
				}
			}
		})
	}
}

// A source is called from many goroutines; each mapping belongs to one.
func TestConcurrentMap(t *testing.T) {
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 30 {
						mem, err := s.src.Map(8192 + i)
						if err != nil {
							t.Errorf("Map: %v", err)
							return
						}
						for j := range mem {
							mem[j] = byte(g)
						}
						for j, b := range mem {
							if b != byte(g) {
								t.Errorf("byte %d is %d, want %d: two goroutines share memory", j, b, g)
								return
							}
						}
						if err := s.src.Unmap(mem); err != nil {
							t.Errorf("Unmap: %v", err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestHeapUnmapRefusesWhatIsNoMapping(t *testing.T) {
	src := backing.Heap()
	mem, err := src.Map(4096)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, mem[:0], mem[1:]} {
		if err := src.Unmap(bad); !errors.Is(err, backing.ErrNotMapped) {
			t.Errorf("Unmap(%d bytes) = %v, want ErrNotMapped", len(bad), err)
		}
	}
}

func BenchmarkMapUnmap(b *testing.B) {
	for _, s := range sources[:2] {
		b.Run("src="+s.name+"/size=1MiB", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mem, err := s.src.Map(1 << 20)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.src.Unmap(mem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMapUnzeroed: it is a mapping like any other, of the collector or the
// system, and survives collections beside others.
func TestMapUnzeroed(t *testing.T) {
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			var all [][]byte
			for i := range 32 {
				mem, err := backing.MapUnzeroed(s.src, 10_000+i*4096)
				if err != nil || len(mem) != 10_000+i*4096 || cap(mem) != len(mem) {
					t.Fatalf("%d bytes of %d: %v", len(mem), cap(mem), err)
				}
				if at := uintptr(unsafe.Pointer(&mem[0])); at%uintptr(s.src.PageSize()) != 0 {
					t.Fatalf("at %#x", at)
				}
				for j := range mem {
					mem[j] = byte(i)
				}
				all = append(all, mem)
				runtime.GC()
			}
			for i, mem := range all {
				for _, x := range mem {
					if x != byte(i) {
						t.Fatalf("mapping %d holds %d", i, x)
					}
				}
				if err := s.src.Unmap(mem); err != nil {
					t.Fatal(err)
				}
			}
			for _, size := range []int{0, -1} {
				if _, err := backing.MapUnzeroed(s.src, size); !errors.Is(err, backing.ErrInvalidSize) {
					t.Errorf("MapUnzeroed(%d): %v", size, err)
				}
			}
			if _, err := backing.MapUnzeroed(s.src, math.MaxInt-4096); !errors.Is(err, backing.ErrOutOfMemory) {
				t.Errorf("more than there is: %v", err)
			}
		})
	}
}

// odd is a source whose mappings are parts of others, with pages of its own.
type odd struct {
	*backing.Faulty
	part func(mem []byte) []byte
	page int
	back []byte
}

func (o *odd) PageSize() int { return o.page }

func (o *odd) Map(size int) ([]byte, error) {
	mem, err := o.Faulty.Map(2 * size)
	o.back = nil
	return o.part(mem), err
}

func (o *odd) Unmap(mem []byte) error {
	o.back = mem
	return nil
}

// TestMapFindsOut: a mapping that breaks the promise of its source goes back, exactly.
func TestMapFindsOut(t *testing.T) {
	const size = 1 << 16
	for name, row := range map[string]struct {
		part func(mem []byte) []byte
		page int
		ok   bool
	}{
		"as promised": {func(mem []byte) []byte { return mem[:size:size] }, 4096, true},
		"nothing":     {func([]byte) []byte { return nil }, 4096, false},
		"empty":       {func(mem []byte) []byte { return mem[:0] }, 4096, false},
		"short":       {func(mem []byte) []byte { return mem[:size-1] }, 4096, false},
		"long":        {func(mem []byte) []byte { return mem[:size+1] }, 4096, false},
		"askew":       {func(mem []byte) []byte { return mem[16 : size+16] }, 4096, false},
		"small pages": {func(mem []byte) []byte { return mem[16 : size+16] }, 1, true},
		"odd":         {func(mem []byte) []byte { return mem[8 : size+8] }, 1, false},
		"pages of 48": {func(mem []byte) []byte {
			for at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); at%48 > 0; at += 16 {
				mem = mem[16:]
			}
			return mem[:size]
		}, 48, false},
		"no pages": {func(mem []byte) []byte { return mem[:size] }, 0, false},
	} {
		for _, f := range []func(backing.Source, int) ([]byte, error){backing.Map, backing.MapUnzeroed} {
			var given []byte
			src := &odd{Faulty: backing.NewFaulty(nil), page: row.page}
			src.part = func(mem []byte) []byte { given = row.part(mem); return given }
			mem, err := f(src, size)
			back := given
			if row.ok || len(given) == 0 {
				back = nil
			}
			if row.ok != (len(mem) == size) || row.ok != (err == nil) || !row.ok && !errors.Is(err, backing.ErrOutOfMemory) ||
				unsafe.SliceData(src.back) != unsafe.SliceData(back) || len(src.back) != len(back) {
				t.Errorf("%s: %d bytes, %v, and %d of %d given back", name, len(mem), err, len(src.back), len(given))
			}
		}
	}
}

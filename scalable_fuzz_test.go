package gomem

import (
	"bytes"
	"fmt"
	"testing"
)

// interpret runs a program of bytes on a, three for each operation, and returns
// what a user sees of it: the lengths, the answers and the bytes.
//
//	0, 1  Malloc       4  free a tail       8   Borrow
//	2     free whole   5  free a middle     9   Trim, or Verify
//	3     free a head  6  free it twice     10  Recycle, if the operand is 255
//	                   7  FreeRest          11  free a foreign slice
func interpret(a *ScalableMemoryAllocator, program []byte) (seen []byte, err error) {
	var live []stamp
	bytes := 0
	see := func(format string, args ...any) { seen = fmt.Appendf(seen, format+"\n", args...) }
	for ; len(program) >= 3; program = program[3:] {
		op, arg := program[0]%12, int(program[1])<<8|int(program[2])
		if op < 2 || len(live) == 0 && op < 8 {
			if n := arg % 20000; bytes+n <= 1<<20 {
				b, err := a.TryMalloc(n)
				if err != nil || len(b) != n || cap(b) != n {
					return seen, fmt.Errorf("TryMalloc(%d): len %d cap %d, %w", n, len(b), cap(b), err)
				}
				if n > 0 {
					live = append(live, newStamp(b, program[2]))
					bytes += n
				}
			}
			continue
		}
		if op >= 8 {
			switch {
			case op == 8:
				see("borrow %d", len(a.Borrow(arg)))
			case op == 9 && arg%2 == 0:
				a.Trim()
			case op == 9:
				if err := a.Verify(); err != nil {
					return seen, err
				}
			case op == 10 && program[1] == 255:
				a.Recycle()
				live, bytes = live[:0], 0
			case op == 11:
				see("foreign %v", a.Free(make([]byte, 1+arg)))
			}
			continue
		}
		i := int(program[1]) % len(live)
		s := live[i]
		if err := s.intact(); err != nil {
			return seen, err
		}
		n := len(s.b)
		from, to := 0, n
		switch cut := arg % n; op {
		case 3:
			to = cut + 1
		case 4:
			from = cut
		case 5:
			from, to = cut/2, cut/2+1+cut%(n-cut/2)
		case 7:
			b := s.b
			a.FreeRest(&b, cut)
			see("keep %d of %d: len %d cap %d", cut, n, len(b), cap(b))
			from = cut
		}
		if op != 7 {
			see("free [%d,%d) of %d %x: %v", from, to, n, s.b[from], a.Free(s.b[from:to]))
		}
		if op == 6 {
			see("again: %v, a part: %v", a.Free(s.b), a.Free(s.b[n/2:n/2+1]))
		}
		bytes -= to - from
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		if from > 0 {
			live = append(live, s.part(0, from))
		}
		if to < n {
			live = append(live, s.part(to, n))
		}
	}
	if err := a.Verify(); err != nil {
		return seen, err
	}
	see("%d bytes live", a.Stats().Live)
	if got := a.Stats().Live; got != bytes {
		return seen, fmt.Errorf("%d bytes live, want %d", got, bytes)
	}
	for _, s := range live {
		if err := s.intact(); err != nil {
			return seen, err
		}
		see("free %d: %v", len(s.b), a.Free(s.b))
	}
	a.Trim()
	if s := a.Stats(); s.Live != 0 {
		return seen, fmt.Errorf("everything was freed: %+v", s)
	}
	return seen, a.Verify()
}

// FuzzScalable runs a program on every kind of allocator: all of them show the
// user the same.
func FuzzScalable(f *testing.F) {
	f.Add([]byte{0, 1, 44, 0, 0, 100, 6, 1, 0, 2, 0, 0})
	f.Add([]byte{0, 0, 100, 0, 78, 32, 3, 0, 10, 4, 0, 20, 5, 1, 7, 7, 0, 3, 8, 7, 208, 9, 0, 0, 9, 0, 1})
	f.Add([]byte{0, 8, 0, 3, 0, 63, 5, 0, 99, 11, 0, 100, 10, 255, 0, 0, 8, 1, 6, 0, 0})
	f.Add(bytes.Repeat([]byte{0, 16, 0, 1, 0, 64, 7, 1, 200, 5, 3, 77, 2, 9, 0}, 30))
	f.Add(bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 60))
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 3000)]
		var first []byte
		for _, k := range kinds() {
			a := k.make(t)
			seen, err := interpret(a, program)
			if err != nil {
				t.Fatalf("%s: %v, after\n%s", k.name, err, seen)
			}
			if first == nil {
				first = seen
			}
			if !bytes.Equal(seen, first) {
				t.Fatalf("%s shows\n%s\n%s shows\n%s", kinds()[0].name, first, k.name, seen)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package gomem

import (
	"io"
	"math"
	"testing"
)

// TestLengthBeyondTheEnd: a reader whose Length says more than there is comes to an end in
// every loop until it is 0, and takes no memory for what is not there.
func TestLengthBeyondTheEnd(t *testing.T) {
	for name, read := range map[string]func(r *MemoryReader) error{
		"RangeN":   func(r *MemoryReader) error { r.RangeN(4, nil); return nil },
		"Range":    func(r *MemoryReader) error { r.Range(nil); return nil },
		"Pop":      func(r *MemoryReader) error { r.Pop(); return nil },
		"Read":     func(r *MemoryReader) error { _, err := r.Read(make([]byte, 4)); return err },
		"ReadByte": func(r *MemoryReader) error { _, err := r.ReadByte(); return err },
		"ReadBE":   func(r *MemoryReader) error { _, err := r.ReadBE(1); return err },
		"ReadLE":   func(r *MemoryReader) error { _, err := r.ReadLE(1); return err },
		"LEB128":   func(r *MemoryReader) error { _, _, err := r.LEB128Unmarshal(); return err },
		"Skip":     func(r *MemoryReader) error { return r.Skip(1) },
		"WriteTo":  func(r *MemoryReader) error { _, err := r.WriteTo(io.Discard); return err },
		"ReadBytes": func(r *MemoryReader) error {
			_, err := r.ReadBytes(1)
			return err
		},
	} {
		r := NewReadableBuffersFromBytes([]byte("abc"), []byte("defgh"))
		r.Length += 1000
		var last error
		for turns := 0; r.Length > 0; turns++ {
			if turns > 20 {
				t.Errorf("%s: no end, Length is %d", name, r.Length)
				break
			}
			last = read(&r)
		}
		if last != nil && last != io.ErrUnexpectedEOF {
			t.Errorf("%s: the end is %v", name, last)
		}
	}
	r := NewReadableBuffersFromBytes([]byte("abc"))
	r.Length = 1000
	for turns := 0; r.Length > 0; turns++ {
		if turns > 20 {
			t.Fatalf("GetCurrent: no end, Length is %d", r.Length)
		}
		expectError(t, r.Skip(len(r.GetCurrent())), nil)
	}
	r = NewReadableBuffersFromBytes([]byte("abc"))
	r.Length = math.MaxInt
	if b := r.ToBytes(); string(b) != "abc" {
		t.Errorf("ToBytes is %q", b)
	}
	if b, err := r.ReadBytes(math.MaxInt); b != nil || err != io.ErrUnexpectedEOF || r.Length != 3 {
		t.Errorf("ReadBytes of what is not there: %q, %v, Length %d", b, err, r.Length)
	}
	if b, err := r.ReadBytes(3); string(b) != "abc" || err != nil {
		t.Errorf("then ReadBytes of what is there: %q, %v", b, err)
	}
}

// TestLengthBeyondTheEndConsumesNothing: a call that misses bytes leaves those that there
// are unread, and writes none of them.
func TestLengthBeyondTheEndConsumesNothing(t *testing.T) {
	c := make([]byte, 8)
	for name, read := range map[string]func(r *MemoryReader) error{
		"Skip":       func(r *MemoryReader) error { return r.Skip(8) },
		"ReadBytes":  func(r *MemoryReader) error { _, err := r.ReadBytes(8); return err },
		"ReadBE64":   func(r *MemoryReader) error { _, err := r.ReadBE64(8); return err },
		"ReadByteTo": func(r *MemoryReader) error { return r.ReadByteTo(&c[0], &c[1], nil, &c[3], &c[4], &c[5]) },
	} {
		for done := range 6 {
			r := NewReadableBuffersFromBytes([]byte("abc"), nil, []byte("de"))
			r.Length = 1000
			expectError(t, r.Skip(done), nil)
			if err := read(&r); err != io.ErrUnexpectedEOF || r.Length != 5-done || c[0] != 0 {
				t.Errorf("%s behind %d: %v, Length %d, wrote %q", name, done, err, r.Length, c[0])
			}
			if got := string(r.ToBytes()); got != "abcde"[done:] {
				t.Errorf("%s behind %d: %q is left", name, done, got)
			}
		}
	}
	r := NewReadableBuffersFromBytes([]byte("abc"), []byte("de"))
	r.Length = 1000
	r.MoveToEnd()
	r.Unread(1)
	b, err := r.ReadByte()
	expectRead(t, "ReadByte", b, err, byte('e'), nil)
}

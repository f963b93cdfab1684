package gomem

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// ReadBE reads n bytes as one big-endian number, 0 <= n <= 4. Any other n is
// refused with [ErrInvalidSize]. O(n), allocates for an error only; four bytes of one
// buffer are read inlined.
func (r *MemoryReader) ReadBE(n int) (uint32, error) { return r.word(n, (*MemoryReader).readBESlow) }

// word is the fast path of ReadBE.
func (r *MemoryReader) word(n int, out func(*MemoryReader, int) (uint32, error)) (v uint32, err error) {
	if n != 4 || len(r.cur)-r.off < 4 || r.Length < 4 {
		return out(r, n)
	}
	v = binary.BigEndian.Uint32(r.cur[r.off:])
	r.off += 4
	r.Length -= 4
	return
}

func (r *MemoryReader) readBESlow(n int) (uint32, error) {
	if n > 4 {
		return 0, tooWide(n, 4)
	}
	v, err := r.ReadBE64(n)
	return uint32(v), err
}

// ReadBE64 is ReadBE for up to 8 bytes.
func (r *MemoryReader) ReadBE64(n int) (uint64, error) {
	var word [8]byte
	if n > len(word) {
		return 0, tooWide(n, len(word))
	}
	// The bytes end up right-aligned in the word, zeros before them.
	if err := r.readWord(word[len(word)-max(n, 0):], n); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(word[:]), nil
}

// ReadLE reads n bytes as one little-endian number, 0 <= n <= 4. Any other n is
// refused with [ErrInvalidSize]. O(n), allocates for an error only.
func (r *MemoryReader) ReadLE(n int) (uint32, error) {
	if n > 4 {
		return 0, tooWide(n, 4)
	}
	v, err := r.ReadLE64(n)
	return uint32(v), err
}

// ReadLE64 is ReadLE for up to 8 bytes.
func (r *MemoryReader) ReadLE64(n int) (uint64, error) {
	var word [8]byte
	if n > len(word) {
		return 0, tooWide(n, len(word))
	}
	if err := r.readWord(word[:max(n, 0)], n); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(word[:]), nil
}

// readWord reads the n bytes of a number into p, all of them or none.
func (r *MemoryReader) readWord(p []byte, n int) error {
	if err := r.need(n); err != nil {
		return err
	}
	if have := r.gather(p); have < n {
		return r.short(have)
	}
	return r.advance(n)
}

func tooWide(n, most int) error {
	return fmt.Errorf("a number of %d bytes where %d is the most: %w", n, most, ErrInvalidSize)
}

// maxLEB128 is the length of the longest encoding of 64 bits.
const maxLEB128 = 10

// LEB128Unmarshal reads an unsigned LEB128 number, seven bits a byte, the low
// ones first, and returns it with the number of bytes it took.
//
// An encoding padded with zero bits (0x81 0x00 for 1) is read like any other, as
// AV1 requires (specification, section 4.10.5). A number that needs more bits than
// a uint, or that goes on after 10 bytes, is refused with [ErrOverflow]. Whatever
// the error, nothing is consumed. O(1), allocates for an error only; a number of one
// byte is read inlined.
func (r *MemoryReader) LEB128Unmarshal() (v uint, n int, err error) {
	// Named results, because returning the call costs more than inlining allows.
	v, n, err = r.sevenBits((*MemoryReader).leb128)
	return
}

// sevenBits is the fast path of LEB128Unmarshal: a number of one byte.
func (r *MemoryReader) sevenBits(out func(*MemoryReader) (uint, int, error)) (v uint, n int, err error) {
	if uint(r.off) < uint(len(r.cur)) && r.Length > 0 {
		v = uint(r.cur[r.off])
		if v < 0x80 {
			n = 1
			r.off++
			r.Length--
			return
		}
	}
	return out(r)
}

func (r *MemoryReader) leb128() (uint, int, error) {
	p := r.cur[r.off:]
	if len(p) >= maxLEB128 && r.Length >= maxLEB128 {
		p = p[:maxLEB128]
	} else {
		var buf [maxLEB128]byte
		p = buf[:r.gather(buf[:])]
	}
	var v uint64
	for i, b := range p {
		v |= uint64(b&0x7f) << (7 * i & 63)
		if b >= 0x80 {
			continue
		}
		if i == maxLEB128-1 && b > 1 {
			break
		}
		if v > math.MaxUint {
			return 0, 0, fmt.Errorf("LEB128 value %d in a uint: %w", v, ErrOverflow)
		}
		return uint(v), i + 1, r.advance(i + 1)
	}
	switch {
	case len(p) == maxLEB128:
		return 0, 0, fmt.Errorf("LEB128 of more than 64 bits: %w", ErrOverflow)
	case r.Length <= 0:
		return 0, 0, io.EOF
	case r.Length > len(p):
		return 0, 0, r.short(len(p))
	}
	return 0, 0, io.ErrUnexpectedEOF
}

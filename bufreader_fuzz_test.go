package gomem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// duelOps are the methods, each with an argument 0 … 255.
var duelOps = []func(d *duel, n int){
	func(d *duel, n int) {
		c, err := d.own.ReadByte()
		if err == errAgain {
			return
		}
		want, wantErr := d.std.ReadByte()
		d.same("ReadByte", 0, []byte{c}, []byte{want}, err, wantErr)
		if n%2 == 1 && err == nil {
			d.same("UnreadByte", 0, nil, nil, d.own.UnreadByte(), d.std.UnreadByte())
		}
	},
	func(d *duel, n int) {
		got, err := d.own.Peek(n)
		if d.refused("Peek", n, err) {
			return
		}
		d.lend(d.at(), got)
		want, wantErr := d.std.Peek(n)
		if err == errAgain {
			want, wantErr = want[:min(len(got), len(want))], err
		}
		d.same("Peek", n, got, want, err, wantErr)
		if !bytes.Equal(got, want) {
			d.t.Fatalf("Peek(%d) = %q with %v, want %q", n, got, err, want)
		}
	},
	func(d *duel, n int) {
		got, err := d.own.Next(n)
		if d.refused("Next", n, err) {
			return
		}
		d.lend(d.at(), got)
		want, wantErr := d.expect(n, err)
		d.same("Next", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		most := d.own.MaxFrameBytes
		if most > 0 && n > most {
			d.stream(n)
			return
		}
		var views [][]byte
		err := d.own.ReadRange(n, func(p []byte) { views = append(views, p) })
		d.lend(d.at(), views...)
		want, wantErr := d.expect(n, err)
		d.same("ReadRange", n, bytes.Join(views, nil), want, err, wantErr)
	},
	func(d *duel, n int) {
		m, err := d.own.ReadBytes(n)
		if d.refused("ReadBytes", n, err) {
			return
		}
		d.lend(d.at(), m.Buffers...)
		want, wantErr := d.expect(n, err)
		d.same("ReadBytes", n, bytes.Join(m.Buffers, nil), want, err, wantErr)
		if err == nil && n <= d.own.blockLen() && len(m.Buffers) != 1 {
			d.t.Fatalf("ReadBytes(%d) in %d views", n, len(m.Buffers))
		}
	},
	func(d *duel, n int) {
		s, err := d.own.ReadShared(n)
		if d.refused("ReadShared", n, err) {
			return
		}
		want, wantErr := d.expect(n, err)
		d.same("ReadShared", n, nil, nil, err, wantErr)
		if err == nil {
			d.kept, d.want = append(d.kept, s), append(d.want, want)
		}
	},
	func(d *duel, n int) {
		s, err := d.own.ReadString(n)
		if d.refused("ReadString", n, err) {
			return
		}
		want, wantErr := d.expect(n, err)
		d.same("ReadString", n, []byte(s), want, err, wantErr)
	},
	func(d *duel, n int) {
		got := make([]byte, n)
		err := d.own.ReadNto(n, got)
		want, wantErr := d.expect(n, err)
		d.same("ReadNto", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		err := d.own.Skip(n)
		if err == errAgain {
			d.follow(n)
			return
		}
		k, wantErr := d.std.Discard(n)
		if wantErr == io.EOF && k > 0 {
			wantErr = io.ErrUnexpectedEOF
		}
		d.same("Skip", n, nil, nil, err, wantErr)
	},
	func(d *duel, n int) {
		k, err := d.own.Discard(n)
		if err == errAgain {
			d.follow(k)
			return
		}
		want, wantErr := d.std.Discard(n)
		if k != want || err != wantErr {
			d.t.Fatalf("Discard(%d) = %d, %v, want %d, %v", n, k, err, want, wantErr)
		}
	},
	func(d *duel, n int) {
		got := make([]byte, n)
		k, err := d.own.Read(got)
		if n > 0 && k == 0 && err == nil || k > n {
			d.t.Fatalf("Read(%d) = %d, nil", n, k)
		}
		want, wantErr := d.expect(k, err)
		if err != nil && err != errAgain {
			_, wantErr = d.std.Peek(1)
		}
		d.same("Read", n, got[:k], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%8 + 1
		v, err := d.own.ReadBE64(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadBE64", n, binary.BigEndian.AppendUint64(nil, v)[8-n:], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%8 + 1
		v, err := d.own.ReadLE64(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadLE64", n, binary.LittleEndian.AppendUint64(nil, v)[:n], want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n%4 + 1
		v, err := d.own.ReadBE32(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadBE32", n, binary.BigEndian.AppendUint32(nil, v)[4-n:], want, err, wantErr)
	},
	func(d *duel, n int) {
		v, k, err := d.own.ReadLEB128()
		if err == errAgain {
			return
		}
		p, perr := d.std.Peek(10)
		want, size := binary.Uvarint(p)
		wantErr := perr
		switch {
		case size < 0, size == 0 && len(p) == 10:
			if !errors.Is(err, ErrOverflow) {
				d.t.Fatalf("ReadLEB128 of % x: %v", p, err)
			}
			return
		case size > 0:
			wantErr = nil
		case len(p) > 0:
			wantErr = io.ErrUnexpectedEOF
		}
		if err != wantErr || v != want || k != size {
			d.t.Fatalf("ReadLEB128 of % x = %d, %d, %v, want %d, %d, %v", p, v, k, err, want, size, wantErr)
		}
		_, _ = d.std.Discard(size)
	},
	func(d *duel, n int) {
		line, err := d.own.ReadLine()
		if err == errAgain {
			return
		}
		if _, long := d.endless("ReadLine", []byte{'\n'}, err); long {
			return
		}
		want, _, wantErr := d.std.ReadLine()
		d.same("ReadLine", 0, []byte(line), want, err, wantErr)
	},
	func(d *duel, n int) {
		got, err := d.own.ReadSlice(byte(n))
		if err == errAgain {
			return
		}
		if _, long := d.endless("ReadSlice", []byte{byte(n)}, err); long {
			return
		}
		d.lend(d.at(), got)
		want, wantErr := d.std.ReadSlice(byte(n))
		d.same("ReadSlice", n, got, want, err, wantErr)
		if !bytes.Equal(got, want) {
			d.t.Fatalf("ReadSlice(%d) = %q with %v, want %q", n, got, err, want)
		}
	},
	func(d *duel, n int) {
		delim := []byte{byte(n) & 3, byte(n) >> 7}
		got, err := d.own.ReadUntil(delim, 0)
		if err == errAgain {
			return
		}
		end, long := d.endless("ReadUntil", delim, err)
		if long {
			return
		}
		d.lend(d.at(), got)
		want, wantErr := []byte(nil), io.EOF
		if end > 0 {
			want, wantErr = d.expect(end, err)
		} else if d.at() < d.size {
			wantErr = io.ErrUnexpectedEOF
		}
		d.same("ReadUntil", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		if n > 4 {
			return // it ends the stream
		}
		var got, want bytes.Buffer
		_, err := d.own.WriteTo(&got)
		if err == errAgain {
			want, _ := d.expect(got.Len(), nil)
			d.same("WriteTo", 0, got.Bytes(), want, nil, nil)
			return
		}
		_, wantErr := d.std.WriteTo(&want)
		d.same("WriteTo", 0, got.Bytes(), want.Bytes(), err, wantErr)
	},
	func(d *duel, n int) {
		got := make([]byte, n)
		k, err := d.own.ReadBinary(got)
		want, wantErr := d.expect(n, err)
		if k != len(want) {
			d.t.Fatalf("ReadBinary(%d) = %d, %v", n, k, err)
		}
		d.same("ReadBinary", n, got, want, err, wantErr)
	},
	func(d *duel, n int) {
		n = n % 9
		v, err := d.own.ReadBE(n)
		d.number("ReadBE", n, v, err, func(p []byte) uint64 { return binary.BigEndian.Uint64(append(make([]byte, 8-n), p...)) })
	},
	func(d *duel, n int) {
		n = n % 9
		v, err := d.own.ReadLE(n)
		d.number("ReadLE", n, v, err, func(p []byte) uint64 { return binary.LittleEndian.Uint64(append(p, make([]byte, 8-n)...)) })
	},
	func(d *duel, n int) {
		n = n % 5
		v, err := d.own.ReadLE32(n)
		want, wantErr := d.expect(n, err)
		d.same("ReadLE32", n, binary.LittleEndian.AppendUint32(nil, v)[:n], want, err, wantErr)
	},
	func(d *duel, n int) { d.own.MaxFrameBytes, d.own.MaxLineBytes = n-1, n/2-1 },
	func(d *duel, n int) { d.returned() },
	(*duel).failingWriter,
	(*duel).headerLines,
}

func FuzzBufReader(f *testing.F) {
	f.Add([]byte("hello\r\nworld\n\x00\x80\x80\x01tail"), []byte{1, 0, 3, 7}, []byte{15, 0, 3, 4, 0, 1, 17, 9}, byte(16), byte(0))
	f.Add(noise(2000), []byte{255, 1, 64}, []byte{5, 200, 1, 255, 5, 255, 3, 100, 2, 250, 8, 255, 18, 0}, byte(100), byte(1))
	f.Add(noise(600), []byte{9}, []byte{5, 20, 1, 55, 5, 25, 3, 100, 2, 50, 16, 200, 10, 255}, byte(0), byte(2))
	f.Add(noise(900), []byte{200}, []byte{2, 20, 1, 155, 5, 225, 4, 100, 7, 250, 11, 200, 14, 255}, byte(40), byte(4))
	f.Add(noise(900), []byte{3, 4, 200}, []byte{7, 20, 15, 0, 5, 14, 3, 10, 1, 4, 2, 30, 7, 255}, byte(16), byte(8))
	f.Add(noise(900), []byte{30, 4, 200}, []byte{19, 40, 23, 50, 15, 0, 2, 60, 20, 8, 22, 7, 24, 0, 25, 99, 26, 0, 25, 130}, byte(40), byte(20))
	f.Fuzz(func(t *testing.T, data, sizes, ops []byte, bufLen, mode byte) {
		if len(data) > 1<<14 || len(ops) > 1<<12 {
			t.Skip("too long to be told apart from the shorter ones")
		}
		if !bytes.ContainsFunc(sizes, func(r rune) bool { return r != 0 }) {
			sizes = nil // nothing but empty reads is another test
		}
		runDuel(t, data, sizes, ops, int(bufLen), mode)
	})
}

// TestBufReaderAgainstBufio is the fuzz target over random programs.
func TestBufReaderAgainstBufio(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	random := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32()) >> (rng.Uint32() % 8)
		}
		return p
	}
	for range 100 + 1400/byteStep {
		data, sizes, ops := random(rng.IntN(4000)), random(1+rng.IntN(9)), random(2*rng.IntN(60))
		sizes[0] |= 1
		runDuel(t, data, sizes, ops, 1+rng.IntN(255), byte(rng.IntN(32)))
	}
}

package reading

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

// TestNetwork: it returns 64 to 2,048 bytes, less only where the ring ends, and
// the same bytes whatever it is read with.
func TestNetwork(t *testing.T) {
	s := packets()
	whole := make([]byte, 3*len(s.ring))
	if _, err := io.ReadFull(newNetwork(s.ring), whole); err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat(s.ring, 3); !bytes.Equal(whole, want) {
		t.Error("the network does not repeat its ring")
	}
	n, buffer := newNetwork(s.ring), make([]byte, 16<<10)
	for range 5000 {
		before := n.at
		got, err := n.Read(buffer)
		if err != nil || got < 1 || got > 2048 || got < 64 && before+got != len(s.ring) {
			t.Fatalf("a read of %d bytes at %d, %v", got, before, err)
		}
	}
}

// TestStreams: the records have the sizes that are said, and fill the ring.
func TestStreams(t *testing.T) {
	for _, c := range []struct {
		s           *stream
		least, most int
	}{{packets(), 4 + 256, 4 + 1023}, {frames(), 1024, 3072}} {
		at := 0
		for i, size := range c.s.sizes {
			if size < c.least || size > c.most || int(binary.BigEndian.Uint32(c.s.ring[at:]))+headerSize != size {
				t.Fatalf("record %d has %d bytes", i, size)
			}
			at += size
		}
		if at != len(c.s.ring) || at < ringBytes {
			t.Errorf("%d bytes of records in a ring of %d", at, len(c.s.ring))
		}
	}
}

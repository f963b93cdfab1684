package gomem

import "testing"

// capWriter reports what it could append over.
type capWriter struct {
	t    *testing.T
	want int // bytes at once
}

func (w capWriter) Write(p []byte) (int, error) {
	if len(p) != w.want || cap(p) != len(p) {
		w.t.Errorf("%d bytes with room for %d, want %d", len(p), cap(p), w.want)
	}
	return len(p), nil
}

// TestWritersGetNoRoom: what lies behind the bytes that a writer gets is somebody else's:
// unread, or of whoever sent the packet.
func TestWritersGetNoRoom(t *testing.T) {
	b := NewBufReaderChan(make(chan []byte, 1))
	defer b.Recycle()
	b.Feed(make([]byte, 1000, 2000))
	n, err := b.CopyN(capWriter{t, 600}, 600)
	expectRead(t, "CopyN", n, err, int64(600), nil)
	close(b.Mouth)
	n, err = b.WriteTo(capWriter{t, 400})
	expectRead(t, "WriteTo", n, err, int64(400), nil)
}

package gomem

import (
	"strconv"
	"strings"
	"testing"
)

// TestErrorsNameTheSize: what a caller or a source got wrong is in the error, with the
// method.
func TestErrorsNameTheSize(t *testing.T) {
	odd := newTestReader(t, oddReader(func(p []byte) (int, error) { return len(p) + 3, nil }), 0)
	room := DefaultBufLen
	reader := func() *BufReader { return newTestReader(t, strings.NewReader("x"), 0) }
	for want, err := range map[string]error{
		"Discard of -4 bytes":   func() error { _, err := reader().Discard(-4); return err }(),
		"Peek of -5 bytes":      func() error { _, err := reader().Peek(-5); return err }(),
		"Skip of -6 bytes":      reader().Skip(-6),
		"ReadRange of -7 bytes": reader().ReadRange(-7, nil),
		"ReadNto of -8 bytes":   reader().ReadNto(-8, nil),
	} {
		if expectError(t, err, ErrInvalidSize); err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error for %s is %q", want, err)
		}
	}
	_, err := odd.ReadByte()
	expectError(t, err, ErrInvalidRead)
	if want := strconv.Itoa(room+3) + " for " + strconv.Itoa(room) + " bytes"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error of the source is %q, want %q in it", err, want)
	}
	if err := newTestReader(t, strings.NewReader("x"), 0).ReadNto(9, make([]byte, 8)); err == nil || err.Error() != "ReadNto of 9 bytes into 8: short buffer" {
		t.Errorf("ReadNto of more than there is room for: %v", err)
	}
}

// TestLimitErrorOfTheSource: a source's error is returned as it is, also one of the type
// that the reader refuses with.
func TestLimitErrorOfTheSource(t *testing.T) {
	inner := LimitError{Op: "ReadLine", Limit: "MaxLineBytes", Max: 100, Size: 101}
	want := inner
	b := newTestReader(t, &script{list: []any{[]byte("abc"), &want, []byte("d\n")}}, 0)
	if _, err := b.ReadUntil([]byte("\n"), 1000); err != &want || want != inner {
		t.Errorf("ReadUntil: %v", err)
	}
	p, err := b.ReadUntil([]byte("\n"), 1000)
	expectRead(t, "ReadUntil", string(p), err, "abcd\n", nil)
}

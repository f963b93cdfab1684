package gomem

import "testing"

// FuzzMemoryReader decodes a fragmentation and a program from its input and runs
// the program on a MemoryReader and its model.
func FuzzMemoryReader(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte{3, 0, 2, 9}, []byte{0, 1, 1, 2, 2, 3, 3, 1, 4, 2, 5, 1, 6, 4})
	f.Add([]byte{0, 0, 1, 0, 0}, []byte{4, 1, 5, 1, 7, 0, 0, 0})
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1}, []byte{1, 5, 5, 3, 7, 0, 2, 2, 5, 9, 3, 255})
	f.Add([]byte{200, 1, 55}, []byte{6, 90, 4, 200, 7, 0, 1, 7, 8, 0})
	f.Add([]byte{2, 0, 5}, []byte{9, 3, 20, 7, 21, 2, 12, 4, 14, 0, 17, 40, 23, 9, 20, 8, 7, 3, 16, 9, 19, 2})
	f.Fuzz(func(t *testing.T, lens, program []byte) {
		if len(lens) > 64 || len(program) > 512 {
			t.Skip("longer inputs show nothing new")
		}
		newReaderModel(t, lens).run(program)
	})
}

package offset

// Many is the TLSF that has the blocks; nil while there are few.
func (f *Few) Many() *TLSF {
	if f.many {
		return f.tlsf
	}
	return nil
}

// A FewFault damages one field of a Few made by DamageableFew.
type FewFault struct {
	Name  string
	Break func(f *Few)
}

// DamageableFew is a Few of some blocks, which had many before: [0,100), [128,256),
// two that touch at 512, [1000,1024) without its head, and [1024,1600) with a hole.
func DamageableFew() *Few {
	f := NewFew(4096, 16)
	for range manyRuns + 1 {
		f.Allocate(16)
	}
	for i := range manyRuns + 1 {
		if err := f.Free(16*i, 16); err != nil {
			panic(err)
		}
	}
	for _, size := range []int{100, 16, 128, 256, 256, 256, 576} {
		f.Allocate(size)
	}
	for _, b := range []Block{{112, 128}, {768, 1000}, {1100, 1101}} {
		if err := f.Free(b.Start, b.Size()); err != nil {
			panic(err)
		}
	}
	return f
}

// FewFaults is one damage for each thing that Verify promises to notice.
func FewFaults() []FewFault {
	run := func(i int, change func(r *Block)) func(*Few) {
		return func(f *Few) { change(&f.runs[i]) }
	}
	return []FewFault{
		{"free bytes, one more", func(f *Few) { f.free++ }},
		{"free bytes, one less", func(f *Few) { f.free-- }},
		{"fits more", func(f *Few) { f.fits += 16 }},
		{"fits less", func(f *Few) { f.fits -= 16 }},
		{"fits none", func(f *Few) { f.fits = 0 }},
		{"one run more", func(f *Few) { f.n++ }},
		{"one run less", func(f *Few) { f.n-- }},
		{"no run", func(f *Few) { f.n = 0 }},
		{"runs negative", func(f *Few) { f.n = -1 }},
		{"too many runs", func(f *Few) { f.n = manyRuns }},
		{"granule 8", func(f *Few) { f.low = 7 }},
		{"granule 32", func(f *Few) { f.low = 31 }},
		{"granule 128", func(f *Few) { f.low = 127 }},
		{"granule none", func(f *Few) { f.low = 0 }},
		{"granule no power of two", func(f *Few) { f.low = 16 }},
		{"size less", func(f *Few) { f.size -= 16 }},
		{"size more", func(f *Few) { f.size += 16 }},
		{"size uneven", func(f *Few) { f.size++ }},
		{"size negative", func(f *Few) { f.size = -16 }},
		{"many", func(f *Few) { f.many = true }},
		{"many, and no tlsf", func(f *Few) { f.many, f.tlsf = true, nil }},
		{"tlsf in use", func(f *Few) { f.tlsf.Allocate(1) }},
		{"tlsf of another size", func(f *Few) { f.tlsf = NewTLSF(4080, 16) }},
		{"tlsf of another granule", func(f *Few) { f.tlsf = NewTLSF(4096, 8) }},
		{"first end has bytes", run(0, func(r *Block) { r.End = 1 })},
		{"first end negative", run(0, func(r *Block) { r.Start = -1 })},
		{"last end has bytes", func(f *Few) { f.runs[f.n+1].Start-- }},
		{"last end behind the range", func(f *Few) { f.runs[f.n+1].End++ }},
		{"run longer", run(1, func(r *Block) { r.End++ })},
		{"run shorter", run(2, func(r *Block) { r.Start++ })},
		{"run over the next", run(2, func(r *Block) { r.End = 600 })},
		{"run over the one before", run(4, func(r *Block) { r.Start-- })},
		{"run empty", run(2, func(r *Block) { r.End = r.Start })},
		{"run negative", run(2, func(r *Block) { r.Start, r.End = r.End, r.Start })},
		{"runs exchanged", func(f *Few) { f.runs[1], f.runs[2] = f.runs[2], f.runs[1] }},
		{"runs touch in a granule", func(f *Few) { f.runs[6].End, f.runs[7].Start = 1101, 1101; f.free-- }},
	}
}

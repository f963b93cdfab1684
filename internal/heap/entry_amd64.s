//go:build gc && !race && !gomem_portable && !purego

#include "go_asm.h"
#include "textflag.h"

// See entry_amd64.go. Comments are the Go code that the lines below them stand for, and
// which register has which of its variables; const_ and fields come from the compiler.
// malloc and free begin where a line of the processor's cache of instructions does: how
// long they take else depends on what the linker puts in front of them.

// func malloc(h *Heap, n int) (b []byte, err error), or without the error
// h in AX, n in BX; b in AX, BX and CX, err in DI and SI
TEXT ·malloc(SB), NOSPLIT|NOFRAME, $0-0
	PCALIGN $64

	// if uint(n-1) < maxSlot && h != nil
	LEAQ    -1(BX), CX
	CMPQ    CX, $const_maxSlot
	JAE     slow
	TESTQ   AX, AX
	JZ      slow

	// DI: c := classOf[(n+slotAlign-1)/slotAlign]
	LEAQ    (const_slotAlign-1)(BX), DI
	SHRQ    $const_slotShift, DI
	LEAQ    ·classOf(SB), R8
	MOVBLZX (R8)(DI*1), DI

	// CX: s := h.enterFront(at), if the hint is right
	MOVQ    const_mOfG(R14), CX
	MOVQ    ·pOfM(SB), SI
	MOVQ    (CX)(SI*1), SI
	SHRQ    $(const_hintShift-3), CX
	ANDL    $((const_hintCount-1)*8), CX
	MOVQ    Heap_hints(AX)(CX*1), CX
	CMPQ    shard_front(CX), SI
	JNE     inGo

	// SI: sp := s.cur[c], DI: i := sp.head, if there is one
	MOVQ    shard_cur(CX)(DI*8), SI
	MOVL    span_head(SI), DI
	CMPL    DI, $const_noSlot
	JEQ     slow

	// sp.take(n)
	MOVQ    span_recs(SI), R8
	MOVL    (R8)(DI*4), R9
	MOVL    R9, span_head(SI)
	MOVL    BX, R10
	XORL    $const_stateLive, R10
	MOVL    R10, (R8)(DI*4)
	INCL    span_left(SI)
	MOVL    span_size(SI), R10
	MOVQ    span_base(SI), AX

	// No Go code does this, and it changes nothing but the time: the memory of the slot
	// that is next, or of this one if there is none, is asked for ahead.
	CMPL    R9, $const_noSlot
	CMOVLEQ DI, R9
	IMULL   R10, R9
	PREFETCHT0 (AX)(R9*1)

	IMULL   R10, DI
	ADDQ    DI, AX

	ADDQ    BX, shard_malloced(CX)
	MOVQ    BX, CX
	XORL    DI, DI
	XORL    SI, SI
	RET

inGo:
	MOVQ    8(DX), DX
	MOVQ    (DX), CX
	JMP     CX

slow:
	MOVQ    16(DX), DX
	MOVQ    (DX), CX
	JMP     CX

// func free(h *Heap, b []byte) bool
// h in AX, b in BX, CX and DI; the result in AX
TEXT ·free(SB), NOSPLIT|NOFRAME, $0-0
	PCALIGN $64

	TESTQ   AX, AX
	JZ      inGo

	// SI: sp := h.guess.of(addr).Load()
	MOVQ    BX, R9
	SHRQ    $const_spanShift, R9
	ANDQ    (Heap_guess+guesses_mask)(AX), R9
	MOVQ    (Heap_guess+guesses_table)(AX), SI
	MOVQ    (SI)(R9*8), SI

	// R8: s := h.enterOwner(sp, at), if it is
	MOVQ    span_owner(SI), R8
	MOVQ    const_mOfG(R14), R10
	MOVQ    ·pOfM(SB), R9
	MOVQ    (R10)(R9*1), R9
	CMPQ    shard_p(R8), R9
	JNE     slow

	// R9: i, R11: within; if within == 0 && i < len(sp.recs)
	MOVQ    BX, R11
	SUBQ    span_base(SI), R11
	MOVL    span_magic(SI), R9
	IMULQ   R11, R9
	SHRQ    $const_magicShift, R9
	MOVL    span_size(SI), R10
	IMULQ   R9, R10
	CMPQ    R10, R11
	JNE     inGo
	CMPQ    R9, (span_recs+8)(SI)
	JAE     inGo

	// R10: sp.recs; if sp.recs[i] == stateLive|len(b)
	MOVQ    span_recs(SI), R10
	MOVLQSX (R10)(R9*4), R11
	XORQ    $-const_stateLive, R11 // negative unless live
	CMPQ    CX, R11
	JNE     inGo

	// R12: sp.left-1; if the span need not be filed
	MOVL    span_left(SI), R12
	DECL    R12
	JZ      inGo

	// sp.give(rec, i)
	MOVL    span_head(SI), R11
	MOVL    R11, (R10)(R9*4)
	MOVL    R9, span_head(SI)
	MOVL    R12, span_left(SI)

	ADDQ    CX, shard_freed(R8)
	MOVL    $1, AX
	RET

inGo:
	MOVQ    8(DX), DX
	MOVQ    (DX), R8
	JMP     R8

slow:
	MOVQ    16(DX), DX
	MOVQ    (DX), R8
	JMP     R8

// func probe(a, b, c, d uintptr) (g, a, b, c+d, inGo+slow uintptr)
TEXT ·probe(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ    8(DX), SI
	ADDQ    16(DX), SI
	ADDQ    CX, DI
	MOVQ    BX, CX
	MOVQ    AX, BX
	MOVQ    R14, AX
	RET

// func addresses() (malloc, free, probe uintptr)
TEXT ·addresses(SB), NOSPLIT, $0-24
	LEAQ    ·malloc(SB), AX
	MOVQ    AX, malloc+0(FP)
	LEAQ    ·free(SB), AX
	MOVQ    AX, free+8(FP)
	LEAQ    ·probe(SB), AX
	MOVQ    AX, probe+16(FP)
	RET

package gomem

// flat makes n bytes available in one piece at the front. Who calls it lets short
// name the end of the stream.
func (b *BufReader) flat(n int) error {
	defer b.guard()
	for b.w-b.r < n {
		var err error
		switch {
		case b.queued > 0 || b.src == nil || n > b.blockLen():
			if err := b.chain(n, (*BufReader).more); err != nil {
				return err
			}
			if b.w-b.r < n {
				return b.merge(n)
			}
			return nil
		case b.r == b.w || b.err != nil:
			err = b.more()
		default:
			if n > len(b.buf)-b.r || (b.r > 0 || !b.regular()) && len(b.buf)-b.w < b.least() {
				if err := b.makeRoom(); err != nil {
					return err
				}
			}
			err = b.fillTail()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeRoom moves the unread bytes of the front to the beginning of a block: of
// theirs if it is reusable, else of a new one.
func (b *BufReader) makeRoom() error {
	if b.regular() && b.reusable() {
		b.slide()
		return nil
	}
	mem, err := b.alloc(b.blockLen())
	if err != nil {
		return err
	}
	n := copy(mem, b.buf[b.r:b.w])
	b.retireFront()
	b.front, b.buf, b.w = newBlock(mem, b.Allocator, b.shares), mem, n
	return nil
}

// merge makes the first n unread bytes, all present, one piece: what the front lacks
// is copied behind what it has. What is copied of a block that stays in the queue was
// in front of its unread part, and is still there: see popFront.
func (b *BufReader) merge(n int) error {
	if n > len(b.buf)-b.r {
		if err := b.widen(n); err != nil {
			return err
		}
	}
	for b.w-b.r < n {
		s := b.queue.next()
		k := copy(b.buf[b.w:b.r+n], s.blk.mem[s.r:s.w])
		b.w += k
		s.r += k
		b.queued -= k
		if s.r == s.w {
			s.blk.leave(s.w)
			b.queue.pop()
		}
	}
	return nil
}

// widen moves the unread bytes of the front to a new block with room for n. If they
// were moved before, the next request may well overlap with this one, too: there is
// room for more then, so that they are not moved for each.
func (b *BufReader) widen(n int) error {
	var mem []byte
	if b.merged {
		mem = b.Allocator.Malloc(n + n/2)
	}
	if mem == nil {
		var err error
		if mem, err = b.alloc(n); err != nil {
			return err
		}
	}
	k := copy(mem, b.buf[b.r:b.w])
	b.giveUpFront()
	b.front, b.buf, b.w, b.merged = newBlock(mem, b.Allocator, b.shares), mem, k, true
	return nil
}

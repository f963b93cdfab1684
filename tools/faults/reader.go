package main

// readerFaults are in how the reader gets bytes: room for the source, errors that
// come in between, and blocks that change their place.
func readerFaults() []fault {
	all := make([]fault, len(fillFaults))
	for i, f := range fillFaults {
		f.name, f.pkgs = "reader: "+f.name, []string{"."}
		all[i] = f
	}
	return all
}

var fillFaults = []fault{
	{name: "no room in a full block of a few bytes", file: "bufreader_fill.go", from: "return b.blockLen() / tailPart", to: "return len(b.buf) / tailPart"},
	{name: "reader does not go back to the block it copied from", file: "bufreader_fill.go", from: "b.w-b.r <= b.queue.next().r", to: "b.w == b.r"},
	{name: "reader goes back further than it copied", file: "bufreader_fill.go", from: "b.w-b.r <= b.queue.next().r", to: "b.w-b.r <= b.queue.next().r+1"},
	{name: "what a holder wrote to a copy is lost", file: "bufreader_fill.go", from: "\t\tcopy(b.buf[b.r:], rest)\n", to: ""},
	{name: "packet written to though it is as it should be", file: "bufreader_fill.go", from: "if !bytes.Equal(b.buf[b.r:b.r+len(rest)], rest) {", to: "if len(rest) > 0 || bytes.Equal(rest, nil) {"},
	{name: "large copy kept in the wait", file: "bufreader_fill.go", from: "b.merged || len(b.buf)", to: "len(b.buf)"},
	{name: "no more room at the second copy", file: "bufreader_flat.go", from: "n + n/2", to: "n"},
	{name: "copied block not left", file: "bufreader_flat.go", from: "\t\t\ts.blk.leave(s.w)\n", to: ""},
	{name: "copied bytes still count as queued", file: "bufreader_flat.go", from: "\t\tb.queued -= k\n", to: ""},
	{name: "list of held views used again", file: "bufreader_view.go", from: "\tif b.HoldViews { // the next", to: "\tif false { // the next"},
	{name: "read-out packet kept in the wait", file: "mouth.go", from: "\tp.one[0] = nil // read out, maybe: the wait must not keep it\n", to: ""},
	{name: "full front read on", file: "bufreader_fill.go", from: "} else if b.merged || len(b.buf)-b.w < b.least() {", to: "} else if b.front == nil {"},
	{name: "full block behind read on", file: "bufreader_fill.go", from: "len(last.blk.mem)-last.w < b.least()", to: "len(last.blk.mem)-last.w < 0"},
	{name: "full front slid to no avail", file: "bufreader_fill.go", from: "unread > slideMax || size-unread < least || ", to: "unread > slideMax || "},
	{name: "end of a block read byte by byte", file: "bufreader_flat.go", from: " || (b.r > 0 || !b.regular()) && len(b.buf)-b.w < b.least() {", to: " {"},
	{name: "joined block leaves no room", file: "bufreader_flat.go", from: "(b.r > 0 || !b.regular())", to: "b.r > 0"},
	{name: "view of an idle reader's block kept", file: "bufreader_fill.go", from: "\tb.forgetViews() // of a front that nobody had views of, too\n", to: ""},
	{name: "long lists kept", file: "bufreader.go", from: "\tb.forgetViews()\n\tb.shrink()\n", to: "\tb.forgetViews()\n"},
	{name: "read-out frame kept in the wait", file: "bufreader_fill.go", from: "\tb.r, b.w = 0, 0\n\tb.dropHeld() // as reusable says, no views are held\n", to: "\tb.r, b.w = 0, 0\n"},
	{name: "end behind what has no room lost", file: "bufreader_line.go", from: "\t\t\tb.err = err // the end", to: "\t\t\t_ = err // the end"},
	{name: "end behind a line that has no room lost", file: "mime.go", from: "\t\t\t\tb.err = io.EOF // for", to: "\t\t\t\t_ = io.EOF // for"},
	{name: "false Length stays", file: "memory_reader.go", from: "\tr.Length = n\n\treturn io.ErrUnexpectedEOF", to: "\treturn io.ErrUnexpectedEOF"},
	{name: "packet cut into buffers", file: "memory.go", from: "_, ok := w.(net.PacketConn)\n\treturn ok", to: "_, ok := w.(net.PacketConn)\n\treturn ok && w == nil"},
	{name: "what a panicking yield did not get lost", file: "recyclable_clip.go", from: "} else if handed < whole {", to: "} else if handed < 0 {"},
	{name: "block made for one request used again", file: "bufreader_fill.go", from: "return len(b.buf) == b.blockLen()", to: "return true"},
	{name: "slid below a frame", file: "bufreader_fill.go", from: "&& !b.HoldViews && b.front.solo()", to: "&& !b.HoldViews"},
	{name: "slid below a view", file: "bufreader_fill.go", from: "&& !b.HoldViews && b.front.solo()", to: "&& b.front.solo()"},
	{name: "error that comes with bytes lost", file: "bufreader_fill.go", from: "\t\tb.total += int64(n)\n\t\tb.err = err\n", to: "\t\tb.total += int64(n)\n"},
	{name: "error that comes with bytes stays", file: "bufreader_fill.go", from: "\t\terr := b.err\n\t\tb.err = nil\n\t\treturn err\n\tcase b.src", to: "\t\treturn b.err\n\tcase b.src"},
	{name: "block behind that stays empty kept", file: "bufreader_fill.go", from: "\t\tlast.blk.leave(0)\n", to: ""},
	{name: "short rest read straight", file: "bufreader_read.go", from: "b.err == nil && len(rest) >= b.least()", to: "b.err == nil"},
	{name: "large block kept behind Release", file: "bufreader.go", from: "\t\tif !b.regular() { // made", to: "\t\tif false { // made"},
	{name: "cut request keeps what came", file: "bufreader_read.go", from: "\t\t\tb.putBack(p[:at])\n", to: "\t\t\tb.putBack(nil)\n"},
	{name: "header field consumed before it has ended", file: "mime.go", from: "if err != nil && err != io.EOF && !p.refuse {", to: "if false {"},
	{name: "source's error taken for the parser's", file: "mime.go", from: "err != io.EOF && !p.refuse {", to: "err != io.EOF && p.lines == 0 {"},
	{name: "refused line stays", file: "mime.go", from: "\t\treturn io.EOF\n\t}\n\tp.refuse = true\n", to: "\t\treturn io.EOF\n\t}\n"},
	{name: "front that nobody saw held", file: "bufreader_fill.go", from: "\tcase b.viewless():\n\t\tb.front.leave(b.w)", to: "\tcase b.w == 0:\n\t\tb.front.leave(b.w)"},
	{name: "front that nobody saw taken for seen", file: "bufreader.go", from: "\tif b.viewless() {\n\t\treturn sight{nil", to: "\tif b.w == 0 {\n\t\treturn sight{nil"},
	{name: "front with views let go", file: "bufreader.go", from: " && b.front != since.front {", to: " {"},
	{name: "view of a byte that was put back let go", file: "bufreader_num.go", from: "\tb.plain = 0 // the next", to: "\t_ = 0 // the next"},
	{name: "view of what was put back let go", file: "bufreader_read.go", from: "\tb.plain = 0 // the next", to: "\t_ = 0 // the next"},
	{name: "position of a call without views kept over Reset", file: "bufreader.go", from: "b.err, b.total, b.mark, b.plain = nil, 0, 0, 0", to: "b.err, b.total, b.mark = nil, 0, 0"},
	{name: "more copied than was asked for", file: "bufreader_read.go", from: "int(min(int64(b.w-b.r), n-done))", to: "b.w - b.r"},
	{name: "all bytes copied, and an error", file: "bufreader_read.go", from: "\tcase done == n:\n\t\treturn n, nil\n", to: ""},
	{name: "peek without memory gives what there is", file: "bufreader_view.go", from: "if have >= n { // there", to: "if have > 1<<40+n { // there"},
	{name: "long lists of frames not kept", file: "shared.go", from: "if cap(l.views) <= keptParts {", to: "if cap(l.views) <= 64 {"},
	{name: "Unix stream copied", file: "memory.go", from: " || at != nil && at.Network() == \"unix\" // a stream", to: " || at == nil // a stream"},
	{name: "consumed list not missed", file: "memory.go", from: "if err == nil && n < int64(size) {", to: "if err == nil && n < 0 {"},
	{name: "bytes consumed that are missed", file: "memory_reader.go", from: "\treturn r.short(n - left)\n", to: "\tr.cur, r.off, r.next = nil, 0, len(r.Buffers)\n\treturn r.short(n - left)\n"},
	{name: "false Length stays at the end", file: "memory_reader.go", from: "\tif !r.fill() {\n\t\tr.Length = 0\n", to: "\tif !r.fill() {\n"},
	{name: "line of a header searched from its field's beginning", file: "mime.go", from: "&spot{from: p.field}", to: "&spot{}"},
	{name: "field of a header not consumed", file: "mime.go", from: "\tp.b.r += n\n\tp.field", to: "\tp.field"},
	{name: "copy on the Go heap passed to yield", file: "recyclable_heap.go", from: "if i < 0 {\n\t\tyield(b)", to: "if i < 99 {\n\t\tyield(b)"},
	{name: "rest of a copy on the Go heap passed to yield", file: "recyclable_heap.go", from: "i >= 0 && len(s.list[i]) == 0 {", to: "i >= 0 && len(s.list[i]) > 99 {"},
	{name: "part of a copy on the Go heap not found", file: "recyclable_heap.go", from: "\tif !exact {\n\t\ti--\n\t}\n", to: "\tif !exact {\n\t\treturn -1\n\t}\n"},
	{name: "what is clipped in another order stays", file: "recyclable_clip.go", from: "\t\tothers[s]--\n\t\treturn true\n", to: "\t\tothers[s]--\n\t\treturn false\n"},
	{name: "all of the same place clipped at once", file: "recyclable_clip.go", from: "\t\tothers[s]--\n", to: ""},
	{name: "what is left over from before lost", file: "recyclable_clip.go", from: "copy(list[end-moved:end], list[:moved])", to: "_ = moved"},
}

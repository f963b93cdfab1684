package gomem

// segments is the queue of blocks behind the front of a reader, first in, first
// out. Each operation moves a bounded number of segments, on average: a list of
// packets may be long, and nothing but its length says how long.
//
//	all  [ popped | popped | next … last ]
//	                         head
type segments struct {
	all  []segment
	head int // where the next one is; 0 if there is none
}

func (q *segments) empty() bool { return len(q.all) == 0 }

// list is what waits, in order.
func (q *segments) list() []segment { return q.all[q.head:] }

// next is the one that is taken out next; there must be one.
func (q *segments) next() *segment { return &q.all[q.head] }

// last is the one that came last; there must be one.
func (q *segments) last() *segment { return &q.all[len(q.all)-1] }

func (q *segments) push(s segment) {
	if len(q.all) == cap(q.all) && q.head > len(q.all)/2 {
		n := copy(q.all, q.list())
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, s)
}

// pop takes the next one out; there must be one.
func (q *segments) pop() segment {
	s := q.all[q.head]
	q.all[q.head] = segment{}
	q.head++
	q.tidy()
	return s
}

// dropLast takes out the one that came last.
func (q *segments) dropLast() {
	*q.last() = segment{}
	q.all = q.all[:len(q.all)-1]
	q.tidy()
}

func (q *segments) tidy() {
	if q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}

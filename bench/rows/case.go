package rows

// Case is one operation that is done in several ways, measured side by side.
type Case struct {
	Op    string
	Ways  []Way
	Goals []Goal
}

// Way is one implementation of the operation of a case.
type Way struct {
	Name string

	// Start prepares the state and returns the loop, which does the operation n
	// times, and what ends it.
	Start func() (loop func(n int), stop func())
}

// Goal is what a way of a case is held against.
type Goal struct {
	Way      string
	Than     string  // the way that it is compared with; "" for plain ns
	Most     float64 // times the other way, or ns
	NoAllocs bool    // nor may it allocate
}

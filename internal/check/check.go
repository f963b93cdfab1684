// Package check holds the one switch that turns the expensive self-checks on.
//
// The build tag gomem_debug sets [Enabled]. It is a constant, so a guarded
// check costs nothing in the default build. The tag changes no exported type; it
// makes a broken invariant stop the program where it broke, and misuse that the default
// build may miss is found.
package check

// Must panics when err is not nil. Call it under [Enabled] with the result of
// a Verify method, right after the mutation that might have broken something.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

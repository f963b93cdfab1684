//go:build gomem_steps

package offset

// countSteps is true: the placements count the bounded steps they take.
const countSteps = true

// stepCount is the number of list, split and merge steps taken so far by all
// placements. Only the tests of this tag read it.
var stepCount int

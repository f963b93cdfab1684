//go:build !gomem_steps

package offset

// countSteps is false: the step counters of the placements compile to nothing.
const countSteps = false

var stepCount int

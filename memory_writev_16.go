//go:build aix || (solaris && !illumos)

package gomem

// maxWritev is as few as the standards of these systems promise.
const maxWritev = 16

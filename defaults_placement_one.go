//go:build !twotree

package gomem

// defaultTwoTree is whether an Allocator places by two trees, not by one.
const defaultTwoTree = false

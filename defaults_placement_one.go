//go:build !twotree

package gomem

const (
	// defaultTwoTree is whether an Allocator places by two trees, not by one.
	defaultTwoTree = false
	// defaultPlacement is that of a ScalableMemoryAllocator.
	defaultPlacement = SizeClasses
)

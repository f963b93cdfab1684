// Package unzeroed makes slices that nobody has cleared, for those who write
// before they read, or can tell what they wrote: pages that are never written
// need not be there.
package unzeroed

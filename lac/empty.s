// This file lets the package declare functions without a body, which is how
// shard_pinned.go and heapbase.go reach the runtime.

// replay - replays a recorded allocation trace through the C allocator it is
// linked with and prints what one operation costs.
//
//   replay TRACE [ROUNDS]
//
// TRACE is the plain binary form: little-endian uint32 per operation; below
// 2^31 "allocate that many bytes" (ids count up from 0), with the top bit set
// "free that id". "-" reads it from standard input, so that a compressed trace
// comes through gzip -dc. The frees of whatever is still live at the end are
// appended to the operations, so that every round starts from nothing; the Go
// harness in ../../rival does the same.
//
// Output: one line of key=value pairs, ns per operation.
//
// Build with -DALLOC=... -DFREE=... -DNAME=... to call another pair than
// malloc and free; see Makefile. With -DSLICES the table keeps three words for
// each block, as a slice in Go has, instead of a pointer: where the table does
// not fit into the caches, that is part of what a Go program pays.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HEADER
#include HEADER
#endif
#ifndef ALLOC
#define ALLOC malloc
#define FREE free
#endif
#ifndef NAME
#define NAME "glibc"
#endif

#ifdef FLOOR
// The floor: no allocator at all, only the loop, the table and the touch.
static char floor_block[64];
static __attribute__((noinline)) void *floor_alloc(size_t n) {
	__asm__ volatile("" : : "r"(n));
	return floor_block;
}
static __attribute__((noinline)) void floor_free(void *p) {
	__asm__ volatile("" : : "r"(p) : "memory");
}
#endif

static const uint32_t FREE_BIT = 1u << 31;

// Rounds are not counted before the allocator holds its memory: mimalloc gives
// pages back with a delay of 100 ms, and only then settles.
static const double WARM_UP_NS = 200e6;

// block is what the program keeps of a block.
struct block {
	char *at;
#ifdef SLICES
	size_t len, cap;
#endif
};

static inline struct block kept(char *p, size_t n) {
#ifdef SLICES
	return (struct block){p, n, n};
#else
	(void)n;
	return (struct block){p};
#endif
}

struct trace {
	uint32_t *ops;
	size_t ops_len;
	size_t allocs;
};

static void die(const char *why, size_t op) {
	fprintf(stderr, "replay: operation %zu: %s\n", op, why);
	exit(1);
}

static uint32_t *words_read(FILE *in, size_t *len) {
	size_t used = 0, capacity = 1 << 20;
	unsigned char *bytes = malloc(capacity);
	for (size_t n; bytes && (n = fread(bytes + used, 1, capacity - used, in)) > 0;) {
		used += n;
		if (used == capacity)
			bytes = realloc(bytes, capacity *= 2);
	}
	if (!bytes || ferror(in)) {
		fprintf(stderr, "replay: cannot read the trace\n");
		exit(1);
	}
	if (used % 4 != 0)
		die("truncated", used / 4);
	*len = used / 4;
	uint32_t *words = malloc(used + 1);
	for (size_t i = 0; words && i < *len; i++) {
		const unsigned char *b = bytes + 4 * i;
		words[i] = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
	}
	free(bytes);
	return words;
}

// trace_close checks every id and appends the frees of what stays live.
static struct trace trace_close(uint32_t *words, size_t len) {
	unsigned char *live = calloc(len + 1, 1);
	struct trace t = {malloc((2 * len + 1) * sizeof *t.ops), 0, 0};
	if (!words || !live || !t.ops)
		die("no memory for the trace", 0);
	for (size_t i = 0; i < len; i++) {
		uint32_t op = words[i];
		if (op & FREE_BIT) {
			uint32_t id = op & ~FREE_BIT;
			if (id >= t.allocs)
				die("free of an unknown id", i);
			if (!live[id])
				die("id freed twice", i);
			live[id] = 0;
		} else {
			live[t.allocs++] = 1;
		}
		t.ops[t.ops_len++] = op;
	}
	for (size_t id = 0; id < t.allocs; id++)
		if (live[id])
			t.ops[t.ops_len++] = FREE_BIT | (uint32_t)id;
	free(live);
	return t;
}

static __attribute__((noinline)) void round_run(const struct trace *t, struct block *blocks) {
	size_t next = 0;
	for (size_t i = 0; i < t->ops_len; i++) {
		uint32_t op = t->ops[i];
		if (op & FREE_BIT) {
			FREE(blocks[op & ~FREE_BIT].at);
			continue;
		}
		char *p = ALLOC(op);
		if (!p)
			die("no room", i);
		*p = 1;
		blocks[next++] = kept(p, op);
	}
}

static double now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare_double(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: replay TRACE|- [ROUNDS]\n");
		return 2;
	}
	FILE *in = strcmp(argv[1], "-") ? fopen(argv[1], "rb") : stdin;
	if (!in) {
		perror(argv[1]);
		return 1;
	}
	int rounds = argc == 3 ? atoi(argv[2]) : 21;
	if (rounds < 1)
		rounds = 1;
	size_t len;
	uint32_t *words = words_read(in, &len);
	struct trace t = trace_close(words, len);
	free(words);
	if (t.ops_len == 0)
		die("an empty trace", 0);
	struct block *blocks = calloc(t.allocs + 1, sizeof *blocks);
	double *ns = calloc(rounds, sizeof *ns);
	if (!blocks || !ns)
		die("no memory for the table", 0);
	for (double start = now_ns(); now_ns() - start < WARM_UP_NS;)
		round_run(&t, blocks);
	for (int r = 0; r < rounds; r++) {
		double start = now_ns();
		round_run(&t, blocks);
		ns[r] = (now_ns() - start) / t.ops_len;
	}
	qsort(ns, rounds, sizeof *ns, compare_double);
	printf("impl=%s ops=%zu rounds=%d best=%.2f median=%.2f\n", NAME, t.ops_len, rounds,
	       ns[0], ns[rounds / 2]);
	return 0;
}

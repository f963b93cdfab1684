# Every target that CI runs is a lane of .ci/run; this file gives them names.
.DEFAULT_GOAL := help
.PHONY: help ci test race tags debug asan checkptr cgocheck2 386 emulated wasm cross fuzz lint cover bench compare native nightly soak vuln mutants clean

CI := bash .ci/run

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

ci: ## everything that must pass before a change lands
	$(CI)

test: ## the tests of the module and of the modules inside it
	$(CI) test modules

race: ## the tests under the race detector
	$(CI) race

tags: ## the tests under each tag that changes a default
	$(CI) tags

debug: ## the tests with every self-check on (gomem_debug), and the portable fall-backs
	$(CI) debug portable

asan: ## the tests under the address sanitizer
	$(CI) asan

checkptr: ## the tests with the compiler's pointer checks
	$(CI) checkptr

cgocheck2: ## the linear arena with checks at every pointer store
	$(CI) cgocheck2

386: ## the tests as a 32-bit program
	$(CI) 386
emulated: ## some on arm64, s390x and mips, by qemu
	$(CI) emulated

wasm: ## some as WebAssembly, by node
	$(CI) wasm

cross: ## vet and compile for the other platforms
	$(CI) cross

fuzz: ## each fuzz target a fixed number of times (FUZZTIME=5m for longer)
	$(CI) fuzz

lint: ## gofmt, vet, go fix, staticcheck, dead code, the layers
	$(CI) gofmt vet fix staticcheck deadcode layout

cover: ## the share of statements that the tests reach
	go test -short -coverprofile=cover.out -coverpkg=./... ./...
	go tool cover -func=cover.out | tail -n 1

bench: ## measure everything and write bench/RESULTS.md (some minutes, on an idle machine)
	cd bench && GOEXPERIMENT=arenas go run ./cmd/results -o RESULTS.md

compare: ## replay the recorded traces through every allocator, in turns
	cd bench && go run ./cmd/tracecmp

native: ## compile the C program that replays the traces
	$(MAKE) -C bench/native/src

vuln: ## known vulnerabilities in what is used (needs the network)
	go tool -modfile=tools/go.mod govulncheck ./...

mutants: ## put known faults in and see that tests notice (PKG=./offset: change its operators instead)
	$(if $(PKG),go run -C tools ./mutants $(PKG),go run -C tools ./faults)

soak: ## the long form of the load tests
	cd bench && GOMEM_SOAK=10m go test -count=1 -run Soak -timeout 30m -v .

nightly: ## all of CI, then what takes longer
	$(CI)
	FUZZTIME=3m $(CI) fuzz
	go test -race -timeout 60m ./...
	go test -run TestRandomOperations -operations 10000000 -seed 0 -timeout 60m .
	for set in enable_buddy,disable_rm,enable_mmap twotree,disable_rm,enable_mmap twotree,enable_buddy,enable_mmap twotree,enable_buddy,disable_rm; do \
		go test -short -tags $$set . ./gomemtest || exit 1; done
	$(MAKE) soak vuln
	GOGC=1 GODEBUG=clobberfree=1,gccheckmark=1 go test -count=1 -short -timeout 60m ./...

clean: ## remove what the targets leave behind
	rm -f cover.out
	$(MAKE) -C bench/native/src clean

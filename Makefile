SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
BENCHTIME ?= 1s
# Every module stands alone, whatever workspace surrounds the checkout.
export GOWORK := off

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/mcpvigil/mcpvigil/internal/cli.version=$(VERSION)
# The version comes from LDFLAGS: asking git again fails in checkouts of another owner.
BUILDFLAGS := -trimpath -buildvcs=false

TOOLS := $(CURDIR)/.tools/bin
PEERS := gosdk gosdk-old mark3
NPM_DIRS := test/peers test/peers/ts2 test/peers/old test/authserver test/conformance test/conformance/v0.1 test/e2e
MODULES := . tools test/deploy test/e2e $(PEERS:%=test/peers/%)
PLATFORMS := linux/amd64 linux/arm64 darwin/arm64 windows/amd64
ONCE := scripts/once.sh
FIND_GO := find . \( -name node_modules -o -name .tools -o -name .git \) -prune -o -name '*.go' ! -name '*_templ.go' -print

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./bin/mcpvigil
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -ldflags '$(LDFLAGS)' -o bin/mcpvigil ./cmd/mcpvigil

.PHONY: run
run: build ## Start the monitor with the bundled demo servers in it, on http://localhost:8087
	@exec ./bin/mcpvigil serve --demo

.PHONY: lint
lint: tools ## Check format, style, layers, all platforms and go.mod files
	@unformatted=$$($(FIND_GO) | xargs $(TOOLS)/gofumpt -l); \
	if [[ -n $$unformatted ]]; then echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; fi
	@if grep -l '"resolved"' $(NPM_DIRS:%=%/package-lock.json); then \
		echo "a lockfile holds download addresses: see its .npmrc"; exit 1; fi
	@$(TOOLS)/templ generate -path internal/server/ui -log-level error && git diff --exit-code --stat -- '*_templ.go' || { echo "templates are not generated, run make generate"; exit 1; }
	$(TOOLS)/golangci-lint run --allow-parallel-runners
	@for module in $(MODULES); do \
		[[ $$module == tools ]] || (cd $$module && echo "go vet $$module" && $(GO) vet ./...); \
		(cd $$module && echo "go mod tidy -diff $$module" && $(GO) mod tidy -diff); \
	done
	@for platform in $(PLATFORMS); do \
		echo "go build $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build $(BUILDFLAGS) -o /dev/null ./...; \
	done

.PHONY: format
format: tools ## Format all Go files
	$(FIND_GO) | xargs $(TOOLS)/gofumpt -w

.PHONY: generate
generate: tools ## Generate the code of all templates
	@$(TOOLS)/templ fmt internal/server/ui
	@$(TOOLS)/templ generate -path internal/server/ui -log-level error

.PHONY: test
test: test-deps ## Install what the tests need, run them all, then each fuzz target for 10 seconds
	CGO_ENABLED=1 $(TOOLS)/gotestsum --format pkgname-and-test-fails -- -race -timeout 20m ./...
	cd test/deploy && $(TOOLS)/gotestsum --format pkgname-and-test-fails -- -timeout 20m ./...
	cd test/e2e && $(TOOLS)/gotestsum --format testname -- -count 1 -timeout 20m ./...
	GO='$(GO)' scripts/fuzz.sh 10

.PHONY: screenshots
screenshots: test-deps ## Take pictures of all pages, wide and narrow, light and dark, into test/e2e/artifacts (E2E_ARTIFACTS=DIR)
	cd test/e2e && $(GO) test -count 1 -timeout 20m -run '^TestPages$$' .

.PHONY: conformance
conformance: test-deps ## Run the official conformance suite alone, and print what passes
	@$(GO) test -count 1 -v ./test/conformance

.PHONY: system-deps
system-deps:
	@scripts/system-deps.sh

.PHONY: test-deps
test-deps: system-deps tools ## Install what the tests need: test servers, an OpenID provider, conformance suite, Node 22
	@for dir in $(NPM_DIRS); do \
		$(ONCE) $$dir/node_modules/.stamp $$dir/package-lock.json -- \
			npm ci --prefix $$dir --ignore-scripts --no-audit --no-fund --loglevel=error; \
	done
	@for peer in $(PEERS); do \
		$(ONCE) .tools/peers/.$$peer.stamp test/peers/$$peer/{go.mod,go.sum,main.go} -- \
			$(GO) build -C test/peers/$$peer $(BUILDFLAGS) -o $(CURDIR)/.tools/peers/$$peer .; \
	done
	@scripts/node22.sh .tools/bin/node22

.PHONY: tools
tools: ## Build the linters and the test runner into .tools
	@mkdir -p .tools/bin
	@$(ONCE) .tools/bin/.stamp tools/go.mod tools/go.sum -- \
		$(GO) build -C tools $(BUILDFLAGS) -o $(TOOLS)/ tool

.PHONY: bench
bench: ## Compare a check with bare net/http and the Go SDK, a surface with json.Unmarshal, watch 10,000 servers (LOADTIME=10m), then run all benchmarks (BENCHTIME=1s)
	@BENCH=1 $(GO) test -count 1 -v -timeout 2h -run '^Test(Ratios|OneShot|Surface|SurfaceGrowth|Load)$$' ./test/bench | grep -Ev '^ *(===|---|PASS)'
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

.PHONY: corpus
corpus: ## Measure lint and drift on a folder of tool lists (CORPUS=DIR)
	@[[ -n "$(CORPUS)" ]] || { echo "name a folder: make corpus CORPUS=DIR"; exit 2; }
	@$(GO) run ./test/corpus "$(CORPUS)"

.PHONY: soak
soak: FUZZTIME ?= 10m
soak: test-deps ## Run leak tests at full size and kill the monitor a hundred times, then each fuzz target for long (FUZZTIME=10m)
	SOAK=1 $(TOOLS)/gotestsum --format pkgname-and-test-fails -- -count 1 -timeout 4h -run 'Leak|Soak' ./...
	GO='$(GO)' scripts/fuzz.sh $(FUZZTIME)

.PHONY: clean
clean: ## Remove everything that make has built or installed
	rm -rf bin .tools $(NPM_DIRS:%=%/node_modules)
